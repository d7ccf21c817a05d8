#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The interface is moved to another namespace, renamed, deleted while the port runs:
# traffic goes on, control finds it, and its end is told once.
# timeout: 60
. "$(dirname "$0")/lib.sh"
quiet_ipv6
seen() { grep -q -E "$2" <<<"$(po po "$1")"; } # seen COMMAND TEXT

netns_add other third
for engine in $ENGINES; do
	works "$engine: portool starts" portool_start po --vdev="net_tapbatch0,iface=t0,engine=$engine" || exit 1
	po po events >/dev/null
	ok "$engine: the port opens" po po open 0 lsc=1 rmv=1 rxq=2 txq=2
	ok "$engine: and starts" po po start 0
	ip link set dev t0 netns other
	in_ns other sysctl -qw net.ipv6.conf.all.disable_ipv6=1
	ip -n other link set dev t0 up
	ok "$engine: the link is up in the other namespace" wait_for 5 seen "link 0" "^up"
	ip -n other addr add 10.0.0.1/24 dev t0
	ip -n other neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev t0
	in_ns other ping -q -c 5 -i 0.01 -W 1 10.0.0.2 >/dev/null || true
	got=$(($(po_value po rx 0 0 5 ms=50 received) + $(po_value po rx 0 1 5 ms=50 received)))
	is "$engine: traffic goes on" "$got" 5
	ok "$engine: MTU, by the application" po po mtu 0 1400
	is "$engine: is the interface's" "$(in_ns other cat /sys/class/net/t0/mtu)" 1400
	ip -n other link set dev t0 mtu 1300
	ok "$engine: MTU, by the administrator, is the port's" wait_for 5 seen "mtu 0" "^1300"
	ip -n other link set dev t0 down
	ok "$engine: link down is seen" wait_for 5 seen "link 0" "^down"
	ok "$engine: and told" seen events "lsc [1-9]"
	ip -n other link set dev t0 up
	ok "$engine: link up is seen" wait_for 5 seen "link 0" "^up"
	ok "$engine: statistics" po po stats 0
	ok "$engine: another address" po po mac_set 0 02:00:00:00:00:99
	is "$engine: is the interface's" "$(in_ns other cat /sys/class/net/t0/address)" 02:00:00:00:00:99

	ip -n other link set dev t0 down
	ip -n other link set dev t0 name renamed
	ip -n other link set dev renamed up
	ok "$engine: renamed, the link is up" wait_for 5 seen "link 0" "^up"
	ok "$engine: MTU, by the application" po po mtu 0 1450
	is "$engine: is the renamed interface's" "$(in_ns other cat /sys/class/net/renamed/mtu)" 1450
	# Another one of the old name is none of ours.
	ip link add t0 mtu 1111 type veth peer name t1
	ok "$engine: the port stops" po po stop 0
	ok "$engine: has more queues" po po open 0 rxq=4 txq=4 lsc=1 rmv=1 mtu=1450
	ok "$engine: and starts again" po po start 0
	is "$engine: of the renamed interface" "$(in_ns other find /sys/class/net/renamed/queues -name 'rx-*' | wc -l)" 4
	is "$engine: the one of the old name is as it was" "$(cat /sys/class/net/t0/mtu)" 1111
	ip link del t0
	ip -n other link set dev renamed netns third name back
	ip -n third link set dev back up
	ok "$engine: moved again, and renamed, the link is up" wait_for 5 seen "link 0" "^up"
	ok "$engine: MTU, by the application" po po mtu 0 1350
	is "$engine: is the interface's" "$(in_ns third cat /sys/class/net/back/mtu)" 1350

	po po events >/dev/null
	for queue in 0 1; do
		po po rx 0 $queue 10 ms=20 >/dev/null # what came before
	done
	ip -n third link del back
	ok "$engine: deleted: an event" wait_for 5 seen events "rmv 1"
	is "$engine: once" "$(po_value po events rmv)" 0
	like "$engine: the link is down" "$(po po link 0)" "^down"
	is "$engine: nothing is received" "$(po_value po rx 0 0 10 ms=50 received)" 0
	taken=$(po_value po tx 0 0 10 100 taken)
	is "$engine: packets are taken, and counted as errors" "$taken $(po_value po stats 0 oerrors)" "10 10"
	ok "$engine: an MTU is refused" eval '! po po mtu 0 1400'
	cpu() { awk '{ print $14 + $15 }' "/proc/${JOB_PID[po]}/stat"; }
	before=$(cpu)
	sleep 0.5
	is_between "$engine: nothing spins" $(($(cpu) - before)) 0 5
	ok "$engine: the port stops" po po stop 0
	ok "$engine: and closes" po po close 0
	works "$engine: portool quits" po_stop po || true
done

# testpmd forwards on when one of its interfaces vanishes.
netns_add left right
works "testpmd starts" forward_start ''
ip -n left link del left
ok "testpmd goes on" wait_for 10 forward_goes_on
ok "and still answers" testpmd fwd "show port info all"
works "and quits" testpmd_stop fwd || true
done_testing
