#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What ethdev promises to applications, where it is easily missed: restarts, ports that
# are unplugged or fail half-way, link up and down, memory of other kinds.
# timeout: 60
. "$(dirname "$0")/lib.sh"
quiet_ipv6
netns_add away
own() { po_value po pinned_own 0 own; }
fds() { po_value po usage fds; }
link_is() { po po link 0 | grep -q "^$1"; }
passes() { # passes MAC: how many of 5 frames for it arrive
	po po flood k 5 100 mac="$1" >/dev/null
	po_value po rx 0 0 5 ms=100 received
}

works "portool starts" portool_start po --vdev=net_tapbatch0,iface=t0 || exit 1
ok "the port opens" po po open 0 promisc=0
ok "a second address" po po mac_add 0 02:00:00:00:00:77
for _ in {1..20}; do
	po po start 0 >/dev/null
	po po stop 0 >/dev/null
done
ok "the port starts after 20 restarts" po po start 0
ok "a third address: restarts have not used up their room" po po mac_add 0 02:00:00:00:00:78
ok "the second address is taken away" po po mac_del 0 02:00:00:00:00:77
po po raw k t0 >/dev/null
is "its frames do not come" "$(passes 02:00:00:00:00:77)" 0
is "those of the third do" "$(passes 02:00:00:00:00:78)" 5
ip link set dev t0 address 02:00:00:00:00:aa
ok "the port stops" po po stop 0
ip link set dev t0 mtu 1300
ok "an MTU set while it is stopped is the port's" wait_for 5 eval 'po po mtu 0 | grep -qx 1300'
ok "the port starts" po po start 0
is "and has the MTU still" "$(cat /sys/class/net/t0/mtu)" 1300
is "and the interface the address it was given" "$(cat /sys/class/net/t0/address)" 02:00:00:00:00:aa
ip link set dev t0 mtu 1500

# Link.
ok "link down" po po link 0 down
po po reset 0 >/dev/null
po po drain k >/dev/null
is "what is sent then is taken" "$(po_value po tx 0 0 20 100 taken)" 20
is "goes nowhere" "$(po_value po drain k drained)" 0
is "and is counted" "$(po_value po xstats 0 tx_q0_link_down tx_q0_link_down)" 20
ok "link up" po po link 0 up
is "what is sent then" "$(po_value po tx 0 0 20 100 burst=1 taken)" 20
is "comes" "$(po_value po drain k drained)" 20
ip link set dev t0 down
ok "link up when an administrator has set the interface down" po po link 0 up
ok "the link is up" link_is up
ok "the port stops" po po stop 0
ok "opens with a link interrupt" po po open 0 lsc=1
ok "starts" po po start 0
ok "its link is up" wait_for 5 link_is up
ok "link down" po po link 0 down
ok "is seen at once" link_is down
ok "link up" po po link 0 up
ok "is seen at once" link_is up

# The interface moves, and a control call is the first to notice.
ok "the interrupt thread is busy" po po intr_busy 500
ip link set dev t0 netns away
ok "statistics are asked for" po po stats 0
ip -n away link set dev t0 up mtu 1234
ok "the new MTU is the port's" wait_for 5 eval 'po po mtu 0 | grep -qx 1234'
po po events >/dev/null
ip -n away link del t0
ok "removal is told" wait_for 5 eval 'po po events | grep -q "rmv [1-9]"'
po po reset 0 >/dev/null
po po rx 0 0 100 ms=50 >/dev/null
is "polling what is gone counts no errors" "$(po_value po stats 0 ierrors)" 0
ok "the port is unplugged" po po unplug 0

# Nothing is left of ports that end in the middle.
po po probe net_tapbatch1,iface=t1 >/dev/null
po po unplug 0 >/dev/null
before=$(fds)
for _ in 1 2 3; do
	po po probe net_tapbatch1,iface=t1 >/dev/null
	po po open 0 rxq=4 txq=4 intr=1 >/dev/null
	po po start 0 >/dev/null
	po po unplug 0 >/dev/null
done
is "unplugged while started, ports leave no descriptors" "$(fds)" "$before"
for _ in 1 2 3; do
	po po probe net_tapbatch1,iface=t1 >/dev/null
	po po open 0 rxq=4 txq=4 intr=1 >/dev/null
	ip link del t1
	if po po start 0 >/dev/null; then fail "a port without interface does not start"; fi
	po po unplug 0 >/dev/null
done
is "started in vain, ports leave no descriptors" "$(fds)" "$before"
ok "what can't be, does not start" eval '! po po probe net_tapbatch1,iface=t1,persist=1,remote=nosuch'
ok "and leaves no interface, though persistent" test ! -e /sys/class/net/t1

# An application that closes a port when it is told that its interface is gone.
po po probe net_tapbatch1,iface=t1 >/dev/null
po po open 0 rmv=1 >/dev/null
po po start 0 >/dev/null
po po events close=1 >/dev/null
ip link del t1
ok "a port may be closed in the callback of the event" wait_for 5 eval 'po po events | grep -q "rmv 1"'
is "it is gone" "$(po po ports | grep -c net_ || true)" 0
is "and leaves no descriptors" "$(fds)" "$before"

# Mempools with external buffers.
ok "a port probes" po po probe net_tapbatch2,iface=t1
ok "opens with mbufs that have external buffers for good" \
	po po open 0 rx=lro,scatter maxlro=65535 mbufs=512 pinned=1
ok "starts" po po start 0
po po raw k1 t1 vnet=1 >/dev/null
for _ in 1 2 3; do
	ok "a superframe comes" po po super 0 k1 tcp4 20000 1400
done
po po stop 0 >/dev/null
is "all mbufs have their buffers still" "$(own)" 512
ok "the port is unplugged" po po unplug 0

# io_uring is taken away.
ok "a port probes" po po probe net_tapbatch2,iface=t1,engine=uring,coalesce=none
ok "opens" po po open 0
ok "starts" po po start 0
po po raw k2 t1 >/dev/null
ok "frames pass" po po out 0 k2 60 200
ok "io_uring_enter() fails from now on" po po forbid_uring
ok "frames pass to the kernel" po po out 0 k2 60 400
ok "and from it" po po in 0 k2 60 400
like "it is said" "$(job_log po)" 'the queue goes on with system calls'
works "portool quits" po_stop po || true
done_testing
