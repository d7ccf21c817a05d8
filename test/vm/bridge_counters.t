#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What the bridge says about frames that can't go on, and the table, also of a pair
# that was changed by reload.
. "$(dirname "$0")/../tap.sh"
. "$TEST_DIR/vm/bridge.sh"

S=$TEST_TMP
guests() { PYTHONDONTWRITEBYTECODE=1 timeout 60 "$VM_TESTS/switch_guests.py" "$1" "$S" "${@:2}" 2>&1; }
printf '[pair z]\ntap = z\nsocket = %s/z.sock\n' "$S" >"$S/conf"
bridge_start --table --config "$S/conf"
echo 1 >/proc/sys/net/ipv6/conf/z/disable_ipv6
ip link set dev z up

is "small frames pass a superframe that the guest's few buffers will never hold" \
	"$(guests few_buffers)" 5
is "the superframe has a counter" "$(bridge_drops z)" "to_guest_drop_no_buffer=1"
wait_for 5 eval '! bridge_connected z'

is "frames to an interface that is down are taken" "$(guests tap_down)" 50
is "and have a counter with the reason" "$(bridge_stat z tap_drop_link_down)" 50
is "no other one" "$(bridge_stat z tap_drop_rejected)$(bridge_stat z tap_drop_malformed)" 00
is "which is all there is to the tap's errors" "$(bridge_stat z tap_tx_errors)" 50
wait_for 5 eval '! bridge_connected z'

# 500 frames a second; on a busy machine many may be taken at once.
ip link set dev z up
is "a guest sends" "$(guests traffic 2)" done
sleep 1.2
echo "perm = 0660" >>"$S/conf"
kill -HUP "$BRIDGE_PID"
wait_for 10 grep -q 'z: removed' "$S/bridge.log"
is "and again, when its pair was changed" "$(guests traffic 2)" done
sleep 1.2
table() { grep -E '^.{14} (guest|host|pair|to) ' "$S/bridge.log"; }
is_between "the table was printed" "$(table | wc -l)" 8 1000
is "its lines have 80 columns at most" "$(table | awk 'length($0) > 80')" ""
is_between "the highest rate" \
	"$(table | awk '{ rate = substr($0, 22, 8) + 0; if (rate > max) max = rate } END { print max }')" 0.1 1000
status=0
bridge_stop || status=$?
is "the bridge ends well" "$status" 0
done_testing
