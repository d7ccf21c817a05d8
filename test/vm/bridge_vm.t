#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Real VMs behind the bridge: one with all offloads and one with none, each with a
# tap of its own, and both on a switch. Then what goes wrong in a host's life: VMs and
# the bridge killed, pairs added and removed, all under traffic.
. "$(dirname "$0")/../tap.sh"
. "$TEST_DIR/netns.sh"
. "$TEST_DIR/vm/bridge.sh"
VM_DIR=$TEST_TMP/vm
mkdir "$VM_DIR"
. "$TEST_DIR/vm/vm.sh"
at_exit vm_cleanup

S=$TEST_TMP
vm_initramfs "$VM_DIR/guest" -m virtio_net -m af_packet -b iperf3

cat >"$S/pairs" <<END
# the pairs of this test
[pair full]
tap = full
socket = $S/full.sock
queues = 2
mtu = 9000

[pair plain]
tap = plain
socket = $S/plain.sock

[pair lan-full]
tap = lan
socket = $S/lan-full.sock
switch = on
mode = client

[pair lan-plain]
tap = lan
socket = $S/lan-plain.sock
switch = on
perm = 0640
END
cp "$S/pairs" "$S/conf"
bridge_start --config "$S/conf"
is "a socket has the mode asked for" "$(stat -c %a "$S/lan-plain.sock")" 640
is "others are the bridge's own" "$(stat -c %a "$S/full.sock")" 600
is "of root's capabilities CAP_NET_ADMIN alone is kept" \
	"$(sed -n 's/^Cap[PE][a-z]*:\t//p' /proc/$BRIDGE_PID/task/*/status | sort -u)" \
	0000000000001000

netns_add lan
ip link set dev lan netns lan
ip -n lan addr add 198.51.100.1/24 dev lan
ip -n lan -6 addr add fd01::1/64 dev lan nodad
ip -n lan link set dev lan up
host_up() {
	ip addr add 192.0.2.1/24 dev full
	ip -6 addr add fd00::1/64 dev full nodad
	ip link set dev full up
	ip addr add 203.0.113.1/24 dev plain
	ip -6 addr add fd02::1/64 dev plain nodad
	ip link set dev plain up
}
host_up

none=csum=off,gso=off,guest_csum=off,guest_tso4=off,guest_tso6=off,guest_ecn=off,guest_ufo=off
none+=,host_tso4=off,host_tso6=off,host_ecn=off,host_ufo=off,mrg_rxbuf=off,event_idx=off
start_full() {
	vm_start full -c 2 -- \
		$(vm_nic n0 "$S/full.sock" 52:54:00:00:00:01 queues=2,reconnect=1) \
		$(vm_nic n1 "$S/lan-full.sock" 52:54:00:00:00:11 server,host_tso4=off,host_tso6=off,csum=off)
}
start_plain() {
	vm_start plain -- \
		$(vm_nic n0 "$S/plain.sock" 52:54:00:00:00:02 reconnect=1,$none) \
		$(vm_nic n1 "$S/lan-plain.sock" 52:54:00:00:00:12 reconnect=1,guest_tso4=off,mrg_rxbuf=off)
}
net_full() {
	vm_wait full
	vm_run full '
		ip addr add 192.0.2.2/24 dev eth0; ip -6 addr add fd00::2/64 dev eth0
		ip addr add 198.51.100.2/24 dev eth1; ip -6 addr add fd01::2/64 dev eth1
		ip link set eth0 mtu 9000; ip link set eth0 up; ip link set eth1 up
		echo 1 >/proc/sys/net/ipv4/ip_forward
		iperf3 -s -D >/dev/null'
}
net_plain() {
	vm_wait plain
	vm_run plain '
		ip addr add 203.0.113.2/24 dev eth0; ip -6 addr add fd02::2/64 dev eth0
		ip addr add 198.51.100.3/24 dev eth1; ip -6 addr add fd01::3/64 dev eth1
		ip link set eth0 up; ip link set eth1 up
		iperf3 -s -D >/dev/null'
}
start_full
start_plain
ok "a VM with all offloads boots" net_full
ok "a VM with none boots" net_plain
all_connected() {
	local pair
	for pair in full plain lan-full lan-plain; do
		bridge_connected "$pair" || return 1
	done
}
ok "all four guests are connected" wait_for 10 all_connected

# ping NS-COMMAND ADDRESS [OPTION...]
pings() { ping -q -c 5 -i 0.05 -W 2 "$@"; }
wait_for 10 pings fd00::2 || true # until duplicate address detection is over
wait_for 10 pings fd02::2 || true
ok "host pings the VM with offloads" pings 192.0.2.2
ok "... over IPv6" pings fd00::2
ok "... with 9000 bytes" pings -M do -s 8972 192.0.2.2
ok "host pings the plain VM" pings 203.0.113.2
ok "... over IPv6" pings fd02::2
ok "... with 1500 bytes" pings -M do -s 1472 203.0.113.2
ok "the VMs ping the host" vm_run full 'ping -q -c 3 192.0.2.1'
ok "... the plain one too" vm_run plain 'ping -q -c 3 203.0.113.1'

