# SPDX-License-Identifier: BSD-3-Clause
# For tests of the driver against the real kernel: to be sourced first thing by a
# test, which then has tap.sh, netns.sh, and what stands here.
# shellcheck shell=bash

FUNC_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
. "$FUNC_DIR/../tap.sh"
. "$FUNC_DIR/../netns.sh"

# What the tests run with; one in a VM has the engine that works only there.
ENGINES=${ENGINES:-rw uring}
# How many times longer than usual things may take: emulated machines are slow.
SLOW=${SLOW:-1}
# Superframes that this kernel knows: those of UDP since 6.2.
KINDS='tcp4 tcp6 udp4 udp6' USO=,uso
if [ "$(printf '6.2\n%s\n' "$(uname -r)" | sort -V | head -n 1)" != 6.2 ]; then
	KINDS='tcp4 tcp6' USO=
fi
TOOLS=$TAPBATCH_BUILD/test/tools
# Programs of DPDK's, in as little of the machine as they need.
EAL=(--no-huge --no-shconf --no-pci --no-telemetry -d "$TAPBATCH_PMD")

# works NAME COMMAND...: like ok, for a function that leaves something behind in this
# shell (ok runs it in another).
works() {
	local name=$1 status=0
	shift
	"$@" >"$TEST_TMP/works.log" 2>&1 || status=$?
	if [ "$status" -eq 0 ]; then
		pass "$name"
	else
		fail "$name" "failed with status $status: $*"
		diag "$(tail -n 40 "$TEST_TMP/works.log")"
		return 1
	fi
}

declare -A JOB_PID=() JOB_FD=()

# job_start NAME COMMAND...: in the background, with a pipe for its input; its output
# is in $TEST_TMP/NAME.log. Killed at the end of the test.
job_start() {
	local name=$1 fd
	shift
	rm -f "$TEST_TMP/$name.in"
	: >"$TEST_TMP/$name.log" # what an earlier job of the name said is not its answer
	mkfifo "$TEST_TMP/$name.in"
	exec {fd}<>"$TEST_TMP/$name.in"
	"$@" <&"$fd" >"$TEST_TMP/$name.log" 2>&1 {fd}>&- &
	JOB_PID[$name]=$!
	JOB_FD[$name]=$fd
	at_exit "job_kill $name"
}

job_log() { cat "$TEST_TMP/$1.log"; }
job_alive() { [ -n "${JOB_PID[$1]:-}" ] && kill -0 "${JOB_PID[$1]}" 2>/dev/null; }
job_tell() { printf '%s\n' "$2" >&"${JOB_FD[$1]}"; }

# job_wait NAME [SECONDS]: returns the job's status; kills it when time is up.
job_wait() {
	local pid=${JOB_PID[$1]} status=0 fd=${JOB_FD[$1]}
	wait_for "${2:-20}" eval "! kill -0 $pid || grep -q '^State:.Z' /proc/$pid/status" || {
		kill -KILL "$pid"
		diag "$1 had to be killed"
	}
	wait "$pid" || status=$?
	exec {fd}>&-
	unset "JOB_PID[$1]" "JOB_FD[$1]"
	return "$status"
}

job_kill() {
	[ -n "${JOB_PID[$1]:-}" ] || return 0
	kill -KILL "${JOB_PID[$1]}"
	job_wait "$1"
}

