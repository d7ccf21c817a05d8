#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ports are stopped and started, and their queues, while packets come: what follows
# arrives, and every packet is received, or counted.
# timeout: 60
. "$(dirname "$0")/lib.sh"

netns_add left right
for engine in $ENGINES; do
	works "$engine: testpmd starts" forward_start ",engine=$engine" --rxq=2 --txq=2 || continue
	in_ns left ping -q -i 0.002 -c 400 -W 1 10.0.0.2 >/dev/null &
	ping=$!
	for _ in 1 2; do
		testpmd fwd stop >/dev/null
		testpmd fwd 'port stop 0' >/dev/null
		testpmd fwd 'port start 0' >/dev/null
		testpmd fwd start >/dev/null
		testpmd fwd 'port 1 rxq 1 stop' >/dev/null
		testpmd fwd 'port 1 rxq 1 start' >/dev/null
	done
	wait $ping || true
	ok "$engine: after restarts nothing is lost" pings left 10.0.0.2
	ok "$engine: nor IPv6" pings right fd00::1
	works "$engine: testpmd quits" testpmd_stop fwd || true
done

quiet_ipv6
for engine in $ENGINES; do
	works "$engine: portool starts" portool_start po --vdev="net_tapbatch0,iface=t0,engine=$engine" || exit 1
	po po open 0 >/dev/null
	ok "$engine: start" po po start 0
	po po raw k t0 vnet=1 >/dev/null
	# Stopped in the middle of a superframe, the port goes on there.
	po po super 0 k tcp4 30000 1000 >/dev/null # the socket works
	job_tell po "flood k 50 100"
	ok "$engine: a few are received" po po rx 0 0 7
	ok "$engine: stop" po po stop 0
	is "$engine: a packet sent to a port that is stopped" "$(po_value po tx 0 0 1 100 taken)" 0
	ok "$engine: start" po po start 0
	got=$(po_value po rx 0 0 100 ms=100 received)
	missed=$(po_value po stats 0 ierrors)
	is "$engine: all the others are received, or counted" $((7 + got + missed)) 50
	po po flood k 50 100 >/dev/null
	is "$engine: new ones are received" "$(po_value po rx 0 0 50 received)" 50
	works "$engine: portool quits" po_stop po || true
done
done_testing
