#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Engine vhost: memory of all kinds, queues stopped under load, ports that come and go,
# interfaces that vanish, and what is said where it does not work. Run in a VM by
# vhost_engine.t.
. "$(dirname "$0")/../../func/lib.sh"

netns_add left right
quits() { works "$1: testpmd quits" testpmd_stop fwd || true; }

# Packets from memory that DPDK does not manage.
for kind in anon xmem; do
	works "memory '$kind': testpmd starts" forward_start ,engine=vhost "--mp-alloc=$kind"
	ok "memory '$kind': ping" pings left 10.0.0.2 -s 1400
	quits "memory '$kind'"
done

# Queues are stopped and started while packets come.
works "queues: testpmd starts" forward_start ,engine=vhost --rxq=2 --txq=2
in_ns left ping -q -f -w 6 10.0.0.2 >"$TEST_TMP/flood.log" 2>&1 &
flood=$!
for i in 1 2; do
	for q in 'rxq 1' 'txq 1'; do
		testpmd fwd stop >/dev/null
		testpmd fwd "port 0 $q stop" >/dev/null
		testpmd fwd start >/dev/null
		testpmd fwd stop >/dev/null
		testpmd fwd "port 0 $q start" >/dev/null
		testpmd fwd start >/dev/null
	done
	testpmd fwd stop >/dev/null
	testpmd fwd "port stop 1" >/dev/null
	testpmd fwd "port start 1" >/dev/null
	testpmd fwd start >/dev/null
done
wait "$flood" || true
ok "queues: after stops and starts under load ping loses nothing" pings left 10.0.0.2
quits "queues"

# Ports come and go.
works "hot plug: testpmd starts" testpmd_start fwd --vdev=net_null0
for i in 1 2; do
	testpmd fwd "port attach net_tapbatch0,iface=left,engine=vhost" >"$TEST_TMP/attach"
	testpmd fwd "port start 1" >/dev/null
	testpmd fwd "port stop 1" >/dev/null
	testpmd fwd "port detach 1" >"$TEST_TMP/detach"
done
like "hot plug: attached again" "$(cat "$TEST_TMP/attach")" 'is attached'
like "hot plug: detached again" "$(cat "$TEST_TMP/detach")" 'is detached'
is "hot plug: no descriptors are left" \
	"$(find /proc/"$(pgrep -n dpdk-testpmd)"/fd -lname '/dev/vhost-net' | wc -l)" 0
quits "hot plug"

# The interface goes.
works "vanished: testpmd starts" forward_start ,engine=vhost
ip -n left link del dev left
gone() { job_log fwd | grep -q 'the interface is gone'; }
ok "vanished: the application is told" wait_for 10 gone
ok "vanished: testpmd goes on without it" wait_for 10 forward_goes_on
quits "vanished"

# Where it can't work, it says why.
mv /dev/vhost-net /dev/vhost-net.away
at_exit 'mv /dev/vhost-net.away /dev/vhost-net'
testpmd_start none --vdev=net_tapbatch0,iface=left,engine=vhost >/dev/null || true
like "without /dev/vhost-net the message says what to do" "$(job_log none)" \
	'engine=vhost does not work here: /dev/vhost-net: No such file.*modprobe vhost_net'
job_kill none || true
done_testing