# files BASE-NAME VM HOST-ADDRESS VM-ADDRESS: 8 MB each way
files() {
	local sum
	head -c 8000000 /dev/urandom >"$S/file"
	sum=$(sha256sum <"$S/file" | cut -d' ' -f1)
	vm_run "$2" 'nc -l -p 7000 >/tmp/file </dev/null &'
	sleep 0.3
	timeout 30 socat -u FILE:"$S/file" "TCP:$4:7000" || true
	is "$1: a file to the VM arrives whole" \
		"$(vm_run "$2" 'sleep 0.5; sha256sum </tmp/file' | cut -d' ' -f1)" "$sum"
	timeout 30 socat -u "TCP6-LISTEN:7001,ipv6only=0,reuseaddr" "CREATE:$S/back" &
	local receiver=$!
	sleep 0.3
	vm_run "$2" "nc $3 7001 </tmp/file" || true
	wait "$receiver" || true
	is "$1: ... and back" "$(sha256sum <"$S/back" | cut -d' ' -f1)" "$sum"
	rm -f "$S/file" "$S/back"
}
files "offloads, IPv4, MTU 9000" full 192.0.2.1 192.0.2.2
files "offloads, IPv6, MTU 9000" full fd00::1 '[fd00::2]'
files "no offloads, IPv4" plain 203.0.113.1 203.0.113.2
files "no offloads, IPv6" plain fd02::1 '[fd02::2]'

