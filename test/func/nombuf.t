#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# When mbufs run out nothing is lost: packets stay in the kernel's queue, the segments
# of a superframe wait, and it is counted. Too small mbufs are refused, or chained.
# timeout: 60
. "$(dirname "$0")/lib.sh"
quiet_ipv6

for engine in $ENGINES; do
	works "$engine: portool starts" portool_start po --vdev="net_tapbatch0,iface=t0,engine=$engine" || exit 1
	ok "$engine: the port opens" po po open 0 mbufs=512
	ok "$engine: and starts" po po start 0
	po po raw k t0 vnet=1 >/dev/null
	# With engine vhost, mbufs that wait in the ring are there for packets.
	if [ "$engine" != vhost ]; then
		po po hold 0 1000 >/dev/null
		is "$engine: all mbufs are taken" "$(po po pool_free 0 | head -n 1)" 0
		po po flood k 300 100 >/dev/null
		is "$engine: nothing is received" "$(po_value po rx 0 0 300 ms=50 received)" 0
		is_between "$engine: that is counted" "$(po_value po stats 0 rx_nombuf)" 1 100000000
		po po release 0 >/dev/null
		is "$engine: nothing was lost" "$(po_value po rx 0 0 300 received)" 300
		is "$engine: nor called an error" "$(po_value po stats 0 ierrors)" 0
	fi

	# A superframe of 60 segments and mbufs for 20.
	for kind in tcp4 ${KINDS##* }; do
		po po hold 0 1000 >/dev/null
		po po release 0 20 >/dev/null
		job_tell po "super 0 k $kind 60000 1000"
		sleep 0.1
		# It frees what it has got, so that it gets on.
		ok "$engine: $kind, split with few mbufs" po po release 0
		ok "$engine: all segments came" grep -q '^len 1' "$TEST_TMP/po.log"
	done
	is "$engine: no answer tells of a difference" "$(grep -c -E 'expected|does not come' "$TEST_TMP/po.log")" 0
	ok "$engine: stop" po po stop 0
	is_between "$engine: no mbuf is lost" "$(po po pool_free 0 | head -n 1)" 448 512

	ok "$engine: mbufs of 256 bytes are refused" eval '! po po open 0 room=384'
	like "$engine: and it is said why" "$(job_log po)" \
		"mempool rx0 has room for packets of 256 bytes, an MTU of 1500 needs"
	ok "$engine: with scatter they are not" po po open 0 room=384 rx=scatter
	ok "$engine: start" po po start 0
	ok "$engine: packets come in chains" po po in 0 k 60 1514 step=7
	ok "$engine: superframes are split into chains" po po super 0 k tcp6 30000 1400
	ok "$engine: stop" po po stop 0
	ok "$engine: with LRO" po po open 0 room=384 rx=lro,scatter maxlro=65535
	ok "$engine: start" po po start 0
	ok "$engine: superframes come whole" po po super 0 k tcp6 60000 1400
	ok "$engine: stop" po po stop 0
	is_between "$engine: no mbuf is lost" "$(po po pool_free 0 | head -n 1)" 1984 2048
	works "$engine: portool quits" po_stop po || true
done
done_testing
