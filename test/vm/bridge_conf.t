#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What the bridge is told: mistakes are said and change nothing, a reload that can't be
# carried out leaves the pairs as they were, and what an earlier run, or an operator,
# did to sockets and interfaces is put right.
. "$(dirname "$0")/../tap.sh"
. "$TEST_DIR/vm/bridge.sh"

S=$TEST_TMP
cd "$S" || exit

# refuses WHAT MESSAGE OPTION...: the bridge does not start, and says MESSAGE.
refuses() {
	local what=$1 message=$2 status=0
	shift 2
	timeout 20 "$BRIDGE" --no-pci --no-huge -m 64 --lcores "0@(0-1),1@(0-1)" \
		--file-prefix=refused -- "$@" >"$S/out" 2>&1 </dev/null || status=$?
	if [ "$status" = 1 ] && grep -qF -- "$message" "$S/out"; then
		pass "$what is refused"
	else
		fail "$what is refused" "expected: status 1 and '$message'"$'\n'"got: status $status and $(tail -n 3 "$S/out")"
	fi
}
refuses_file() {
	printf '%b' "$3" >"$S/wrong"
	refuses "$1" "$2" --config "$S/wrong"
}

ok "help without --" eval '"$BRIDGE" --help | grep -q tap=NAME'
is "libraries of another DPDK are not taken" \
	"$(env -u LD_LIBRARY_PATH ldd "$BRIDGE" | grep librte_ | grep -vcF "=> $DPDK_PREFIX/")" 0

refuses_file "a section of another kind" "[pairweb]" "[pairweb]\ntap = w\nsocket = $S/w\n"
refuses_file "a name of two words" "pair name 'web extra'" "[pair web extra]\ntap = w\nsocket = $S/w\n"
refuses_file "a long name" "1 to 31 characters" \
	"[pair aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd]\ntap = w\nsocket = $S/w\n"
refuses_file "a key given twice" "'tap' is given twice" "[pair web]\ntap = w\ntap = v\nsocket = $S/w\n"
refuses_file "another name in the section" "'name' is given twice" \
	"[pair web]\nname = v\ntap = w\nsocket = $S/w\n"
refuses_file "a # in a value" "line 3: '#'" "[pair web]\ntap = w\nsocket = $S/w#1\n"
refuses_file "an empty file" "empty" ""
refuses "a key twice in --pair" "'tap' is given twice" --pair "tap=w,tap=v,socket=$S/w"
refuses "a socket with =" "an absolute path is needed, without" --pair "tap=w,socket=$S/a=b"
many=()
for i in $(seq 17); do many+=(--pair "tap=i$i,socket=$S/i$i"); done
refuses "more pairs than DPDK has ports" "need 34 ports" "${many[@]}"

cat >conf <<END
# the pairs of this test
[pair customer-network-alpha-1]
tap = a0 # with a comment
socket = $S/a.sock
[pair customer-network-alpha-2]
tap = b0
socket = $S/b.sock
END
cp conf good.conf
bridge_start --config "$S/conf"
pass "names may be equal in all but the end"

# reloads MESSAGE: the bridge reads conf again and says MESSAGE.
reloads() {
	local before
	before=$(grep -cF -- "$1" bridge.log) || true
	kill -HUP "$BRIDGE_PID"
	wait_for 10 says_more "$1" "$before"
}
says_more() { [ "$(grep -cF -- "$1" bridge.log)" -gt "$2" ]; }
# Not within ok, which waits in another shell.
ends_well() {
	local status=0
	bridge_stop || status=$?
	is "$1 ends well" "$status" 0
}
sockets() { echo *.sock; }

for wrong in "core = 9" "socket = $S/nowhere/a.sock" "owner = nobody"; do
	key=${wrong%% *}
	if [ "$key" = socket ]; then
		sed "s|socket = .*a.sock|$wrong|" good.conf >conf
	else
		sed "s|^tap = a0.*|&\n$wrong|" good.conf >conf
	fi
	index=$(cat /sys/class/net/a0/ifindex)
	ok "a reload with $key that can't be done" reloads "nothing was changed"
	is "leaves the pair's interface alone" "$(cat /sys/class/net/a0/ifindex)" "$index"
	is "and the sockets" "$(sockets)" "a.sock b.sock"
done
sed "s|^tap = a0.*|&\ntap-args = engine=nonsense|" good.conf >conf
ok "a change that the driver refuses" reloads "is back as it was"
is "leaves the sockets" "$(sockets)" "a.sock b.sock"
ok "and a pair that works" test "$(bridge_stat customer-network-alpha-1 tap)" = a0
cp good.conf conf

# A guest stays on the socket while the interface is deleted.
/usr/bin/python3 - "$VM_TESTS" "$S/a.sock" <<'END' &
import sys, time
sys.path.insert(0, sys.argv[1])
import hostile
guest = hostile.Guest(sys.argv[2])
guest.start()
try:
    while True:
        guest.transmit(hostile.tcp_frame())
        time.sleep(0.01)
except OSError:
    pass
END
guest=$!
at_exit "kill $guest"
ip link set a0 up
ok "a guest sends" wait_for 10 eval '[ "$(bridge_stat customer-network-alpha-1 to_tap_frames)" -gt 10 ]'
slept() { telemetry bridge /vhost_bridge/workers | sed 's/.*_slept_us": *\([0-9]*\).*/\1/'; }
ip link del a0
wait_for 5 eval '[ "$(bridge_stat customer-network-alpha-1 tap_present)" = 0 ]' || true
is "a deleted interface is noticed" "$(bridge_stat customer-network-alpha-1 tap_present)" 0
sleep 0.2
before=$(slept)
sleep 1
is_between "and the worker sleeps, us of a second" $(($(slept) - before)) 500000 5000000
ok "a reload" reloads "reloaded, 2 pairs"
ok "makes it again" test -e /sys/class/net/a0
is "is there in telemetry, too" "$(bridge_stat customer-network-alpha-1 tap_present)" 1
kill "$guest" 2>/dev/null || true
ip link set a0 up
sleep 0.5
before=$(bridge_stat customer-network-alpha-1 to_tap_frames)
"$VM_TESTS/hostile.py" "$S/a.sock" polite
is_between "a guest of the new one's" \
	$(($(bridge_stat customer-network-alpha-1 to_tap_frames) - before)) 10 20

size=$(stat -c %s bridge.log)
"$VM_TESTS/hostile.py" "$S/b.sock" flood_of_errors
is_between "bytes that a client can make the log grow by" $(($(stat -c %s bridge.log) - size)) 0 8000
ends_well "it"

# Sockets that were given away, and then the bridge was killed.
owned=(--pair "tap=c0,socket=$S/c.sock,owner=nobody")
bridge_start "${owned[@]}"
bridge_kill
ok "a stale socket that belongs to another" test "$(stat -c %U c.sock)" = nobody
bridge_start "${owned[@]}"
pass "is replaced"
refuses "one that is listened on" "in use by another process" \
	--pair "tap=c1,socket=$S/c.sock,owner=nobody"
ends_well "a bridge with sockets of another's"

chmod 600 conf
chmod 777 "$S"
bridge_start --config "$S/conf" --user nobody
ok "a file that the user can't read again is said" grep -q "cannot be read again" bridge.log
ends_well "a bridge of another user's"
done_testing
