#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Engine vhost: ping, TCP and UDP cross two ports that testpmd forwards between,
# whatever is coalesced, batched, split or handed on whole; nothing is lost. Run in a VM
# by vhost_engine.t.
. "$(dirname "$0")/../../func/lib.sh"

netns_add left right
iperf_server right

no_errors() {
	is "$1: nothing malformed, refused or broken" "$(testpmd fwd 'show port xstats all' |
		awk '/malformed|rejected|read_errors|oversize|link_down|nombuf/ { n += $2 }
			END { print n + 0 }')" 0
}

# crosses NAME MEGABYTES DEVARGS [TESTPMD-ARGUMENT...]: of all kinds the first time.
crosses() {
	local name=$1 mb=$2 args=$3
	shift 3
	works "$name: testpmd starts" forward_start ",engine=vhost$args" "$@" || { job_kill fwd || true; return 0; }
	ok "$name: ping, IPv4" pings left 10.0.0.2 -s 1400
	ok "$name: TCP, IPv6" moves_tcp left fd00::2 "$mb"
	if [ -z "$args$*" ]; then
		ok "$name: ping in fragments" pings right 10.0.0.1 -s 9000
		ok "$name: TCP, IPv4, backwards" moves_tcp left 10.0.0.2 "$mb" -R
		ok "$name: UDP" moves_udp left 10.0.0.2 -l 1000 -b 4M -n 200K
	fi
	no_errors "$name"
	superframes=$(testpmd_xstat fwd 1 tx_q0_superframes)
	split=$(testpmd_xstat fwd 0 rx_q0_split_packets)
	works "$name: testpmd quits" testpmd_stop fwd || true
}

crosses "as it comes" 5 ''
is_between "TCP is coalesced" "$superframes" 1 1000000
is_between "the kernel's superframes are split" "$split" 500 1000000
crosses "LRO" 5 '' --enable-lro --enable-rx-cksum --max-lro-pkt-size=65535 --tx-offloads=0x802e
is "with LRO nothing is split" "$split" 0
crosses "tx_batched=0" 2 ,tx_batched=0
is "tx_batched=0 makes no superframes" "$superframes" 0
crosses "type=tun" 2 ,type=tun
crosses "4 queues, tx_batched=8, coalesce=none" 2 ,tx_batched=8,coalesce=none --rxq=4 --txq=4
is "coalesce=none makes no superframes" "$superframes" 0
crosses "3 Tx queues, 1 Rx queue, small rings" 2 '' --rxq=1 --txq=3 --rxd=64 --txd=64 \
	--mbuf-size=512 --enable-scatter

# Jumbo frames, in one mbuf and in several.
jumbo() {
	local name=$1
	shift
	works "$name: testpmd starts" forward_start ,engine=vhost "$@" --max-pkt-len=9018 ||
		{ job_kill fwd || true; return 0; }
	ip -n left link set dev left mtu 9000
	ip -n right link set dev right mtu 9000
	ok "$name: ping of a whole frame" pings left 10.0.0.2 -s 8972 -M do
	ok "$name: TCP" moves_tcp left 10.0.0.2 3
	no_errors "$name"
	works "$name: testpmd quits" testpmd_stop fwd || true
}
jumbo "MTU 9000" --mbuf-size=9728
jumbo "MTU 9000, scattered" --enable-scatter --tx-offloads=0x8000
done_testing
