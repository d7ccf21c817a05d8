#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Checksums are right for tcpdump, where nothing is left to the kernel, and for the
# kernel that receives, where something is.
# timeout: 60
. "$(dirname "$0")/lib.sh"

dump_start() {
	job_start dump ip netns exec "$1" tcpdump --immediate-mode -Q in -l -vvn -i "$2"
	wait_for 10 grep -q 'listening on' "$TEST_TMP/dump.log"
}
# Sets correct, the number of right checksums, and wrong, the first lines with another.
dump_stop() {
	sleep 0.3
	kill -INT "${JOB_PID[dump]}"
	job_wait dump || true
	correct=$(grep -c -i -E 'cksum 0x[0-9a-f]+ \(correct\)|udp sum ok' "$TEST_TMP/dump.log" || true)
	wrong=$(grep -m 3 -i -E 'incorrect|bad udp cksum|bad cksum' "$TEST_TMP/dump.log" || true)
}

csum_errors() {
	in_ns "$1" nstat -asz TcpInCsumErrors UdpInCsumErrors Udp6InCsumErrors IpInHdrErrors |
		awk 'NR > 1 { n += $2 } END { print n }'
}

netns_add left right
iperf_server right
for offload in '' '--enable-rx-cksum --tx-offloads=0x800e' \
	'--enable-lro --max-lro-pkt-size=65535 --tx-offloads=0x806e'; do
	[ -n "$offload" ] && devargs= || devargs=,coalesce=none
	# shellcheck disable=SC2086
	works "testpmd starts ($offload)" forward_start "$devargs" $offload || continue
	[ -n "$offload" ] || dump_start right right
	ok "TCP, IPv4" iperf left 10.0.0.2 -n 2M
	ok "TCP, IPv6" iperf left fd00::2 -n 2M
	ok "UDP" moves_udp left fd00::2 -l 1000
	ok "UDP, IPv4" moves_udp left 10.0.0.2 -l 1000
	if [ -z "$offload" ]; then
		dump_stop
		is_between "tcpdump calls them correct" "$correct" 1000 100000
		is "and none wrong" "$wrong" ""
	fi
	is "the kernel finds none wrong" "$(csum_errors right) $(csum_errors left)" "0 0"
	works "testpmd quits" testpmd_stop fwd || true
done

# testpmd makes packets itself.
works "testpmd starts" testpmd_start gen --vdev=net_tapbatch0,iface=right,coalesce=none -- \
	--forward-mode=txonly
side_up right 2
dump_start right right
testpmd gen "start" >/dev/null
sleep 0.1
testpmd gen stop >/dev/null
dump_stop
is "checksums of generated packets are right, too" "$wrong" ""
is_between "and there are some" "$(grep -c UDP "$TEST_TMP/dump.log")" 16 10000000
works "testpmd quits" testpmd_stop gen || true
done_testing
