#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Frames cross byte for byte, both ways, at every size from 60 bytes to that of the
# MTU with a VLAN tag, and of jumbo frames; in one mbuf or in as many as there are bytes.
# timeout: 120
. "$(dirname "$0")/lib.sh"
quiet_ipv6

for engine in $ENGINES; do
	works "$engine: portool starts" portool_start po \
		--vdev="net_tapbatch0,iface=t0,engine=$engine,coalesce=none" || exit 1
	ok "$engine: the port opens" po po open 0 rx=scatter mbufs=4096
	ok "$engine: the port starts" po po start 0
	ok "$engine: its interface is there" po po raw kernel t0
	ok "$engine: out, 60 to 1514" po po out 0 kernel 60 1514
	ok "$engine: out, with a VLAN tag, to 1518" po po out 0 kernel 60 1518 vlan=1
	ok "$engine: out, UDP" po po out 0 kernel 60 1514 kind=udp
	ok "$engine: out, in segments of 1 byte" po po out 0 kernel 60 1000 seg=1 step=37 burst=4
	ok "$engine: out, in segments of up to 300 bytes" po po out 0 kernel 60 1514 seg=-300
	ok "$engine: out, UDP in segments of up to 40 bytes" \
		po po out 0 kernel 60 1514 seg=-40 kind=udp step=3 burst=9
	ok "$engine: out, in just as many segments as are described at once, and more" \
		po po out 0 kernel 112 200 seg=1 step=2 whole=17 burst=45
	ok "$engine: out, one at a time" po po out 0 kernel 60 1514 burst=1 step=11
	ok "$engine: in, 60 to 1514" po po in 0 kernel 60 1514
	ok "$engine: in, with a VLAN tag, to 1518" po po in 0 kernel 60 1518 vlan=1
	ok "$engine: in, UDP" po po in 0 kernel 60 1514 kind=udp

	ok "$engine: the port stops" po po stop 0
	ok "$engine: its MTU becomes 9000" po po mtu 0 9000
	is "$engine: so does the interface's" "$(cat /sys/class/net/t0/mtu)" 9000
	ok "$engine: the port starts again" po po start 0
	ok "$engine: jumbo frames out" po po out 0 kernel 60 9014 step=13
	ok "$engine: jumbo frames out, with a tag" po po out 0 kernel 8900 9018 vlan=1
	ok "$engine: jumbo frames out, segmented" po po out 0 kernel 60 9014 seg=-500 step=131
	ok "$engine: jumbo frames in, scattered" po po in 0 kernel 60 9014 step=13
	ok "$engine: jumbo frames in, with a tag" po po in 0 kernel 8900 9018 vlan=1
	ok "$engine: frames that are shorter than an Ethernet header" po po reset 0
	is "$engine: are taken" "$(po_value po tx 0 0 14 0 runt=1 taken)" 14
	is "$engine: and counted as errors" "$(po_value po stats 0 oerrors)" 14
	ip link set dev t0 mtu 9500
	ok "$engine: longer frames than before come, when the interface's MTU is raised" \
		po po in 0 kernel 9400 9514 step=13
	ip link set dev t0 mtu 9000

	# One byte each: more than one write takes.
	ok "$engine: a frame in too many segments" po po tx 0 0 1 1200 seg=1
	is "$engine: is counted" "$(po_value po xstats 0 tx_q0_malformed tx_q0_malformed)" 1
	ok "$engine: the port stops" po po stop 0
	is_between "$engine: no mbuf is lost, but for a few at hand" \
		"$(po po pool_free 0 | head -n 1)" 4033 4096
	works "$engine: portool quits" po_stop po || true
done
done_testing
