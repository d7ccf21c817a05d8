#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ping, TCP and UDP cross two ports that testpmd forwards between, whatever the
# engine, the offloads, and what may be coalesced; nothing is lost.
# timeout: 100
. "$(dirname "$0")/lib.sh"

netns_add left right
iperf_server right

# crosses NAME MEGABYTES DEVARGS [TESTPMD-ARGUMENT...]
crosses() {
	local name=$1 mb=$2
	shift 2
	works "$name: testpmd starts" forward_start "$@" || return 0
	ok "$name: ping, IPv4" pings left 10.0.0.2 -s 1400
	ok "$name: ping, IPv6" pings left fd00::2
	ok "$name: ping in fragments" pings right 10.0.0.1 -s 9000
	ok "$name: TCP, IPv4" moves_tcp left 10.0.0.2 "$mb"
	ok "$name: TCP, IPv6, backwards" moves_tcp left fd00::2 "$mb" -R
	ok "$name: UDP, IPv4" moves_udp left 10.0.0.2 -l 1400
	ok "$name: UDP, IPv6, small" moves_udp left fd00::2 -l 200 -b 8M -n 400K
	whole=$(testpmd_xstat fwd 0 rx_q0_superframes)
	split=$(testpmd_xstat fwd 0 rx_q0_split_packets)
	works "$name: testpmd quits" testpmd_stop fwd || true
}

lro=(--enable-lro --enable-rx-cksum --max-lro-pkt-size=65535)
for engine in $ENGINES; do
	crosses "$engine" 100 ",engine=$engine"
	is_between "$engine: superframes were split" "$split" 10000 10000000
	crosses "$engine, LRO" 200 ",engine=$engine" "${lro[@]}" --tx-offloads=0x806e
	is_between "$engine, LRO: superframes crossed whole" "$whole" 1000 10000000
	is "$engine, LRO: none was split" "$split" 0
done
done_testing
