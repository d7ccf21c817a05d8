#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Device argument remote when others have a hand in it: what is theirs stays, a failure
# changes nothing, and the remote is left as it was.
# timeout: 100
. "$(dirname "$0")/lib.sh"
quiet_ipv6
netns_add left other
qdiscs() { tc qdisc show dev "$1" ingress | grep -c ingress || true; }
filters() { tc filter show dev "$1" ingress | grep -c mirred || true; }
mac() { cat "/sys/class/net/$1/address"; }
mtu() { cat "/sys/class/net/$1/mtu"; }
mtus() { cat /sys/class/net/{t0,r0}/mtu | sort -u; }
both_have() { [ "$(mtus)" = "$1" ]; }
is_up() { ip -o link show dev "$1" up | grep -c . || true; }
seen() { grep -q -E "$2" <<<"$(po po "$1")"; } # seen COMMAND TEXT
log_has() { grep -q -E "$1" "$TEST_TMP/po.log"; }
# plug DEVARGS [OPEN-ARGUMENT...]: port 0, opened, not started
plug() { po po probe "net_tapbatch0,iface=t0,$1" && po po open 0 lsc=1 rmv=1 "${@:2}"; }
host_pings() { in_ns left ping -q -c 5 -i 0.01 -W 1 10.0.0.2; }
# refuses NAME REGEX COMMAND...: portool's command fails, and says so
refuses() {
	local status=0 text
	text=$(po po "${@:3}") || status=$?
	if [ "$status" -ne 0 ]; then like "$1" "$text" "$2"; else fail "$1" "expected: a failure"; fi
}
new_remote() {
	ip link add r0 index 50 mtu 4000 type veth peer name eth0 mtu 4000 netns left
	ip -n left addr add 10.0.0.1/24 dev eth0
	ip -n left link set dev eth0 up
}
new_remote
before=$(mac r0)
PORTOOL_MB=200
works "portool starts" portool_start po || exit 1
PO_SECONDS=8

# As it was: down, MTU 4000, its address.
ok "a port with its own address" plug remote=r0,mac=02:00:00:00:00:55 mtu=1500
ok "starts" po po start 0
is "the remote is up" "$(is_up r0)" 1
is "and has the port's MTU" "$(mtu r0)" 1500
is "and its address" "$(mac r0)" 02:00:00:00:00:55
ok "the link is up" wait_for 5 seen "link 0" "^up"
ok "the port closes" po po unplug 0
is "the remote is down again, with its MTU, and its address" \
	"$(is_up r0) $(mtu r0) $(mac r0)" "0 4000 $before"
ok "a port again" plug remote=r0,mac=02:00:00:00:00:55 mtu=1500
ok "starts" po po start 0
ok "and stops" po po stop 0
ip link set dev r0 mtu 1600
ip link set dev r0 address 02:00:00:00:00:66
ok "it closes" po po unplug 0
is "what somebody else set meanwhile stays" "$(mtu r0) $(mac r0)" "1600 02:00:00:00:00:66"
ip link set dev r0 address "$before" mtu 4000 up

# Qdiscs and filters of others.
tc qdisc add dev r0 ingress
tc filter add dev r0 ingress pref 10 protocol ip u32 match ip dst 10.9.9.9 flowid 1:1
works "a second portool starts" portool_start killed || exit 1
ok "with the remote" po killed probe net_tapbatch0,iface=t0,remote=r0
ok "and opens" po killed open 0
ok "and redirects" po killed start 0
refuses "a remote that serves a port is refused" 'remote=r0 already serves interface t0' \
	probe net_tapbatch1,iface=t1,remote=r0
is "that one keeps it" "$(tc filter show dev r0 ingress | grep -c 'to device t0')" 2
kill -KILL "${JOB_PID[killed]}"
job_wait killed || true
ok "after a kill: a port with this remote" plug remote=r0
ok "after a kill: starts" po po start 0
is "after a kill: the old filters are gone" "$(filters r0)" 2
ok "after a kill: stops" po po stop 0
is "after a kill: somebody else's qdisc stays" "$(qdiscs r0)" 1
like "after a kill: and filter" "$(tc filter show dev r0 ingress)" 'pref 10 '
is "after a kill: ours go" "$(filters r0)" 0
tc qdisc del dev r0 ingress
ok "starts with a qdisc of its own" po po start 0
tc filter add dev r0 ingress pref 10 protocol ip u32 match ip dst 10.9.9.9 flowid 1:1
ok "stops" po po stop 0
like "a filter that came meanwhile stays" "$(tc filter show dev r0 ingress)" 'pref 10 '
tc qdisc del dev r0 ingress
tc qdisc add dev r0 ingress
tc filter add dev r0 ingress pref 42161 protocol all u32 match u32 0 0 flowid 1:1
refuses "somebody else's filter with our preference is refused" \
	'remote=r0 has a filter of preference' start 0
