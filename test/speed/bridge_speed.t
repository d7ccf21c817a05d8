#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The bridge beside testpmd that forwards (io) between net_tap and net_vhost: packets
# a second of 64 bytes with nothing to merge, both ways, and TCP between two kernel
# stacks. Both systems run at the same time and take turns, the other one stopped, so
# that a machine that drifts hits both. Medians.
. "$(dirname "$0")/../tap.sh"
. "$TEST_DIR/netns.sh"
. "$TEST_DIR/vm/bridge.sh"

ROUNDS=${ROUNDS:-3}
SECONDS_EACH=${SECONDS_EACH:-1}
S=$TEST_TMP
hugepages 1200
GUEST=$TAPBATCH_BUILD/test/vm/virtio_guest
FLOOD=$TAPBATCH_BUILD/test/vm/udp_flood
TESTPMD="dpdk-testpmd --no-pci --in-memory --single-file-segments --no-telemetry"

mkfifo "$S/never" # testpmd ends when its input does
exec 8<>"$S/never"
netns_add ours peer ours-in peer-in
declare -A PIDS=([ours]= [peer]=)

# run SYSTEM COMMAND...: in the background; its pid belongs to the system. In the
# main namespace: tap and socket names differ, and taps are moved.
run() {
	local system=$1
	shift
	"$@" <"$S/never" >>"$S/$system.log" 2>&1 &
	PIDS[$system]+=" $!"
	at_exit "kill -KILL $!; wait $!"
}
signal() {
	# shellcheck disable=SC2086
	[ -z "${PIDS[$2]}" ] || kill -"$1" ${PIDS[$2]}
}
end_all() {
	local system
	for system in ours peer; do
		signal KILL "$system"
		# shellcheck disable=SC2086
		wait ${PIDS[$system]} 2>/dev/null || true
		PIDS[$system]=
	done
	rm -f "$S"/*.sock
}
start_forwarders() {
	# shellcheck disable=SC2086
	run peer $TESTPMD --lcores '0@0,1@1' -m 256 --vdev=net_tap0,iface=tap-peer \
		--vdev="net_vhost0,iface=$S/peer.sock" -- --auto-start --total-num-mbufs=16384
	run ours "$BRIDGE" --lcores '0@0,1@1' --no-pci --in-memory --no-telemetry -m 256 \
		-- --pair "tap=tap-ours,socket=$S/ours.sock"
	wait_for 20 test -S "$S/ours.sock"
	wait_for 20 test -S "$S/peer.sock"
	wait_for 20 ip link show dev tap-peer
	local system
	for system in ours peer; do
		ip link set dev "tap-$system" netns "$system"
		ip netns exec "$system" sysctl -qw net.ipv6.conf.all.disable_ipv6=1
		ip -n "$system" addr add 192.0.2.1/24 dev "tap-$system"
		ip -n "$system" link set dev "tap-$system" up
		ip -n "$system" neigh add 192.0.2.9 lladdr 52:54:00:00:00:09 dev "tap-$system"
	done
}
median() { tr ' ' '\n' | grep . | sort -n | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }
count() { in_ns "$1" cat "/sys/class/net/tap-$1/statistics/$2"; }

# packets NAME STATISTIC COMMAND: rates of both, in turns; sets RATE_ours, RATE_peer
packets() {
	local statistic=$1 command=$2 round system before after rates_ours='' rates_peer=''
	signal STOP ours
	signal STOP peer
	for ((round = 0; round < ROUNDS; round++)); do
		for system in ours peer; do
			signal CONT "$system"
			sleep 0.2
			if [ -n "$command" ]; then
				ip netns exec "$system" taskset -c 0 $command 192.0.2.9 "$((SECONDS_EACH + 1))" >/dev/null &
				local sender=$!
				sleep 0.5
			fi
			before=$(count "$system" "$statistic")
			sleep "$SECONDS_EACH"
			after=$(count "$system" "$statistic")
			[ -z "$command" ] || wait "$sender"
			signal STOP "$system"
			declare "rates_$system=$(eval echo "\$rates_$system") $(((after - before) / SECONDS_EACH))"
		done
	done
	RATE_ours=$(median <<<"$rates_ours") RATE_peer=$(median <<<"$rates_peer")
}
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", (b > 0 ? a / b : 0) }'; }

# Guest to host: the guest floods.
start_forwarders
for system in ours peer; do
	# shellcheck disable=SC2086
	run "$system" $TESTPMD --lcores '0@0,1@0' -m 128 --vdev="net_virtio_user0,path=$S/$system.sock,queue_size=1024" \
		-- --auto-start --forward-mode=txonly --txonly-multi-flow --txpkts=60 \
		--eth-peer=0,52:54:00:00:00:77 --total-num-mbufs=8192
done
sleep 2
packets rx_packets ''
# Both do one write into the kernel's stack per packet here, and that is what it costs.
diag "64 bytes, guest to host: $RATE_ours packets/s, testpmd $RATE_peer"
is_between "64 bytes from the guest: no slower than testpmd's net_tap" \
	"$(ratio "$RATE_ours" "$RATE_peer")" 0.8 1000
end_all

# Host to guest: the kernel floods, the guest takes.
start_forwarders
for system in ours peer; do
	run "$system" "$GUEST" --lcores 0@0 --no-pci --in-memory --single-file-segments --no-telemetry \
		--vdev="net_virtio_user0,path=$S/$system.sock,queue_size=1024" -- --sink --nap 50
done
sleep 2
packets tx_packets "$FLOOD"
diag "64 bytes, host to guest: $RATE_ours packets/s, testpmd $RATE_peer"
# On a quiet machine 3 times and 10 times are the aim; what is asserted here must hold on
# a busy one.
is_between "64 bytes to the guest: well above testpmd's net_tap" \
	"$(ratio "$RATE_ours" "$RATE_peer")" 1.3 1000
end_all

# TCP from kernel to kernel, through a guest that forwards to another tap.
start_forwarders
# shellcheck disable=SC2086
run peer $TESTPMD --lcores '0@0,1@0' -m 128 --vdev="net_virtio_user0,path=$S/peer.sock,queue_size=1024" \
	--vdev=net_tap1,iface=in-peer -- --auto-start --total-num-mbufs=16384
run ours "$GUEST" --lcores 0@0 --no-pci --in-memory \
	--single-file-segments --no-telemetry --vdev="net_virtio_user0,path=$S/ours.sock,queue_size=1024" \
	--vdev=net_tapbatch0,iface=in-ours -- --lro --nap 20
for system in ours peer; do
	wait_for 20 ip link show dev "in-$system"
	ip link set dev "in-$system" netns "$system-in"
	ip -n "$system-in" addr add 192.0.2.2/24 dev "in-$system"
	ip -n "$system-in" link set dev "in-$system" up
	in_ns "$system-in" iperf3 -s -D >/dev/null
done
for system in ours peer; do
	wait_for 10 in_ns "$system" ping -q -c 1 192.0.2.2
done
signal STOP ours
signal STOP peer
rates_ours='' rates_peer=''
for ((round = 0; round < ROUNDS; round++)); do
	for system in ours peer; do
		signal CONT "$system"
		rate=$(in_ns "$system" timeout 20 iperf3 -J -t "$((SECONDS_EACH + 1))" -c 192.0.2.2 |
			/usr/bin/python3 -c 'import json,sys; d=json.load(sys.stdin)
print(int(d["end"]["sum_received"]["bits_per_second"] / 1e6) if "error" not in d else 0)')
		signal STOP "$system"
		declare "rates_$system=$(eval echo "\$rates_$system") $rate"
	done
done
RATE_ours=$(median <<<"$rates_ours") RATE_peer=$(median <<<"$rates_peer")
diag "TCP: $RATE_ours Mbit/s, testpmd $RATE_peer"
is_between "TCP with superframes: several times testpmd's net_tap" \
	"$(ratio "$RATE_ours" "$RATE_peer")" 4 1000
end_all
done_testing
