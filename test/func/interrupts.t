#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Rx interrupts: an application that sleeps on them misses nothing, is not woken for
# nothing, and costs nothing; one that polls arms nothing.
# timeout: 60
. "$(dirname "$0")/lib.sh"
quiet_ipv6

for engine in $ENGINES; do
	works "$engine: portool starts" portool_start po --vdev="net_tapbatch0,iface=t0,engine=$engine" || exit 1
	works "$engine: another, that sends" portool_start sender --no-shconf || exit 1
	ok "$engine: the port opens" po po open 0 intr=1
	ok "$engine: and starts" po po start 0
	ok "$engine: interrupts" po po intr_add 0 0
	po sender raw k t0 vnet=1 >/dev/null

	is "$engine: not enabled: a packet wakes nobody" "$(po sender flood k 1 100 >/dev/null
		po_value po wait 200 events)" 0
	ok "$engine: enable" po po intr 0 0 on
	is "$engine: the packet that is there wakes" "$(po_value po wait 1000 events)" 1
	ok "$engine: disable" po po intr 0 0 off
	is "$engine: disabled: it does not" "$(po_value po wait 100 events)" 0
	is "$engine: it is received" "$(po_value po rx 0 0 1 received)" 1
	ok "$engine: enable" po po intr 0 0 on
	is "$engine: none there: none wakes" "$(po_value po wait 100 events)" 0
	ok "$engine: disable" po po intr 0 0 off

	# In the middle of a superframe, nothing is left in the kernel's queue.
	for burst in 1 3; do
		job_tell po "sleep 0 0 60 ms=4000 burst=$burst"
		wait_for 5 grep -q sleeping "$TEST_TMP/po.log"
		before=$(answers po)
		po sender super 0 k tcp4 60000 1000 >/dev/null || true # sends it; has no port
		wait_for 6 answers_since po "$before"
		answer=$(tail -n 7 "$TEST_TMP/po.log")
		like "$engine: a superframe in bursts of $burst" "$answer" "packets 60"
		like "$engine: no wake-up is lost" "$answer" "stalls 0"
	done

	# Idle.
	answer=$(po po sleep 0 0 1 ms=1500)
	like "$engine: an idle application is not woken" "$answer" "wakeups 0"
	is_between "$engine: and takes no time, in us of 1.5 s" \
		"$(awk '/cpu_us/ { print $2 }' <<<"$answer")" 0 $((15000 * SLOW))

	# One by one, and in numbers.
	job_tell po "sleep 0 0 2000 ms=$((8000 * SLOW))"
	before=$(answers po)
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		po sender flood k 200 100 >/dev/null
	done
	wait_for $((9 * SLOW)) answers_since po "$before"
	answer=$(tail -n 7 "$TEST_TMP/po.log")
	like "$engine: 2000 packets" "$answer" "packets 2000"
	like "$engine: no wake-up is lost" "$answer" "stalls 0"
	is_between "$engine: few for nothing" "$(awk '/^empty/ { print $2 }' <<<"$answer")" 0 20

	# Several queues.
	ok "$engine: stop" po po stop 0
	ok "$engine: 3 queues" po po open 0 intr=1 rxq=3 txq=3
	ok "$engine: start" po po start 0
	for queue in 0 1 2; do
		ok "$engine: interrupts of queue $queue" po po intr_add 0 $queue
		ok "$engine: enabled" po po intr 0 $queue on
	done
	po sender flood k 100 100 flows=50 >/dev/null
	is_between "$engine: some queue wakes" "$(po_value po wait 1000 events)" 1 3
	po_stop sender || true
	works "$engine: portool quits" po_stop po || true
	is "$engine: no descriptor was closed before epoll let go of it" \
		"$(grep -c 'Error op' "$TEST_TMP/po.log" || true)" 0
done
done_testing
