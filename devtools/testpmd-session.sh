#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Prints a session with the driver's testpmd commands, as the guide shows one: testpmd
# forwards a TCP stream of iperf3's between two network namespaces meanwhile.
#	testpmd-session.sh [COMMAND...]    instead of those of the guide
. "$(dirname "$0")/../test/func/lib.sh"
tap_planned=0 # no test: only the helpers of tests are used

commands=("$@")
[ $# -gt 0 ] || commands=(
	"tapbatch watch 1 4"
	"show port 0 tapbatch batches"
	"show port 1 tapbatch batches"
	"tapbatch sweep 1 1"
	"set port 1 tapbatch coalesce none"
	"clear port 1 tapbatch batches"
	"tapbatch watch 1 2"
	"show port 1 tapbatch batches"
)

netns_add left right
testpmd_start fwd -d "$TAPBATCH_TESTPMD" --vdev=net_tapbatch0,iface=left \
	--vdev=net_tapbatch1,iface=right -- --auto-start --burst=64 || exit 1
side_up left 1
side_up right 2
iperf_server right
in_ns left iperf3 -c 10.0.0.2 -t 120 >/dev/null 2>&1 &
at_exit "kill $!"
sleep 1

size=$(stat -c %s "$TEST_TMP/fwd.log")
for command in "${commands[@]}"; do
	testpmd fwd "$command" >/dev/null
done
{
	printf 'testpmd> '
	tail -c "+$((size + 1))" "$TEST_TMP/fwd.log" | tr -d '\r' | sed '$d'
}
job_kill iperf-right 2>/dev/null
testpmd_stop fwd >/dev/null
