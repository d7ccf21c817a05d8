#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ports come and go at run time: hundreds of times, under traffic, in testpmd; neither
# descriptors, nor interfaces, nor memory are left.
# timeout: 100
. "$(dirname "$0")/lib.sh"
quiet_ipv6

for engine in $ENGINES; do
	works "$engine: portool starts" portool_start po || exit 1
	PO_SECONDS=$((60 * SLOW))
	lro="rx=lro,scatter maxlro=65535 rxq=4 txq=4"
	ok "$engine: to warm up" po po cycle 5 "net_tapbatch0,iface=c0,engine=$engine" c0 "$lro"
	before=$(po po usage)
	ok "$engine: $((150 / SLOW)) times" po po cycle $((150 / SLOW)) "net_tapbatch0,iface=c0,engine=$engine" c0 intr=1 lsc=1
	ok "$engine: $((50 / SLOW)) times with LRO and 4 queues" po po cycle $((50 / SLOW)) \
		"net_tapbatch0,iface=c0,engine=$engine" c0 "$lro"
	ok "$engine: 20 times what is refused" eval '
		for _ in {1..20}; do ! po po probe net_tapbatch0,iface=lo || exit 1; done'
	after=$(po po usage)
	for key in fds heap_blocks heap_bytes; do
		is "$engine: $key are as before" "$(awk -v k=$key '$1 == k { print $2 }' <<<"$after")" \
			"$(awk -v k=$key '$1 == k { print $2 }' <<<"$before")"
	done
	is_between "$engine: memory grew by less than 2 MB" "$(awk '/resident_kib/ { print $2 }' \
		<<<"$before"$'\n'"$after" | { read -r a; read -r b; echo $((b - a)); })" -100000 2048
	works "$engine: portool quits" po_stop po || true
	ok "$engine: the interface is gone" test ! -e /sys/class/net/c0
done

# Beside traffic.
PORTOOL_CORES=0,1
netns_add left right
engine=${ENGINES##* }
works "portool starts" portool_start po --vdev="net_tapbatch0,iface=left,engine=$engine" \
	--vdev="net_tapbatch1,iface=right,engine=$engine" || exit 1
for port in 0 1; do
	po po open $port >/dev/null
	po po start $port >/dev/null
done
side_up left 1
side_up right 2
ok "forwarding" po po forward 0 1
in_ns left ping -q -i "$(printf 0.%03d $((2 * SLOW)))" -c $((1000 / SLOW)) 10.0.0.2 >/dev/null &
ping=$!
ok "$((30 / SLOW)) times, beside traffic" po po cycle $((30 / SLOW)) "net_tapbatch2,iface=c0,engine=$engine" c0
wait $ping || true
ok "no ping was lost" wait_for $((2 * SLOW)) eval '[ "$(echo_replies left)" = $((1000 / SLOW)) ]'
ok "forwarding stops" po po forward_stop
ok "a port is unplugged that was forwarding" po po unplug 0
ok "its interface is gone" eval '! ip -n left link show dev left'
works "portool quits" po_stop po || true

works "testpmd starts" testpmd_start tp --vdev=net_tapbatch0,iface=t0 -- --auto-start || exit 1
for n in 1 2 3; do
	like "testpmd attaches ($n)" "$(testpmd tp 'port attach net_tapbatch7,iface=t7')" "is attached"
	ok "there is the interface" test -e /sys/class/net/t7
	testpmd tp 'port stop 1' >/dev/null
	like "testpmd detaches ($n)" "$(testpmd tp 'port detach 1')" "Done|is detached"
	ok "the interface is gone" test ! -e /sys/class/net/t7
done
works "testpmd quits" testpmd_stop tp || true
done_testing
