# SPDX-License-Identifier: BSD-3-Clause
# The vhost bridge in tests. To be sourced behind ../tap.sh.
#
# bridge_start OPTION...   starts it and waits until it is ready; sets BRIDGE_PID.
#                          The log is $TEST_TMP/bridge.log
# bridge_stop, bridge_kill end it with SIGTERM, SIGKILL, and wait
# bridge_stat PAIR KEY     prints one value of /vhost_bridge/pair,PAIR
# bridge_drops PAIR        prints all drop counters of the pair that are not 0
#
# BRIDGE_DRIVER: the tap's driver (net_tapbatch). BRIDGE_LCORES: EAL's --lcores.
# BRIDGE_MEM: EAL's -m, or other options in its place.

BRIDGE=$TAPBATCH_BUILD/examples/dpdk-vhost_bridge
BRIDGE_PID=
VM_TESTS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)

bridge_start() {
	local lines
	touch "$TEST_TMP/bridge.log"
	lines=$(grep -c 'vhost_bridge: ready' "$TEST_TMP/bridge.log" || true)
	# shellcheck disable=SC2086
	"$BRIDGE" --lcores "${BRIDGE_LCORES:-0@(0-1),1@(0-1)}" --no-pci ${BRIDGE_MEM:---no-huge -m 512} \
		--file-prefix=bridge ${BRIDGE_EAL:-} \
		-- --tap-driver "${BRIDGE_DRIVER:-net_tapbatch}" "$@" >>"$TEST_TMP/bridge.log" 2>&1 &
	BRIDGE_PID=$!
	at_exit "bridge_kill"
	wait_for 20 bridge_ready "$lines" && kill -0 "$BRIDGE_PID" 2>/dev/null || {
		diag "the bridge did not get ready:"
		diag "$(tail -n 20 "$TEST_TMP/bridge.log")"
		exit 1
	}
}

bridge_ready() {
	[ "$(grep -c 'vhost_bridge: ready' "$TEST_TMP/bridge.log")" -gt "$1" ] ||
		! kill -0 "$BRIDGE_PID" 2>/dev/null
}

bridge_kill() {
	[ -n "$BRIDGE_PID" ] || return 0
	kill -KILL "$BRIDGE_PID" 2>/dev/null || true
	wait "$BRIDGE_PID" 2>/dev/null || true
	BRIDGE_PID=
}

# bridge_stop: returns the bridge's exit status.
bridge_stop() {
	local status=0
	kill -TERM "$BRIDGE_PID"
	wait "$BRIDGE_PID" || status=$?
	BRIDGE_PID=
	return "$status"
}

# telemetry PREFIX COMMAND: prints the answer, JSON.
telemetry() {
	/usr/bin/python3 - "$1" "$2" <<'END'
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.settimeout(5)
s.connect("/run/dpdk/" + sys.argv[1] + "/dpdk_telemetry.v2")
s.recv(65536)
s.send(sys.argv[2].encode())
print(s.recv(1 << 20).decode())
END
}

bridge_stat() {
	telemetry bridge "/vhost_bridge/pair,$1" | /usr/bin/python3 -c '
import json, sys
print(list(json.load(sys.stdin).values())[0][sys.argv[1]])' "$2"
}

bridge_drops() {
	telemetry bridge "/vhost_bridge/pair,$1" | /usr/bin/python3 -c '
import json, sys
print(" ".join(f"{k}={v}" for k, v in list(json.load(sys.stdin).values())[0].items()
               if "_drop_" in k and v), end="")'
}

# bridge_connected PAIR
bridge_connected() { [ "$(bridge_stat "$1" connected)" = 1 ]; }

# hugepages MIB: reserves that much more memory in 2-MiB pages and gives it back at
# the end. A virtio-user process must have memory that it can share.
hugepages() {
	local file=/proc/sys/vm/nr_hugepages before want
	before=$(cat "$file")
	want=$((before + $1 / 2))
	at_exit "echo $before >$file"
	echo "$want" >"$file"
	[ "$(cat "$file")" -ge "$want" ] || skip_all "$1 MiB of hugepages can't be had here"
}

declare -A GUEST_PID=()

# guest_start NAME SOCKET VDEV-ARGS [OPTION...]: a guest without a VM, test/vm/
# virtio_guest, in the namespace NAME if there is one; its tap, unless an option is
# --sink, is called NAME. CPU: GUEST_CPU (both).
guest_start() {
	local name=$1 socket=$2 args=$3 ns=() tap=()
	shift 3
	[ ! -e "/run/netns/$name" ] || ns=(ip netns exec "$name")
	[[ " $* " == *" --sink "* ]] || tap=("--vdev=net_tapbatch0,iface=$name")
	rm -f "$TEST_TMP/guest-$name.log" # "ready" of the guest before
	"${ns[@]}" "$TAPBATCH_BUILD/test/vm/virtio_guest" --lcores "0@${GUEST_CPU:-(0-1)}" \
		--no-pci --in-memory --single-file-segments --no-telemetry \
		--vdev="net_virtio_user0,path=$socket$args" "${tap[@]}" -- "$@" \
		>"$TEST_TMP/guest-$name.log" 2>&1 &
	GUEST_PID[$name]=$!
	at_exit "guest_kill $name"
	wait_for 10 eval "grep -q ready '$TEST_TMP/guest-$name.log' ||
		! kill -0 ${GUEST_PID[$name]}" || true
	grep -q ready "$TEST_TMP/guest-$name.log" || {
		diag "guest $name did not start:"
		diag "$(tail -n 15 "$TEST_TMP/guest-$name.log")"
		return 1
	}
}

# guest_end NAME SIGNAL
guest_end() {
	[ -n "${GUEST_PID[$1]:-}" ] || return 0
	kill -"$2" "${GUEST_PID[$1]}" 2>/dev/null || true
	wait "${GUEST_PID[$1]}" 2>/dev/null || true
	unset "GUEST_PID[$1]"
}
guest_kill() { guest_end "$1" KILL; }
guest_stop() { guest_end "$1" TERM; }

# guest_count NAME received|sent: what a guest that was stopped had counted.
guest_count() {
	sed -n "s/.*virtio_guest:.* $2 \([0-9]*\).*/\1/p" "$TEST_TMP/guest-$1.log"
}

# gaps FILE: how many answers did not come, in ping's output, although later ones did.
gaps() {
	sed -n 's/.*icmp_seq=\([0-9]*\) .*/\1/p' "$1" |
		awk 'NR == 1 { want = $1 } { lost += $1 - want; want = $1 + 1 } END { print lost + 0 }'
}
