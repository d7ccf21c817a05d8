#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The main job on real traffic: two network namespaces of the kernel's talk through
# testpmd and two ports, of net_tap and of net_tapbatch in turn. Then packets per
# second, from the measurement program. Prints both.
#	demo.sh [ROUNDS]
. "$(dirname "$0")/func/lib.sh"
tap_planned=0 # no test: only the helpers of tests are used

rounds=${1:-5}
lro=(--enable-lro --max-lro-pkt-size=65535 --tx-offloads=0x806e) # multi-segment, checksums, TCP and UDP segmentation

# forward DRIVER [TESTPMD-ARGUMENT...]: testpmd between namespaces left and right.
forward() {
	local driver=$1
	shift
	netns_add left right
	testpmd_start fwd --vdev="${driver}0,iface=left" --vdev="${driver}1,iface=right" \
		-- --auto-start "$@" || die "testpmd does not start with $driver"
	side_up left 1 || { job_log fwd | tail -n 30 >&2; die "no interface left"; }
	side_up right 2
	wait_for 10 in_ns left ping -q -c 1 -W 1 10.0.0.2 || die "no ping through $driver"
	iperf_server right
}

unforward() {
	job_kill iperf-right 2>/dev/null || true
	testpmd_stop fwd || true
	netns_del left
	netns_del right
}

# One line of figures: ping's median and 99th percentile in us, iperf3's Gb/s.
measure() {
	local times
	times=$(in_ns left ping -c 300 -i 0.002 10.0.0.2 | sed -n 's/.*time=\([0-9.]*\) ms/\1/p' | sort -n)
	iperf left 10.0.0.2 -t 1.5 -O 0.5 || die "iperf3 failed"
	awk -v gbps="$(iperf_value end.sum_received.bits_per_second)" '
		{ t[NR] = $1 * 1000 }
		END { print t[int(NR / 2)], t[int(NR * 0.99)], gbps / 1e9 }' <<<"$times"
}

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
column() { cut -d' ' -f"$2" "$TEST_TMP/$1.figures" | median; }

echo "Linux $(uname -r), $(nproc) cores, DPDK $(pkg-config --modversion libdpdk)"
echo
for ((round = 1; round <= rounds; round++)); do
	for name in net_tap net_tapbatch net_tapbatch-lro; do
		[ ! -t 2 ] || printf '\r%-60s' "round $round of $rounds: $name" >&2
		case $name in
		*-lro) forward net_tapbatch "${lro[@]}" ;;
		*) forward "$name" ;;
		esac
		measure >>"$TEST_TMP/$name.figures"
		unforward
	done
done
[ ! -t 2 ] || printf '\r%-60s\r' "" >&2

echo "Kernel to kernel through dpdk-testpmd (io), ping and one TCP stream of iperf3,"
echo "median of $rounds rounds:"
echo
printf '%-36s %10s %10s %10s %8s\n' "ports" "ping us" "99 % us" "TCP Gb/s" "ratio"
base=$(column net_tap 3)
while read -r name text; do
	printf '%-36s %10.1f %10.1f %10.2f %8.1f\n' "$text" "$(column "$name" 1)" \
		"$(column "$name" 2)" "$(column "$name" 3)" \
		"$(awk -v a="$(column "$name" 3)" -v b="$base" 'BEGIN { print a / b }')"
done <<'ROWS'
net_tap net_tap
net_tapbatch net_tapbatch
net_tapbatch-lro net_tapbatch, --enable-lro and TSO
ROWS
echo
"$TAPBATCH_BUILD/app/perf/dpdk-tapbatch-perf" -e pps,merge -d tapbatch,net_tap,net_af_xdp \
	-r "$rounds" -s 0.4
