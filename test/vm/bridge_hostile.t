#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Guests that break the rules, each on a socket of its own or on one with others
# (a switch): the bridge lives, the good guest's pings are all answered, and the
# hostile one's socket serves a polite guest after.
# SCENARIOS="NAME..." in the environment: those alone.
. "$(dirname "$0")/../tap.sh"
. "$TEST_DIR/netns.sh"
. "$TEST_DIR/vm/bridge.sh"

hugepages 176
S=$TEST_TMP
bridge_start --pair "tap=good,socket=$S/good.sock" --pair "tap=bad,socket=$S/bad.sock" \
	--pair "name=lan1,tap=lan,socket=$S/lan1.sock,switch=on" \
	--pair "name=lan2,tap=lan,socket=$S/lan2.sock,switch=on" \
	--pair "tap=client,socket=$S/client.sock,mode=client"
ip addr add 192.0.2.1/24 dev good
for dev in good bad lan; do ip link set dev "$dev" up; done
ip addr add 198.51.100.9/24 dev bad
ip addr add 203.0.113.9/24 dev lan

netns_add inside
guest_start inner "$S/good.sock" "" --lro
ip link set dev inner netns inside
ip -n inside addr add 192.0.2.2/24 dev inner
ip -n inside link set dev inner up
ok "a good guest is there" wait_for 10 ping -q -c 1 192.0.2.2
fds() { ls "/proc/$BRIDGE_PID/fd" | wc -l; }
kinds() { ls -l "/proc/$BRIDGE_PID/fd" | sed -n 's/.*-> //p' | sort; }
"$VM_TESTS/hostile.py" "$S/bad.sock" silent
"$VM_TESTS/hostile.py" "$S/bad.sock" polite
bridge_stat bad to_tap_frames >/dev/null
sleep 0.5
fds_before=$(fds)
kinds >"$S/kinds"

for scenario in ${SCENARIOS:-$("$VM_TESTS/hostile.py" - list)}; do
	ping -n -i 0.02 192.0.2.2 >"$S/ping" &
	ping=$!
	ran=0
	"$VM_TESTS/hostile.py" "$S/bad.sock" "$scenario" 2>"$S/hostile.log" || ran=$?
	"$VM_TESTS/hostile.py" "$S/lan1.sock" "$scenario" || true
	kill -INT "$ping" && wait "$ping" || true
	before=$(bridge_stat bad to_tap_frames || echo dead)
	if ! kill -0 "$BRIDGE_PID" 2>/dev/null; then
		fail "$scenario: the bridge lives" "$(tail -n 5 "$S/bridge.log")"
		break
	fi
	if [ "$(gaps "$S/ping")" != 0 ]; then
		fail "${scenario//_/ }: the good guest notices nothing" \
			"expected: no ping unanswered"$'\n'"got: $(gaps "$S/ping") of $(grep -c icmp_seq "$S/ping")"
		continue
	fi
	if [ "$ran" != 0 ]; then
		fail "${scenario//_/ }: runs" "$(tail -n 3 "$S/hostile.log")"
		continue
	fi
	"$VM_TESTS/hostile.py" "$S/bad.sock" polite || true
	after=$(bridge_stat bad to_tap_frames)
	if [ $((after - before)) -ge 10 ]; then
		pass "${scenario//_/ }: its own problem alone"
	else
		fail "${scenario//_/ }: its own problem alone" \
			"expected: 10 frames of the polite guest after it"$'\n'"got: $((after - before))"
	fi
done
"$VM_TESTS/hostile.py" "$S/client.sock" server_without_payload >"$S/server.log" 2>&1 &
server=$!
ok "a bridge that is a client connects" wait_for 10 grep -q connected "$S/server.log"
ok "and is not held up there by half a message" "$VM_TESTS/hostile.py" "$S/bad.sock" answered
ok "but hangs up" wait "$server"
wait_for 5 eval '[ "$(fds)" -le "$fds_before" ]' || true
is_between "no descriptor was left" "$(fds)" 1 "$fds_before"
[ "$(fds)" -le "$fds_before" ] || diag "$(kinds | diff "$S/kinds" -)"
is "no mbuf of the hostile guest's is in use" "$(bridge_stat bad guest_mbufs_in_use)" 0
is "nor of the switch's" "$(bridge_stat lan1 guest_mbufs_in_use)" 0
ok "the good guest is still there" ping -q -c 3 -i 0.1 192.0.2.2
guest_stop inner
status=0
bridge_stop || status=$?
is "the bridge ends well" "$status" 0
done_testing