is "and stays" "$(tc filter show dev r0 ingress | grep -c 'flowid 1:1')" 1
tc qdisc del dev r0 ingress
is "nor is anything left on the port's interface" "$(qdiscs t0)" 0
tc qdisc add dev r0 ingress_block 22 ingress
refuses "a qdisc that shares its filters is refused" 'remote=r0 cannot be redirected.*shares' start 0
is "nothing is left on the port's interface" "$(qdiscs t0)" 0
tc qdisc del dev r0 ingress
ok "without it the port starts" po po start 0
ok "a second port of the same process" po po probe net_tapbatch1,iface=t1 || true
ok "goes" po po unplug 1

# MTU and address, set by others.
ip link set dev r0 mtu 1400
ok "MTU, by the administrator, on the remote: the port and its interface have it" \
	wait_for 5 eval 'seen "mtu 0" "^1400" && both_have 1400'
ip link set dev t0 mtu 1450
ok "MTU, by the administrator, on the port's interface: the port and the remote have it" \
	wait_for 5 eval 'seen "mtu 0" "^1450" && both_have 1450'
ok "MTU, by the application" po po mtu 0 1500
ok "both have it" both_have 1500
ip link set dev r0 address 02:00:00:00:00:66
ok "an address, by the administrator: a notice" wait_for 5 \
	log_has "remote=r0 was changed to 02:00:00:00:00:66"
ok "the address, by the application" po po mac_set 0 "$before"
is "is the remote's again" "$(mac r0)" "$before"

# The remote's link is the port's.
po po events >/dev/null
ip link set dev r0 down
ok "the remote down: so is the link" wait_for 5 seen "link 0" "^down"
ok "an event tells" seen events "lsc [1-9]"
is "packets sent are counted as errors" \
	"$(po_value po tx 0 0 10 100 taken) $(po_value po stats 0 oerrors)" "10 10"
ip link set dev r0 up
ok "and up" wait_for 5 seen "link 0" "^up"
ip -n left link set dev eth0 down
ok "no carrier: the link is down" wait_for 5 seen "link 0" "^down"
ip -n left link set dev eth0 up
ok "carrier: it is up" wait_for 5 seen "link 0" "^up"
got=$(in_ns left cat /sys/class/net/eth0/statistics/rx_packets)
po po tx 0 0 10 100 >/dev/null
arrived() { [ "$(in_ns left cat /sys/class/net/eth0/statistics/rx_packets)" -gt "$got" ]; }
ok "packets arrive" arrived
tc qdisc add dev r0 root bfifo limit 1
dropped=$(po_value po xstats 0 tx_kernel_dropped)
po po tx 0 0 1 100 >/dev/null
is "a frame that the remote has no room for is counted" \
	"$(po_value po xstats 0 tx_kernel_dropped)" $((dropped + 1))
tc qdisc del dev r0 root
po po reset 0 >/dev/null
is "from the last reset on" "$(po_value po xstats 0 tx_kernel_dropped)" 0

ip link add br0 type bridge
ip link set dev r0 master br0
ip link set dev r0 nomaster
ip link del br0
sleep 0.1
like "a remote that leaves a bridge is still there" "$(po po link 0)" "^up"

# The port's interface moves while started.
mtu=$(mtu r0)
ip addr add 10.0.0.2/24 dev r0
ip link set dev t0 netns other
ok "the port's interface moves: the remote is released" wait_for 5 log_has 'remote=r0 is released'
ok "the host has its traffic" host_pings
ip -n other link set dev t0 up
sleep 0.1
like "the link is down" "$(po po link 0)" "^down"
is "packets sent are counted as errors" \
	"$(po_value po tx 0 0 10 100 taken) $(po_value po stats 0 oerrors)" "10 10"
is_between "and none is counted backwards" "$(po_value po xstats 0 tx_kernel_dropped)" 0 1000
ok "the port stops" po po stop 0
ip link set dev r0 mtu 3000
refuses "a remote in another namespace is refused" \
	'remote=r0 is not in the network namespace of the port' start 0
is "and is as it was" "$(qdiscs r0) $(filters r0) $(mtu r0)" "0 0 3000"
ip link set dev r0 mtu "$mtu"
ip -n other link set dev t0 netns 1 || ip -n other link set dev t0 netns $$
ok "back, it starts" po po start 0
ok "the link is up" wait_for 5 seen "link 0" "^up"
ok "the port closes" po po unplug 0
ip link set dev r0 address "$before" mtu 4000

