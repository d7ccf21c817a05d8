#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Several queues: 2, 16, 256; stopped, started, started late; more of one direction
# than of the other. No packet ends in a queue that nobody reads.
# timeout: 60
. "$(dirname "$0")/lib.sh"
quiet_ipv6

# gets_all N QUEUE...: all of N frames of many flows come out of these queues.
gets_all() {
	local n=$1 got=0 k
	shift
	po po flood k "$n" 100 flows=64 >/dev/null
	for queue in "$@"; do
		k=$(po_value po rx 0 "$queue" "$n" ms=60 received)
		got=$((got + k))
	done
	echo "sent $n, received $got"
	[ "$got" -eq "$n" ]
}

# sends_from QUEUE...: each sends packets that reach the kernel, all of them.
sends_from() {
	local queue taken drained
	po po drain k >/dev/null
	for queue in "$@"; do
		taken=$(po_value po tx 0 "$queue" 20 100 flows=20 taken)
		drained=$(po_value po drain k drained)
		echo "queue $queue: 20 sent, $taken taken, $drained reach the kernel"
		[ "$taken $drained" = "20 20" ] || return 1
	done
}

PORTOOL_MB=400
for engine in $ENGINES; do
	works "$engine: portool starts" portool_start po --vdev="net_tapbatch0,iface=t0,engine=$engine" || exit 1
	ok "$engine: 2 queues" po po open 0 rxq=2 txq=2
	ok "$engine: start" po po start 0
	po po raw k t0 >/dev/null
	ok "$engine: all packets come" gets_all 500 0 1
	ok "$engine: queue 1 stops" po po rxq_stop 0 1
	ok "$engine: all packets come to queue 0" gets_all 500 0
	ok "$engine: the Tx queue of the one that is stopped sends on" sends_from 0 1
	ok "$engine: queue 1 starts again" po po rxq_start 0 1
	ok "$engine: queue 0 stops" po po rxq_stop 0 0
	ok "$engine: all packets come to queue 1" gets_all 500 1
	ok "$engine: the Tx queue of the one that is stopped sends on" sends_from 0 1
	ok "$engine: queue 1 stops, too" po po rxq_stop 0 1
	ok "$engine: queue 0 starts again" po po rxq_start 0 0
	ok "$engine: all packets come to queue 0, the other was last to stop" gets_all 500 0
	ok "$engine: queue 1 starts again" po po rxq_start 0 1
	ok "$engine: all packets come" gets_all 500 0 1
	ok "$engine: Tx queue 1 stops" po po txq_stop 0 1
	ok "$engine: Tx queue 1 starts" po po txq_start 0 1
	for queue in 0 1; do
		is "$engine: Tx queue $queue sends" "$(po_value po tx 0 $queue 20 100 taken)" 20
	done
	is "$engine: to the kernel" "$(po_value po drain k drained | awk '{ print ($1 > 0) }')" 1

	# What waits in a queue that is stopped is counted.
	po po reset 0 >/dev/null
	po po flood k 200 100 flows=64 >/dev/null
	before=$(po_value po xstats 0 rx_q1_stop_drops rx_q1_stop_drops)
	ok "$engine: queue 1 stops with packets in it" po po rxq_stop 0 1
	dropped=$(($(po_value po xstats 0 rx_q1_stop_drops rx_q1_stop_drops) - before))
	got=$(po_value po rx 0 0 200 ms=60 received)
	is "$engine: each is received or counted" $((got + dropped)) 200

	ok "$engine: stop" po po stop 0
	ok "$engine: more Tx than Rx queues, started late" po po open 0 rxq=2 txq=8 deferred=0x2
	ok "$engine: start" po po start 0
	ok "$engine: all packets come to the queue that is started" gets_all 300 0
	ok "$engine: the other one starts" po po rxq_start 0 1
	ok "$engine: all packets come to both" gets_all 300 0 1
	for queue in 0 3 7; do
		is "$engine: Tx queue $queue sends" "$(po_value po tx 0 $queue 20 100 taken)" 20
	done
	ok "$engine: all packets come still" gets_all 300 0 1
	ok "$engine: stop" po po stop 0
	ok "$engine: all Rx queues started late" po po open 0 rxq=2 txq=2 deferred=0x3
	ok "$engine: start" po po start 0
	ok "$engine: stop, with all of them detached" po po stop 0
	ok "$engine: start" po po start 0
	ok "$engine: queue 1 starts" po po rxq_start 0 1
	like "$engine: the link is up" "$(po po link 0)" "^up"
	ok "$engine: all packets come to it" gets_all 300 1
	ok "$engine: stop" po po stop 0
	ok "$engine: 16 Rx queues, 1 Tx queue" po po open 0 rxq=16 txq=1 mbufs=10000
	ok "$engine: start" po po start 0
	ok "$engine: all packets come" gets_all 500 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
	works "$engine: portool quits" po_stop po || true
done

works "portool starts" portool_start po --vdev=net_tapbatch0,iface=t0 || exit 1
ok "256 queues" po po open 0 rxq=256 txq=256 mbufs=10000
ok "start" po po start 0
is "the kernel has them" "$(find /sys/class/net/t0/queues -name 'rx-*' | wc -l)" 256
po po raw k t0 >/dev/null
is "queue 255 sends" "$(po_value po tx 0 255 20 100 taken)" 20
ok "stop" po po stop 0
ok "257 queues are refused" eval '! po po open 0 rxq=257 txq=257'
like "and it is said why" "$(job_log po)" "nb_rx_queues=257 > 256"
ok "1 queue" po po open 0
ok "start" po po start 0
ok "all packets come" gets_all 500 0
works "portool quits" po_stop po || true
done_testing
