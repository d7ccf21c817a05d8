#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A kernel that has no room: packets that are not taken stay the application's, and when
# it offers them again each arrives once, in the order of its flow.
# timeout: 120
. "$(dirname "$0")/lib.sh"
quiet_ipv6

# Packets keep the send buffer of their queue occupied while they wait in front of a slow
# interface, if the bridge passes on the packet itself: it has to know where to, and
# netfilter must not look at it.
slow_bridge() {
	local sysctl=/proc/sys/net/bridge/bridge-nf-call-iptables
	[ ! -e $sysctl ] || echo 0 >$sysctl
	ip link add br0 type bridge mcast_snooping 0
	for i in t0 plain br0; do
		[ "$i" = br0 ] || ip link set dev "$i" master br0
		ip link set dev "$i" up
	done
	bridge fdb replace 02:00:00:00:00:01 dev plain master static
	tc qdisc replace dev plain root tbf rate 40mbit burst 4000 limit 4000000
}

count() { po_value po xstats 0 "$1" "$1"; }

for engine in rw uring; do
	works "$engine: portool starts" portool_start po \
		--vdev="net_tapbatch0,iface=t0,engine=$engine" || exit 1
	ok "$engine: the port opens" po po open 0 tx=multi,cksum
	ok "$engine: the port starts" po po start 0
	ok "$engine: a tap at the end" po po tap plain plain
	ok "$engine: a bridge to it that is slow" slow_bridge
	sleep 0.2
	ok "$engine: with room for all none is refused" po po press 0 0 plain 500 200 flows=64
	is "$engine: none" "$(count tx_q0_no_room)" 0

	ok "$engine: little room" po po sndbuf t0 9000
	ok "$engine: each is alone" po po press 0 0 plain 3000 200 flows=64 burst=64
	first=$(count tx_q0_no_room)
	is_between "$engine: some had to wait" "$first" "$((0 + 1))" 1000000000
	ok "$engine: superframes" po po press 0 0 plain 5000 200 flows=1 burst=64
	ok "$engine: superframes of several flows" po po press 0 0 plain 5000 200 flows=5 burst=64
	is_between "$engine: some had to wait again" "$(count tx_q0_no_room)" "$(("$first" + 1))" 1000000000
	is_between "$engine: there were superframes" "$(count tx_q0_superframes)" "$((0 + 1))" 1000000000
	is "$engine: nothing is lost" \
		"$(($(count tx_q0_rejected) + $(count tx_q0_malformed) + $(count tx_q0_link_down)))" 0
	is "$engine: sent packets are counted once" "$(po_value po stats 0 opackets)" 13500

	ok "$engine: room again" po po sndbuf t0 $(((1 << 31) - 1))
	works "$engine: portool quits" po_stop po || true
	ip link del br0
done
done_testing
