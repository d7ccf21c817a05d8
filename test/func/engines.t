#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# engine=auto takes io_uring where it works, and says once where it does not;
# Debian's own testpmd runs the driver; polling asks the kernel for no wake-ups.
# timeout: 60
. "$(dirname "$0")/lib.sh"
quiet_ipv6

# engine_of ARGUMENT...: sets engine and notices of a portool that starts so.
engine_of() {
	engine='' notices=''
	portool_start po --vdev=net_tapbatch0,iface=t0 --vdev=net_tapbatch1,iface=t1 "$@" || return 1
	po po open 0 >/dev/null
	engine=$(po po info 0 | sed -n 's/^rx_burst_mode .* //p')
	notices=$(job_log po | grep -i -c "engine rw is used, uring does not work here" || true)
	po po start 0 >/dev/null
	po po raw k t0 >/dev/null
	taken="$(po_value po tx 0 0 40 100 taken) $(po_value po drain k drained)"
	po_stop po
}

works "portool starts" engine_of
like "engine=auto is uring where that works" "$engine" uring
is "without a notice" "$notices" 0

PORTOOL=("$TOOLS/no_uring" "$TOOLS/portool")
works "it starts where seccomp forbids io_uring" engine_of
like "engine=auto is rw there" "$engine" rw
is "with one notice for each port" "$notices" 2
like "and sends" "$taken" "^40 "
answer=$("${PORTOOL[@]}" -l 0 -m 64 "${EAL[@]}" --vdev=net_tapbatch0,engine=uring </dev/null 2>&1) || true
like "engine=uring is an error there" "$answer" "engine=uring does not work here: .*seccomp"
unset PORTOOL

knob=/proc/sys/kernel/io_uring_disabled
if [ -w "$knob" ]; then
	old=$(cat "$knob")
	at_exit "echo $old >$knob"
	echo 2 >"$knob"
	works "it starts where a sysctl forbids io_uring" engine_of
	echo "$old" >"$knob"
	like "engine=auto is rw there, too" "$engine" rw
else
	skip "a sysctl that forbids io_uring" "this kernel has none"
fi

if [ -x /usr/bin/dpdk-testpmd ]; then
	netns_add left right
	TESTPMD=/usr/bin/dpdk-testpmd
	saved=$LD_LIBRARY_PATH
	unset LD_LIBRARY_PATH
	works "Debian's testpmd starts" forward_start '' --enable-lro --max-lro-pkt-size=65535
	export LD_LIBRARY_PATH=$saved
	unset TESTPMD
	ok "and forwards" pings left 10.0.0.2
	works "and quits" testpmd_stop fwd || true
else
	skip "Debian's testpmd" "is not installed"
fi

# Polling: a receive loop, in the main thread, makes system calls that read, and no others.
if type -P strace >/dev/null; then
	for engine in rw uring; do
		works "$engine: portool starts" portool_start po --vdev="net_tapbatch0,iface=t0,engine=$engine" || exit 1
		po po open 0 >/dev/null
		po po start 0 >/dev/null
		po po raw k t0 >/dev/null
		job_start trace strace -qq -c -o "$TEST_TMP/calls" -p "${JOB_PID[po]}"
		sleep 0.3
		po po flood k 200 100 >/dev/null
		is "$engine: packets come" "$(po_value po rx 0 0 100000 ms=200 received)" 200
		kill -INT "${JOB_PID[trace]}"
		job_wait trace || true
		is "$engine: polling arms nothing" \
			"$(grep -E 'epoll_ctl|fcntl|ioctl|signal|poll$|io_uring_setup' "$TEST_TMP/calls" || true)" ""
		works "$engine: portool quits" po_stop po || true
	done
else
	skip "system calls of polling" "strace is not installed"
fi
done_testing
