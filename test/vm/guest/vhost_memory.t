#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Engine vhost and memory of all kinds: the worker reaches hugepages however DPDK maps them,
# what is added while the port runs, and what DPDK knows nothing of; what is removed is
# gone. Run in a VM by vhost_engine.t.
. "$(dirname "$0")/../../func/lib.sh"
quiet_ipv6

pages=/proc/sys/vm/nr_hugepages
echo 120 >$pages
at_exit "echo 0 >$pages"
is_between "there are hugepages" "$(cat $pages)" 100 120
free_pages() { sed -n 's/^HugePages_Free: *//p' /proc/meminfo; }
all=$(free_pages)
mkdir "$TEST_TMP/huge"
mount -t hugetlbfs huge "$TEST_TMP/huge"
at_exit "umount '$TEST_TMP/huge'"

# with_memory NAME EAL-ARGUMENT...
with_memory() {
	local name=$1 before
	shift
	EAL=("$@" --no-pci --no-telemetry -d "$TAPBATCH_PMD")
	works "$name: portool starts" portool_start po --vdev=net_tapbatch0,iface=t0,engine=vhost ||
		return 0
	ok "$name: the port opens" po po open 0
	ok "$name: and starts" po po start 0
	po po raw k t0 >/dev/null
	ok "$name: frames go out" po po out 0 k 60 1514 step=97
	ok "$name: frames come in" po po in 0 k 60 1514 step=97
	ok "$name: packets in 96 pieces of memory that DPDK was not told of" po po extbuf 0 k
	for i in 1 2; do
		[[ $name != *hugepages* ]] || before=$(free_pages)
		answer=$(po po pool 0 k 20000) || diag "$answer"
		like "$name: packets from a mempool that is made while it runs ($i)" "$answer" '= 0'
		[[ $name == *hugepages* ]] || continue
		is_between "$name: which needed new memory" \
			"$(awk '$1 == "added" { print $2 }' <<<"$answer")" 20000000 100000000
		is "$name: of which nothing is left when it is freed" \
			"$(awk '$1 == "left" { print $2 }' <<<"$answer") $(free_pages)" "0 $before"
	done
	ok "$name: frames still go out" po po out 0 k 60 1514 step=97
	ok "$name: frames still come in" po po in 0 k 60 1514 step=97

	# And for buffers to receive into.
	ok "$name: the port stops" po po stop 0
	ok "$name: opens with many mbufs" po po open 0 mbufs=9000
	ok "$name: starts" po po start 0
	ok "$name: frames come in" po po in 0 k 60 1514 step=97
	works "$name: portool quits" po_stop po || true
	rm -f "$TEST_TMP"/huge/* # EAL leaves a file for its next start
	is "$name: all hugepages are free" "$(free_pages)" "$all"
}

PORTOOL_MB=32
with_memory "anonymous hugepages" --in-memory
with_memory "hugepages in files" --huge-dir="$TEST_TMP/huge" --file-prefix=po --huge-unlink=always
with_memory "hugepages in one file" --huge-dir="$TEST_TMP/huge" --file-prefix=po \
	--single-file-segments
PORTOOL_MB=200
with_memory "fixed memory" --no-huge --no-shconf
done_testing