# An index is another interface's in another namespace.
ip link add victim index 61 type veth peer name victim2
ip link set dev victim up
ok "a port" plug remote=r0
ip link set dev t0 netns other index 61
refuses "its interface moved to the index of a third one: it is refused" 'remote=r0 is not in' start 0
is "the third one has no qdisc" "$(qdiscs victim)" 0
ok "the port closes" po po unplug 0
ip link del victim

# The port's interface is deleted.
ok "a port" plug remote=r0
ok "starts" po po start 0
ip link del t0
ok "its interface deleted: the remote is released" wait_for 5 eval '[ "$(filters r0)" -eq 0 ]'
ok "the host has its traffic" host_pings
refuses "an MTU is refused" 'MTU cannot be set to 1300' mtu 0 1300
refuses "an address is refused" 'address 02:00:00:00:00:42 cannot be set' mac_set 0 02:00:00:00:00:42
is "the remote has not got them" "$(mtu r0) $(mac r0)" "1500 $before"
ok "the port stops" po po stop 0
refuses "and does not start" 'remote=r0 cannot be redirected' start 0
ok "the port closes" po po unplug 0
is "the remote has its MTU again" "$(mtu r0)" 4000

# An interface that outlives its process.
works "a portool starts" portool_start killed || exit 1
ok "with a persistent interface" po killed probe net_tapbatch0,iface=t0,remote=r0,persist=1
ok "opens" po killed open 0
ok "and redirects" po killed start 0
kill -KILL "${JOB_PID[killed]}"
job_wait killed || true
is "after a kill: both have qdiscs" "$(qdiscs r0) $(qdiscs t0)" "1 1"
refuses "another interface is refused" 'remote=r0 already serves interface t0' \
	probe net_tapbatch1,iface=t1,remote=r0
ok "the same one is not" plug remote=r0
ok "it starts" po po start 0
ok "and closes" po po unplug 0
is "no qdisc is left" "$(qdiscs r0) $(qdiscs t0)" "0 0"
ip link del t0
ip link set dev r0 mtu 4000

# A remote that refuses: a macvlan has at most the MTU of what it lies on.
ip link add r1 link r0 type macvlan
ok "a port with a remote of limited MTU" plug remote=r1 mtu=4000 room=9000
ok "starts" po po start 0
refuses "an MTU that the remote refuses" 'remote=r1 does not take .*MTU, 5000' mtu 0 5000
is "changes nothing" "$(mtu t0) $(mtu r1)" "4000 4000"
ok "nor the port's" seen "mtu 0" "^4000"
ip link set dev t0 mtu 5000
ok "set by the administrator on the port's interface, it is put back" \
	wait_for 5 eval '[ "$(mtu t0) $(mtu r1)" = "4000 4000" ]'
refuses "an address that the remote refuses" 'remote=r1 does not take .*address' \
	mac_set 0 "$before"
is "changes nothing" "$(mac t0)" "$(mac r1)"
ok "the port closes" po po unplug 0
ip link del r1

# The remote vanishes.
ok "a port" plug remote=r0
ok "starts" po po start 0
ok "the link is up" wait_for 5 seen "link 0" "^up"
po po events >/dev/null
had=$(mtu t0)-$(mac t0)
ip link del r0
ok "the remote deleted: the link is down" wait_for 5 seen "link 0" "^down"
ok "an event tells" seen events "lsc [1-9]"
ok "and a notice" log_has 'port 0: remote=r0 is gone'
is "packets sent are counted as errors" \
	"$(po_value po tx 0 0 10 100 taken) $(po_value po stats 0 oerrors)" "10 10"
refuses "an MTU is refused" 'remote=r0 does not take .*: No such device' mtu 0 1300
refuses "an address is refused" 'remote=r0 does not take .*: No such device' \
	mac_set 0 02:00:00:00:00:42
is "nothing has changed" "$(mtu t0)-$(mac t0)" "$had"
new_remote # another one of the name and index
ip link set dev r0 up
like "another interface of the name is none of ours" "$(po po link 0)" "^down"
ok "the port stops" po po stop 0
refuses "and does not start" 'remote=r0 cannot be used: No such device' start 0
ok "it closes" po po unplug 0
is "the other interface has no qdisc" "$(qdiscs r0)" 0
refuses "the port's own interface is refused" "remote=t0 is the port's own" \
	probe net_tapbatch0,iface=t0,remote=t0
works "portool quits" po_stop po || true
ip link del r0
done_testing
