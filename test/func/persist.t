#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# persist=1 leaves the interface behind, for its owner and group; txqlen is the
# kernel's; without persist nothing stays, also when the application is killed, and
# another one can have the interface at once.
# timeout: 60
. "$(dirname "$0")/lib.sh"
quiet_ipv6

works "portool starts" portool_start po \
	--vdev=net_tapbatch0,iface=p0,persist=1,owner=1234,group=4321,txqlen=77 || exit 1
is "txqlen" "$(cat /sys/class/net/p0/tx_queue_len)" 77
ok "the port opens" po po open 0 rxq=2 txq=2
ok "and starts" po po start 0
works "portool quits" po_stop po || true
ok "the interface is there" test -e /sys/class/net/p0
is "its owner" "$(cat /sys/class/net/p0/owner)" 1234
is "its group" "$(cat /sys/class/net/p0/group)" 4321
is "nothing is attached: offloads are off" \
	"$(ethtool -k p0 | awk '/^tcp-segmentation-offload/ { print $2 }')" off
ok "it has no carrier" eval 'ip link set dev p0 up && ip -o link show dev p0 | grep -q NO-CARRIER'

works "portool starts again" portool_start po --vdev=net_tapbatch0,iface=p0 || exit 1
ok "attaches to it" po po open 0 rxq=2 txq=2
ok "and starts" po po start 0
works "portool quits" po_stop po || true
ok "it is still there" test -e /sys/class/net/p0
ip link del p0

works "portool starts" portool_start po --vdev=net_tapbatch0,iface=k0 || exit 1
po po open 0 >/dev/null
po po start 0 >/dev/null
job_kill po 2>/dev/null || true
ok "killed, it leaves no interface" wait_for 5 test ! -e /sys/class/net/k0

# The kernel takes down the rings of a killed process, and with them its hold on the queues,
# only after its end; one that attaches then has to wait, not to fail.
works "portool starts" portool_start po || exit 1
for persist in 0 1; do
	refused=''
	for i in {1..12}; do
		works "another starts ($persist, $i)" portool_start killed || exit 1
		po killed probe "net_tapbatch0,iface=k1,engine=uring,persist=$persist" >/dev/null &&
			po killed open 0 rxq=2 txq=2 >/dev/null && po killed start 0 >/dev/null ||
			refused+="$i "
		job_kill killed 2>/dev/null || true
		po po probe net_tapbatch0,iface=k1 >/dev/null || refused+="$i:again "
		po po open 0 >/dev/null && po po unplug 0 >/dev/null || refused+="$i:close "
	done
	is "what a killed process held is had at once, persist=$persist" "$refused" ""
	is "and stays only with persist=1" "$(ls /sys/class/net | grep -c '^k1$' || true)" "$persist"
done
works "portool quits" po_stop po || true
ip link del k1

works "portool starts without a name" portool_start po --vdev=net_tapbatch0 --vdev=net_tapbatch1 || exit 1
ok "interfaces get names" test -e /sys/class/net/tapb0 -a -e /sys/class/net/tapb1
works "portool quits" po_stop po || true
done_testing