mbits() { /usr/bin/python3 -c 'import json,sys; d=json.load(sys.stdin)
print(d["end"].get("sum_received", d["end"].get("sum"))["bits_per_second"] / 1e6
      if "error" not in d else d["error"])'; }
# tcp NAME ADDRESS [iperf3 option]
tcp() {
	local out
	out=$(timeout 20 iperf3 -J -t 1 -c "$2" ${3:-} | mbits)
	is_between "$1" "$out" 1 1000000
}
tcp "TCP to the VM with offloads" 192.0.2.2
tcp "... and from it" 192.0.2.2 -R
tcp "TCP to the plain VM" 203.0.113.2
tcp "... and from it" fd02::2 -R
is_between "superframes reached the guest whole" "$(bridge_stat full to_guest_superframes)" 100 100000000
is_between "superframes came from it" "$(bridge_stat full to_tap_superframes)" 100 100000000
is_between "for the plain guest they were split" "$(bridge_stat plain to_guest_segmented)" 100 100000000
is "it was given none" "$(bridge_stat plain to_guest_superframes)" 0

# udp NAME ADDRESS [iperf3 option]: 2 Mbit/s, nothing may be lost: the emulated guest is slow
udp() {
	local lost
	lost=$(timeout 20 iperf3 -J -u -b 2M -l 1400 -t 1 -c "$2" ${3:-} | /usr/bin/python3 -c '
import json,sys; d=json.load(sys.stdin)
print(d["end"]["sum"]["lost_packets"] if "error" not in d else d["error"])')
	is "$1" "$lost" 0
}
udp "UDP to the VM with offloads, none lost" 192.0.2.2
udp "... and from it" fd00::2 -R
udp "UDP to the plain VM, none lost" fd02::2
udp "... and from it" 203.0.113.2 -R

is "nothing was dropped so far, full" "$(bridge_drops full)" ""
is "nothing was dropped so far, plain" "$(bridge_drops plain)" ""

# The plain guest has no buffer for this. The bridge must get past it.
ip link set dev plain mtu 9000
ping -q -c 2 -i 0.2 -W 1 -M do -s 8000 203.0.113.2 >/dev/null || true
ip link set dev plain mtu 1500
ok "a frame too large for the guest's buffers does not block the pair" pings 203.0.113.2
is "it is counted" "$(bridge_drops plain)" to_guest_drop_no_buffer=2

# The switch.
ok "host to VM through the switch" in_ns lan ping -q -c 3 -i 0.1 198.51.100.2
ok "host to the other VM" in_ns lan ping -q -c 3 -i 0.1 198.51.100.3
ok "VM to VM" vm_run full 'ping -q -c 3 198.51.100.3'
ok "VM to VM over IPv6" vm_run plain 'ping -q -c 3 fd01::2'
vm_tcp=$(vm_run full 'timeout 20 iperf3 -J -t 1 -c 198.51.100.3' | mbits)
is_between "TCP from VM to VM" "$vm_tcp" 1 1000000
vm_tcp=$(vm_run full 'timeout 20 iperf3 -J -t 1 -R -c 198.51.100.3' | mbits)
is_between "... and back (split for the receiver, as it takes no TSO)" "$vm_tcp" 1 1000000
before=$(bridge_stat lan-plain to_guest_frames)
in_ns lan ping -q -c 20 -i 0.02 198.51.100.2 >/dev/null
is_between "frames for one VM do not go to the other" \
	"$(($(bridge_stat lan-plain to_guest_frames) - before))" 0 10
is_between "addresses were learned" "$(bridge_stat lan-plain addresses)" 1 3

# A VM that routes: it sends on what it received, segmenting in software, which needs
# right pseudo-header checksums in what the bridge gave it.
ip route add 198.51.100.0/24 via 192.0.2.2 mtu lock 1500
ip -n lan route add 192.0.2.0/24 via 198.51.100.2
in_ns lan iperf3 -s -D -1 >/dev/null
wait_for 5 in_ns lan bash -c 'ss -ltn | grep -q :5201'
tcp "TCP through a VM that routes" 198.51.100.1
ip route del 198.51.100.0/24

# Killed and restarted under traffic.
ping -i 0.02 192.0.2.2 >"$S/ping.full" &
ping_full=$!
ping -i 0.02 203.0.113.2 >"$S/ping.plain" &
ping_plain=$!
vm_kill plain
ok "the bridge notices that a VM was killed" wait_for 5 eval '! bridge_connected plain'
start_plain
ok "the VM comes back" net_plain
ok "and is reached" wait_for 10 pings 203.0.113.2
ok "... on the switch, too" wait_for 10 in_ns lan ping -q -c 1 198.51.100.3

# Pairs come and go under traffic.
printf '[pair extra]\ntap = extra\nsocket = %s/extra.sock\n' "$S" >>"$S/conf"
kill -HUP "$BRIDGE_PID"
ok "a pair is added on reload" wait_for 5 test -S "$S/extra.sock"
ok "with its interface" ip link show dev extra
connects=$(bridge_stat full connects)
cp "$S/pairs" "$S/conf"
kill -HUP "$BRIDGE_PID"
ok "a pair is removed on reload" wait_for 5 test ! -e "$S/extra.sock"
ok "with its interface" wait_for 5 eval '! ip link show dev extra'
printf '[pair broken]\ntap = \n' >>"$S/conf"
kill -HUP "$BRIDGE_PID"
ok "a file with a mistake changes nothing" wait_for 5 grep -q 'nothing was changed' "$S/bridge.log"
cp "$S/pairs" "$S/conf"
is "other guests stayed connected" "$(bridge_stat full connects)" "$connects"
kill -INT "$ping_full" && wait "$ping_full" || true
kill -INT "$ping_plain" && wait "$ping_plain" || true
is_between "the other VM was pinged all the time" "$(grep -c icmp_seq "$S/ping.full")" 50 100000
is "and it missed nothing" "$(gaps "$S/ping.full")" 0

# The bridge itself.
ping -i 0.05 192.0.2.2 >"$S/ping.full" &
ping_full=$!
bridge_kill
ok "stale sockets are left by a bridge that was killed" test -S "$S/full.sock"
bridge_start --config "$S/conf"
host_up
ip link set dev lan netns lan
ip -n lan addr add 198.51.100.1/24 dev lan
ip -n lan link set dev lan up
ok "a new bridge: guests reconnect" wait_for 15 all_connected
ok "traffic goes on to the VM with offloads" wait_for 10 pings 192.0.2.2
ok "... to the plain one" wait_for 10 pings 203.0.113.2
ok "... to the switch" wait_for 10 in_ns lan ping -q -c 1 198.51.100.2
kill -INT "$ping_full" && wait "$ping_full" || true

# A VM that reboots keeps its connection open.
ok "a guest whose driver is reloaded comes back" eval '
	vm_run full "echo virtio0 >/sys/bus/virtio/drivers/virtio_net/unbind;
		echo virtio0 >/sys/bus/virtio/drivers/virtio_net/bind; sleep 0.2
		ip addr add 192.0.2.2/24 dev eth0; ip link set eth0 up" &&
	wait_for 10 pings 192.0.2.2'

ok "an idle bridge sleeps" eval '
	sleep 1; a=$(awk "{ print \$14 + \$15 }" /proc/$BRIDGE_PID/stat); sleep 2
	b=$(awk "{ print \$14 + \$15 }" /proc/$BRIDGE_PID/stat); echo "$((b - a)) ticks in 2 s"
	[ $((b - a)) -le 6 ]'
mbufs=$(bridge_stat full guest_mbufs_in_use)
is "no mbuf of the guest's stays in use" "$mbufs" 0

status=0
bridge_stop || status=$?
is "a bridge that is told to end does so" "$status" 0
ok "it leaves no socket" eval '! ls "$S"/plain.sock "$S"/full.sock "$S"/lan-plain.sock'
ok "and no interface" eval '! ip link show dev full && ! ip -n lan link show dev lan'
vm_kill full
vm_kill plain
done_testing
