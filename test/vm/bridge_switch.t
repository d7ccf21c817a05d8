#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The switch with guests that take nothing, that leave, and that claim the host's
# address: the others' frames still come, and what is dropped is counted.
. "$(dirname "$0")/../tap.sh"
. "$TEST_DIR/vm/bridge.sh"

S=$TEST_TMP
guests() { PYTHONDONTWRITEBYTECODE=1 timeout 60 "$VM_TESTS/switch_guests.py" "$1" "$S" "${@:2}" 2>&1; }
for name in a b c; do
	printf '[pair %s]\ntap = lan\nsocket = %s/%s.sock\nswitch = on\nmtu = 9000\n' "$name" "$S" "$name"
done >"$S/conf"
bridge_start --config "$S/conf"
echo 1 >/proc/sys/net/ipv6/conf/lan/disable_ipv6
ip link set dev lan up

is "of 20 frames a guest gets, while two others are stuck" "$(guests stuck_guests)" 20
is_between "what was dropped for a stuck guest is counted" \
	"$(bridge_stat b to_guest_drop_guest_full)" 100 1500
is "and there were mbufs for all" "$(bridge_stat a to_guest_drop_no_mbuf)" 0
wait_for 5 eval '! bridge_connected b'
drops() { echo $(($(bridge_stat b to_guest_drop_guest_full) + $(bridge_stat b to_guest_drop_guest_gone))); }
before=$(drops)
is "of 20 frames to the host, and of 620, after hundreds to a stuck guest" \
	"$(guests sender_to_a_stuck_guest)" "20 621"
wait_for 5 eval '! bridge_connected b'
is "each of the 600 has a counter, and the greeting" "$(($(drops) - before))" 601
is "a guest that uses the host's address gets none of its frames" \
	"$(guests address_of_the_host)" "b 0 host 1"
wait_for 5 eval '! bridge_connected b'
is "a pair at a removed one's place gets its frames as any other does" \
	"$(guests removed_pair "$BRIDGE_PID")" "d 1 b: of a 0, to a 1"
is "frames of the removed pair, and its greeting, are counted" \
	"$(bridge_stat b to_guest_drop_removed)" 51
wait_for 5 eval '! bridge_connected b'
for name in b c d; do
	is "no mbuf of $name's is in use" "$(bridge_stat "$name" guest_mbufs_in_use)" 0
done
status=0
bridge_stop || status=$?
is "the bridge ends well" "$status" 0
done_testing