# testpmd_start NAME EAL-ARGUMENT... [-- TESTPMD-ARGUMENT...]: interactive, on one
# core beside that of its command line. Returns once it takes commands.
testpmd_start() {
	local name=$1 eal=()
	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		eal+=("$1")
		shift
	done
	[ $# -eq 0 ] || shift
	job_start "$name" stdbuf -oL "${TESTPMD:-dpdk-testpmd}" -l 0,1 -m "${TESTPMD_MB:-256}" "${EAL[@]}" \
		"${eal[@]}" -- -i --total-num-mbufs=16384 "$@"
	wait_for 30 prompts_since "$name" 0 && job_alive "$name" &&
		! grep -q 'Start ports failed' "$TEST_TMP/$name.log" || {
		diag "testpmd does not start:"
		diag "$(tail -n 20 "$TEST_TMP/$name.log")"
		return 1
	}
}

prompts() { grep -o 'testpmd> ' "$TEST_TMP/$1.log" | wc -l; }
prompts_since() { [ "$(prompts "$1")" -gt "$2" ] || ! job_alive "$1"; }

# testpmd NAME COMMAND: prints what testpmd answers.
testpmd() {
	local before size
	before=$(prompts "$1")
	size=$(stat -c %s "$TEST_TMP/$1.log")
	job_tell "$1" "$2"
	wait_for 20 prompts_since "$1" "$before" || { diag "testpmd does not answer to: $2"; return 1; }
	tail -c +$((size + 1)) "$TEST_TMP/$1.log"
}

# testpmd_xstat NAME PORT COUNTER: waits for the counter itself, since prompts of earlier
# commands may come late on a busy machine.
testpmd_xstat() {
	local from log=$TEST_TMP/$1.log
	from=$(($(stat -c %s "$log") + 1))
	job_tell "$1" "show port xstats $2"
	wait_for 20 eval "tail -c +$from '$log' | grep -q '^$3: [0-9]'" || true
	tail -c "+$from" "$log" | awk -v n="$3:" '$1 == n { v = $2 } END { print v }'
}

# testpmd_stop NAME: quits; its status is the function's.
testpmd_stop() {
	job_tell "$1" quit
	job_wait "$1"
}

# forward_start EXTRA-DEVARGS [TESTPMD-ARGUMENT...]: testpmd named fwd forwards between
# a port whose interface is "left" in namespace left (10.0.0.1, fd00::1), and one whose
# is "right" in namespace right (10.0.0.2, fd00::2).
forward_start() {
	local args=$1
	shift
	testpmd_start fwd --vdev="net_tapbatch0,iface=left$args" \
		--vdev="net_tapbatch1,iface=right$args" -- --auto-start "$@" || return 1
	side_up left 1
	side_up right 2
}

# forward_goes_on: testpmd has removed a port whose interface vanished, and forwards with the
# other one. It does so in another thread; told to quit meanwhile it waits for ever.
forward_goes_on() { job_log fwd | sed '1,/is detached/d' | grep -q 'TX RS bit threshold'; }

# side_up NAME NUMBER: moves the interface into the namespace of its name.
side_up() {
	ip link set dev "$1" netns "$1"
	ip -n "$1" addr add "10.0.0.$2/24" dev "$1"
	ip -n "$1" addr add "fd00::$2/64" dev "$1" nodad
	ip -n "$1" link set dev "$1" up
}

# echo_replies NAMESPACE: how many have come there.
echo_replies() {
	in_ns "$1" cat /proc/net/snmp /proc/net/snmp6 | awk '
		/^Icmp: / && !at { for (i = 2; i <= NF; i++) if ($i == "InEchoReps") at = i; next }
		/^Icmp: / { n += $at }
		/^Icmp6InEchoReplies/ { n += $2 }
		END { print n }'
}

# pings FROM ADDRESS [PING-ARGUMENT...]: none of 50 is lost. As the kernel has it, since
# ping waits for the last one no longer than twice the longest round trip.
pings() {
	local ns=$1 before
	before=$(echo_replies "$ns")
	in_ns "$ns" ping -q -c 50 -i 0.002 "${@:3}" "$2" || true
	wait_for 2 eval '[ "$(echo_replies "$ns")" -ge $((before + 50)) ]'
}

# iperf_server NAMESPACE: for the rest of the test.
iperf_server() {
	job_start "iperf-$1" ip netns exec "$1" iperf3 -s --forceflush
	wait_for 10 grep -q listening "$TEST_TMP/iperf-$1.log" || diag "iperf3 does not listen"
}

# iperf FROM ADDRESS IPERF-ARGUMENT...: JSON in $TEST_TMP/iperf.json
iperf() {
	in_ns "$1" timeout 30 iperf3 -J -c "$2" "${@:3}" >"$TEST_TMP/iperf.json" ||
		{ grep '"error"' "$TEST_TMP/iperf.json"; return 1; }
}

# iperf_value PATH: of the last run, like end.sum.lost_packets
iperf_value() {
	/usr/bin/python3 -c '
import json, sys
v = json.load(open(sys.argv[1]))
for key in sys.argv[2].split("."):
    v = v[key]
print(v)' "$TEST_TMP/iperf.json" "$1"
}

# moves_tcp FROM ADDRESS MEGABYTES [IPERF-ARGUMENT...]: all is sent, and most of it
# arrived when iperf3 stops to count.
moves_tcp() {
	iperf "$1" "$2" -n "$3M" "${@:4}" || return 1
	local sent got
	sent=$(iperf_value end.sum_sent.bytes)
	got=$(iperf_value end.sum_received.bytes)
	echo "sent $sent bytes of $3 MB, received $got"
	[ "$sent" -ge $(($3 * 1000 * 1000)) ] && [ "$got" -ge $((sent / 2)) ]
}

# moves_udp FROM ADDRESS IPERF-ARGUMENT...: nothing is lost at a rate there is room for.
moves_udp() {
	iperf "$1" "$2" -u -b 20M -w 400K -n 1M "${@:3}" || return 1
	local lost all
	lost=$(iperf_value end.sum.lost_packets)
	all=$(iperf_value end.sum.packets)
	echo "lost $lost of $all"
	[ "$all" -gt 0 ] && [ "$lost" -eq 0 ]
}

# portool_start NAME EAL-ARGUMENT...: returns once it takes commands; fails if EAL does.
portool_start() {
	local name=$1
	shift
	job_start "$name" "${PORTOOL[@]:-$TOOLS/portool}" -l "${PORTOOL_CORES:-0}" \
		-m "${PORTOOL_MB:-160}" "${EAL[@]}" "$@"
	wait_for 20 answers_since "$name" 0 && job_alive "$name" || {
		job_log "$name"
		return 1
	}
}

answers() { grep -c '^= ' "$TEST_TMP/$1.log" || true; }
answers_since() { [ "$(answers "$1")" -gt "$2" ] || ! job_alive "$1"; }

# nap: a short sleep that starts no program, which in an emulated machine would take
# longer than the sleep.
exec {NAP_FD}<> <(:)
nap() { read -rt 0.01 -u "$NAP_FD" || true; }

# po NAME COMMAND...: prints portool's answer, logs included; its status is the function's.
# PO_SECONDS: how long it may take.
po() {
	local name=$1 log=$TEST_TMP/$1.log text end before
	shift
	IFS= read -r -d '' before <"$log" || true
	job_tell "$name" "$*"
	end=$((SECONDS + ${PO_SECONDS:-20}))
	while :; do
		IFS= read -r -d '' text <"$log" || true
		text=$'\n'${text:${#before}}
		[[ $text == *$'\n= '*$'\n' ]] || ! job_alive "$name" && break
		[ "$SECONDS" -lt "$end" ] || {
			echo "portool does not answer to: $*"
			return 1
		}
		nap
	done
	printf '%s' "${text:1}"
	[[ $text == *$'\n= 0'* ]]
}

# po_value NAME COMMAND... KEY: the number behind a word in the answer.
po_value() {
	local text
	text=$(po "${@:1:$#-1}") || true
	if [[ " ${text//[[:space:]]/ } " =~ " ${!#} "\ *([^ ]+) ]]; then
		echo "${BASH_REMATCH[1]}"
	fi
}

# po_stop NAME
po_stop() {
	job_tell "$1" quit
	job_wait "$1"
}

# no_noise IFACE: the kernel sends nothing of its own there.
no_noise() {
	[ ! -d "/proc/sys/net/ipv6/conf/$1" ] || echo 1 >"/proc/sys/net/ipv6/conf/$1/disable_ipv6"
}

# quiet_ipv6: no interface that comes will send anything by itself.
quiet_ipv6() {
	echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
}
