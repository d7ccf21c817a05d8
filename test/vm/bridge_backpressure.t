#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A slow guest: what it does not take waits, or is lost, in the kernel, where it is
# counted, and not in the bridge; and TCP runs at the rate that the guest allows.
. "$(dirname "$0")/../tap.sh"
. "$TEST_DIR/netns.sh"
. "$TEST_DIR/vm/bridge.sh"

hugepages 320
S=$TEST_TMP
bridge_start --pair "tap=slow,socket=$S/slow.sock" --pair "tap=other,socket=$S/other.sock"
echo 1 >/proc/sys/net/ipv6/conf/slow/disable_ipv6
ip addr add 192.0.2.1/24 dev slow
ip link set dev slow up
ip neigh add 192.0.2.2 lladdr 52:54:00:00:00:02 dev slow

# UDP at full speed into a guest that takes a tenth of what it could.
guest_start slow "$S/slow.sock" ,mac=52:54:00:00:00:02,queue_size=256 --sink --pps 20000
wait_for 5 bridge_connected slow
before=$(bridge_stat slow to_guest_frames)
sent=$("$TAPBATCH_BUILD/test/vm/udp_flood" 192.0.2.2 2)
# What waits in rings and queues gets through in the end.
settled() {
	local a b
	a=$(bridge_stat slow to_guest_frames)
	sleep 0.3
	b=$(bridge_stat slow to_guest_frames)
	[ "$a" = "$b" ]
}
ok "the queue drains" wait_for 20 settled
kernel_lost=$(cat /sys/class/net/slow/statistics/tx_dropped)
qdisc_lost=$(tc -s qdisc show dev slow |
	awk '/dropped/ { gsub(",", "", $7); lost += $7 } END { print lost + 0 }')
forwarded=$(($(bridge_stat slow to_guest_frames) - before))
is "the bridge dropped nothing" "$(bridge_drops slow)" ""
kernel_lost=$((kernel_lost + qdisc_lost))
is_between "the sender was too fast for the guest" "$kernel_lost" 1 1000000000
is_between "the bridge waited for the guest" "$(bridge_stat slow to_guest_stalls)" 1 1000000000
sleep 0.5
guest_stop slow
is "all that the bridge took reached the guest" "$(guest_count slow received)" "$((forwarded + before))"
is "sent = received + lost in the kernel" "$((forwarded + kernel_lost))" "$sent"

# TCP through the same path. The guest forwards to a stack of its own.
ip neigh del 192.0.2.2 dev slow
netns_add slowns
slow_pps=20000
"$TAPBATCH_BUILD/test/vm/virtio_guest" --lcores "0@(0-1)" --no-pci --in-memory \
	--single-file-segments --no-telemetry \
	--vdev="net_virtio_user0,path=$S/slow.sock,queue_size=256" --vdev=net_tapbatch0,iface=inside -- --pps "$slow_pps" >"$S/inside.log" 2>&1 &
inside=$!
at_exit "kill -KILL $inside; wait $inside"
wait_for 10 grep -q ready "$S/inside.log"
ip link set dev inside netns slowns
ip -n slowns addr add 192.0.2.2/24 dev inside
ip -n slowns link set dev inside up
ok "the guest's stack is reached" wait_for 10 ping -q -c 1 192.0.2.2
in_ns slowns iperf3 -s -D -1 >/dev/null
wait_for 5 in_ns slowns bash -c 'ss -ltn | grep -q :5201'
other_before=$(bridge_stat other to_guest_stalls)
mbits=$(iperf3 -J -t 4 -O 1 -c 192.0.2.2 | /usr/bin/python3 -c '
import json,sys; print(json.load(sys.stdin)["end"]["sum_received"]["bits_per_second"]/1e6)')
allowed=$((slow_pps * 1448 * 8 / 1000000))
is_between "TCP keeps 90 % of the $allowed Mbit/s that the guest allows" "$mbits" \
	"$((allowed * 9 / 10))" "$((allowed * 11 / 10))"
is "the bridge dropped nothing" "$(bridge_drops slow)" ""
is "the other pair was not touched" "$(bridge_stat other to_guest_stalls)" "$other_before"
kill "$inside"
wait "$inside" || true
status=0
bridge_stop || status=$?
is "the bridge ends well" "$status" 0
done_testing
