#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Device argument remote: a port captures from another interface and sends through it,
# has its address and MTU, and leaves it as it was.
# timeout: 120
. "$(dirname "$0")/lib.sh"
quiet_ipv6
netns_add left right

# far_side NAMESPACE NUMBER MTU: a veth whose end "r-NAMESPACE" is here.
far_side() {
	ip link add "r-$1" mtu "$3" type veth peer name eth0 mtu "$3" netns "$1"
	ip link set dev "r-$1" up
	ip -n "$1" addr add "10.0.0.$2/24" dev eth0
	ip -n "$1" link set dev eth0 up
}
filters() { tc filter show dev "$1" ingress | grep -c mirred || true; }
mac() { cat "/sys/class/net/$1/address"; }
promiscuity() { ip -d link show dev "$1" | sed -n 's/.*promiscuity \([0-9]*\).*/\1/p'; }

far_side left 1 4000
far_side right 2 4000
before=$(mac r-left)

works "portool starts" portool_start po --vdev=net_tapbatch0,iface=t0,remote=r-left || exit 1
is "a new port has the remote's MTU" "$(po po mtu 0 | grep -x '[0-9]*')" 4000
works "portool quits" po_stop po || true

works "testpmd starts" testpmd_start echo --vdev=net_tapbatch0,iface=t0,remote=r-left -- \
	--forward-mode=icmpecho --auto-start || exit 1
is "the port's interface has the remote's address" "$(mac t0)" "$before"
is "their MTU is the application's" "$(cat /sys/class/net/{t0,r-left}/mtu | sort -u)" 1500
ok "the port answers what the remote receives" pings left 10.0.0.9
is "in promiscuous mode the remote is so" "$(promiscuity r-left)" 1
testpmd echo "set promisc 0 off" >/dev/null
is "and no longer" "$(promiscuity r-left)" 0
ok "the port answers without it" pings left 10.0.0.9
testpmd echo "set allmulti 0 on" >/dev/null
like "all multicast goes to the remote" "$(ip -d link show dev r-left)" 'allmulti 1'
testpmd echo "mac_addr add 0 02:00:00:00:00:77" >/dev/null
ip -n left neigh add 10.0.0.8 lladdr 02:00:00:00:00:77 dev eth0
ok "another address of the port's works" pings left 10.0.0.8
testpmd echo "stop" >/dev/null
testpmd echo "mac_addr set 0 02:00:00:00:00:99" >/dev/null
is "the remote takes the port's new address" "$(mac r-left)" 02:00:00:00:00:99
testpmd echo "start" >/dev/null
ip -n left neigh replace 10.0.0.9 lladdr 02:00:00:00:00:99 dev eth0
ok "which works" pings left 10.0.0.9
testpmd echo "stop" >/dev/null
testpmd echo "port stop 0" >/dev/null
is "a stopped port redirects nothing" "$(filters r-left)" 0
ip addr add 10.0.0.3/24 dev r-left
ok "the remote is the host's again" pings left 10.0.0.3
testpmd echo "port config mtu 0 1800" >/dev/null
is "the remote's MTU follows the port's" "$(cat /sys/class/net/r-left/mtu)" 1800
testpmd echo "port start 0" >/dev/null
is "a started one does again" "$(filters r-left)" 2

kill -KILL "${JOB_PID[echo]}"
job_wait echo || true
works "after a kill: testpmd starts" testpmd_start echo --vdev=net_tapbatch0,iface=t0,remote=r-left \
	-- --forward-mode=icmpecho --auto-start || exit 1
ok "after a kill: the port answers" pings left 10.0.0.9
is "after a kill: nothing is redirected twice" "$(filters r-left)" 2
works "testpmd quits" testpmd_stop echo || true
is "it leaves no filter" "$(filters r-left)" 0
like "and no modes" "$(ip -d link show dev r-left)" 'promiscuity 0.*allmulti 0'
ip addr del 10.0.0.3/24 dev r-left

tc qdisc replace dev r-right clsact
works "two remotes: testpmd starts" testpmd_start fwd --vdev=net_tapbatch0,iface=t0,remote=r-left \
	--vdev=net_tapbatch1,iface=t1,remote=r-right,mac=02:00:00:00:00:55 -- --auto-start \
	--enable-lro --tx-offloads=0x802e --max-pkt-len=4018 --enable-scatter || exit 1
is "the remote takes an address that is given" "$(mac r-right)" 02:00:00:00:00:55
ok "ping" pings left 10.0.0.2 -s 3900
iperf_server right
ok "TCP" moves_tcp left 10.0.0.2 200
ok "TCP back" moves_tcp left 10.0.0.2 200 -R
ok "UDP" moves_udp left 10.0.0.2
works "testpmd quits" testpmd_stop fwd || true
like "a qdisc that was there stays" "$(tc qdisc show dev r-right)" clsact
is "an own one goes" "$(tc qdisc show dev r-left | grep -c ingress)" 0

# refused NAME DEVARGS REGEX
refused() {
	testpmd_start none "--vdev=net_tapbatch0,iface=t0,$2" >/dev/null || true
	like "$1 is refused" "$(job_log none)" "$3"
	job_kill none || true
}
refused "no interface" remote=nosuch 'remote=nosuch: No such device'
refused "no Ethernet" remote=lo 'remote=lo: is no Ethernet interface'
refused "tun" type=tun,remote=r-left 'remote=r-left needs type=tap'
ip link del r-left
ip link del r-right
done_testing
