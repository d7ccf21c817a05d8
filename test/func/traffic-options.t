#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# TCP and UDP cross two ports whatever may be coalesced, in batches of whatever
# length, as L3 packets, and through several queues; nothing is lost.
# timeout: 150
. "$(dirname "$0")/lib.sh"

netns_add left right
iperf_server right

# crosses NAME DEVARGS [TESTPMD-ARGUMENT...]
crosses() {
	local name=$1
	shift
	works "$name: testpmd starts" forward_start "$@" || return 0
	ok "$name: TCP, IPv4" moves_tcp left 10.0.0.2 30 -P 2
	ok "$name: TCP, IPv6" moves_tcp left fd00::2 30
	ok "$name: UDP" moves_udp left fd00::2 -l 1000 -P 2
	# From an interface with a few queues to one: nothing gets stuck.
	ok "$name: ping" pings right 10.0.0.1 -s 1000
	is "$name: nothing malformed" "$(testpmd fwd 'show port xstats all' |
		awk '/malformed|rejected|read_errors/ { n += $2 } END { print n + 0 }')" 0
	superframes=$(testpmd_xstat fwd 1 tx_q0_superframes)
	works "$name: testpmd quits" testpmd_stop fwd || true
}

crosses "tx_batched=0" ,tx_batched=0
is "tx_batched=0 makes no superframes" "$superframes" 0
crosses "tx_batched=1" ,tx_batched=1,engine=rw
is "tx_batched=1 makes no superframes" "$superframes" 0
crosses "tx_batched=8" ,tx_batched=8
crosses "coalesce=none" ,coalesce=none,engine=rw
is "coalesce=none makes no superframes" "$superframes" 0
crosses "coalesce=tcp" ,coalesce=tcp
is_between "coalesce=tcp makes superframes" "$superframes" 1 1000000
crosses "coalesce=udp" ,coalesce=udp,engine=rw
crosses "tcp+udp, type=tun" ,coalesce=tcp+udp,type=tun
is_between "superframes are made on L3 ports, too" "$superframes" 1 1000000
crosses "type=tun, LRO" ,type=tun,engine=rw --enable-lro --max-lro-pkt-size=65535 \
	--enable-rx-cksum --tx-offloads=0x806e
crosses "4 queues" '' --rxq=4 --txq=4
crosses "LRO of 9000 bytes at most" '' --enable-lro --max-lro-pkt-size=9000 \
	--enable-rx-cksum --tx-offloads=0x806e
done_testing
