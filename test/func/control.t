#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What controls a port does the same to its interface, and the other way round: link,
# MTU, addresses, filters, statistics.
# timeout: 60
. "$(dirname "$0")/lib.sh"
quiet_ipv6
flag() { grep -q "$1" <<<"$(ip -o link show dev "$2")"; }
seen() { grep -q "$2" <<<"$(po po "$1")"; } # seen COMMAND TEXT

works "portool starts" portool_start po --vdev=net_tapbatch0,iface=t0,engine=rw \
	--vdev=net_tapbatch1,iface=t1,mac=fixed --vdev=net_tapbatch2,iface=t2,mac=02:00:00:12:34:56 ||
	exit 1
po po events >/dev/null
ok "the port opens, with a link interrupt" po po open 0 lsc=1 promisc=0

info=$(po po info 0)
like "the driver's name" "$info" "driver net_tapbatch"
like "ifindex" "$info" "if_index $(cat /sys/class/net/t0/ifindex)"
like "256 queues at most" "$info" "max_rx_queues 256"
like "burst mode names the engine" "$info" "rx_burst_mode .*rw"
like "burst mode of Tx, too" "$info" "tx_burst_mode .*rw"

ip link set dev t0 up
ok "before the start the interface has no carrier" flag NO-CARRIER t0
ok "the port starts" po po start 0
ok "then it has" flag LOWER_UP t0
like "link is up" "$(po po link 0)" "up [0-9]+ full"
po po events >/dev/null
ok "link down, by the application" po po link 0 down
ok "is seen by the kernel" wait_for 5 flag NO-CARRIER t0
like "and by the application" "$(po po link 0)" "down"
ok "link up again" po po link 0 up
ok "is seen by the kernel" wait_for 5 flag LOWER_UP t0
sleep 0.1
po po events >/dev/null
ethtool -s t0 speed 25000
ip link set dev t0 down
ok "link down, by the administrator: an event" wait_for 5 seen events "lsc [1-9]"
like "and the link is down" "$(po po link 0)" "down"
taken=$(po_value po tx 0 0 10 100 taken)
is "packets sent meanwhile are taken" "$taken" 10
is "and counted as errors" "$(po_value po stats 0 oerrors)" 10
ip link set dev t0 up
ok "link up: an event" wait_for 5 seen events "lsc [1-9]"
like "and the link is up, with the interface's speed" "$(po po link 0)" "up 25000"

ok "MTU 1000, by the application" po po mtu 0 1000
is "is the interface's" "$(cat /sys/class/net/t0/mtu)" 1000
ip link set dev t0 mtu 1300
ok "MTU 1300, by the administrator, is the port's" wait_for 5 seen "mtu 0" '^1300'
ok "an MTU that mbufs have no room for is refused" eval '! po po mtu 0 4000'
like "and it is said why" "$(job_log po)" "room for packets of 2048 bytes, an MTU of 4000 needs"
is "and nothing has changed" "$(cat /sys/class/net/t0/mtu)" 1300
ok "an MTU below IPv4's is refused" eval '! po po mtu 0 20'
ok "MTU 1500" po po mtu 0 1500
po po raw k0 t0 vnet=1 >/dev/null
po po promisc 0 on >/dev/null
ok "a superframe is no longer than the MTU, so to speak" po po super 0 k0 tcp4 60000 1400

# Filters: promiscuous mode is off.
mac=$(cat /sys/class/net/t0/address)
is "the address is the interface's" "$(po po mac_get 0 | head -n 1 | tr A-F a-f)" "$mac"
passes() { # passes MAC: how many of 5 frames for it arrive
	po po flood k0 5 100 mac="$1" >/dev/null
	po_value po rx 0 0 5 ms=100 received
}
po po promisc 0 off >/dev/null
po po rx 0 0 1000 ms=50 >/dev/null
is "frames for its address" "$(passes "$mac")" 5
is "broadcast" "$(passes ff:ff:ff:ff:ff:ff)" 5
is "frames for others" "$(passes 02:00:00:00:00:77)" 0
is "are counted" "$(po_value po xstats 0 rx_q0_filtered rx_q0_filtered)" 5
is "multicast" "$(passes 01:00:5e:00:00:09)" 0
ok "a second address" po po mac_add 0 02:00:00:00:00:77
is "its frames" "$(passes 02:00:00:00:00:77)" 5
ok "is taken away" po po mac_del 0 02:00:00:00:00:77
is "its frames then" "$(passes 02:00:00:00:00:77)" 0
ok "a multicast list" po po mc_list 0 01:00:5e:00:00:09 33:33:00:00:00:01
is "frames of the list" "$(passes 01:00:5e:00:00:09)" 5
is "other multicast" "$(passes 01:00:5e:00:00:0a)" 0
ok "all multicast" po po allmulti 0 on
is "other multicast then" "$(passes 01:00:5e:00:00:0a)" 5
po po allmulti 0 off >/dev/null
ok "promiscuous" po po promisc 0 on
is "frames for others then" "$(passes 02:00:00:00:00:78)" 5
po po promisc 0 off >/dev/null
ok "another address" po po mac_set 0 02:00:00:00:00:55
is "is the interface's" "$(cat /sys/class/net/t0/address)" 02:00:00:00:00:55
is "its frames" "$(passes 02:00:00:00:00:55)" 5
is "those of the old one" "$(passes "$mac")" 0
like "mac=fixed" "$(cat /sys/class/net/t1/address)" "^02:74:61:70:62"
is "mac=ADDRESS" "$(cat /sys/class/net/t2/address)" 02:00:00:12:34:56

# Statistics.
po po rx 0 0 1000 ms=50 >/dev/null
ok "statistics are reset" po po reset 0
is "to 0" "$(po po stats 0 | awk '$1 != "=" { n += $2 } END { print n }')" 0
po po flood k0 20 100 mac=02:00:00:00:00:55 >/dev/null
po po rx 0 0 20 >/dev/null
po po tx 0 0 30 100 >/dev/null
stats=$(po po stats 0)
like "received packets" "$stats" "ipackets 20"$'\n'
like "received bytes" "$stats" "ibytes 2000"$'\n'
like "sent packets" "$stats" "opackets 30"$'\n'
like "sent bytes" "$stats" "obytes 3000"$'\n'
names=$(po po xstats 0)
for name in tx_q0_superframes tx_q0_coalesced_packets tx_q0_batches rx_q0_superframes \
	rx_q0_split_packets rx_q0_batches rx_kernel_dropped; do
	is "there is one $name" "$(grep -c "^$name " <<<"$names")" 1
done
like "packets were coalesced" "$names" "tx_q0_coalesced_packets 30"

# The reader holds back: the kernel drops, and that is told.
po po reset 0 >/dev/null
po po flood k0 3000 100 mac=02:00:00:00:00:55 >/dev/null
room=$(cat /sys/class/net/t0/tx_queue_len)
received=$(po_value po rx 0 0 3000 received)
missed=$(po_value po stats 0 imissed)
is_between "what comes is what the queue has room for" "$received" $((room - 10)) "$room"
is "what the kernel dropped is missed" "$missed" $((3000 - received))
is "the same in the extended statistics" \
	"$(po_value po xstats 0 rx_kernel_dropped rx_kernel_dropped)" "$missed"
works "portool quits" po_stop po || true
done_testing
