#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Segmentation that the application asks for yields the right packets behind a bridge,
# superframes from the kernel reach the application whole or split, and checksums are
# right for the kernel and for tcpdump.
# timeout: 120
. "$(dirname "$0")/lib.sh"
quiet_ipv6

for engine in $ENGINES; do
	works "$engine: portool starts" portool_start po \
		--vdev="net_tapbatch0,iface=t0,engine=$engine" || exit 1
	ok "$engine: the port opens" po po open 0 tx=multi,cksum,tso$USO
	ok "$engine: the port starts" po po start 0
	ok "$engine: a tap without offloads" po po tap plain t1
	ip link add br0 type bridge mcast_snooping 0
	for i in t0 t1; do
		ip link set dev "$i" master br0 up
	done
	ip link set dev br0 up
	sleep 0.2
	for kind in $KINDS; do
		ok "$engine: $kind segments" po po tso 0 plain $kind 60000 1400
		ok "$engine: $kind segments of 8 bytes" po po tso 0 plain $kind 50 8
		ok "$engine: $kind, VLAN, many mbufs" po po tso 0 plain $kind 20000 1000 vlan=1 seg=-90
		ok "$engine: $kind, fits in one segment" po po tso 0 plain $kind 500 1400
		ok "$engine: $kind, without payload" po po tso 0 plain $kind 0 1400
	done

	ok "$engine: the kernel's side" po po raw kernel t0 vnet=1
	for kind in $KINDS; do
		ok "$engine: $kind split" po po super 0 kernel $kind 60000 1400
		ok "$engine: $kind split into small bursts" po po super 0 kernel $kind 9000 1000 burst=2
		ok "$engine: $kind split, tagged" po po super 0 kernel $kind 20001 1001 vlan=1
	done
	is "$engine: split packets are counted" \
		"$(po_value po xstats 0 rx_q0_split_packets rx_q0_split_packets)" \
		"$(($(wc -w <<<"$KINDS") * (43 + 9 + 20)))"
	is "$engine: superframes are counted" \
		"$(po_value po xstats 0 rx_q0_superframes rx_q0_superframes)" $(($(wc -w <<<"$KINDS") * 3))

	ok "$engine: the port stops" po po stop 0
	ok "$engine: opens with checksum offload" po po open 0 rx=rxcksum
	ok "$engine: starts" po po start 0
	for kind in $KINDS; do
		answer=$(po po super 0 kernel $kind 30000 1400) || true
		like "$engine: $kind split, with checksums in flags" "$answer" \
			"flags .*L4_CKSUM_NONE.*= 0"
	done

	ok "$engine: the port stops" po po stop 0
	ok "$engine: opens with LRO" po po open 0 rx=lro,scatter,rxcksum maxlro=65535
	ok "$engine: starts" po po start 0
	for kind in $KINDS; do
		for payload in 60000 65400 2000; do
			# The IP header's length has 16 bits.
			answer=$(po po super 0 kernel $kind $payload 1400) || true
			like "$engine: $kind, $payload bytes, handed on whole" "$answer" \
				"segsz 1400 .*F_RX_LRO.*= 0"
		done
	done
	works "$engine: portool quits" po_stop po || true
	ip link del br0
done
done_testing
