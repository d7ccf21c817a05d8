#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What can be wrong with device arguments, the interface they name, and the permission
# to use it: each gets a message that says so, and leaves nothing behind.
# timeout: 100
. "$(dirname "$0")/lib.sh"
quiet_ipv6

works "portool starts" portool_start po || exit 1
fds=$(po_value po usage fds)

# refused NAME DEVARGS MESSAGE: the probe fails and says so.
refused() {
	local answer
	answer=$(po po probe "net_tapbatch0,$2") && { fail "$1" "it is accepted: $2"; po po unplug 0; return 0; }
	like "$1" "$answer" "$3"
}
table=(
	"type=tip|type=tip is not allowed: tap or tun"
	"type=|type= is not allowed"
	"engine=fast|engine=fast is not allowed: auto, uring, rw or vhost"
	"tx_batched=65|tx_batched=65 is not allowed: .*0 to 64"
	"tx_batched=-1|tx_batched=-1 is not allowed"
	"tx_batched=1x|tx_batched=1x is not allowed"
	"coalesce=all|coalesce=all is not allowed: none, or tcp and udp joined"
	"coalesce=tcp+|coalesce=tcp\+ is not allowed"
	"coalesce=tcp+none|coalesce=tcp\+none is not allowed"
	"mac=02:00|mac=02:00 is not allowed: random, fixed, or a unicast address"
	"mac=01:00:00:00:00:01|mac=01:00:00:00:00:01 is not allowed"
	"mac=00:00:00:00:00:00|mac=00:00:00:00:00:00 is not allowed"
	"txqlen=0|txqlen=0 is not allowed: a number of packets"
	"txqlen=many|txqlen=many is not allowed"
	"persist=2|persist=2 is not allowed: 0 or 1"
	"persist=yes|persist=yes is not allowed"
	"owner=root|owner=root is not allowed: a numeric id"
	"group=-1|group=-1 is not allowed"
	"group=4294967295|group=4294967295 is not allowed"
	"iface=|iface= is not allowed: an interface name has 1 to 15 characters"
	"iface=sixteen_letters_|iface=sixteen_letters_ is not allowed"
	"iface=a/b|iface=a/b is not allowed"
	"iface=a:b|iface=a:b is not allowed"
	"iface=.|iface=\. is not allowed"
	"iface=..|iface=\.\. is not allowed"
	"iface=a%s|iface=a%s is not allowed"
	"iface=%d%d|iface=%d%d is not allowed"
	"color=red|unknown argument \"color\"; there are: iface"
	"iface=a,iface=b|\"iface\" is given more than once"
	"type=tun,mac=fixed|mac= has no meaning with type=tun"
)
for row in "${table[@]}"; do
	refused "${row%%|*}" "${row%%|*}" "${row#*|}"
done

ip link add v0 type veth peer name v1
ip link add b0 type bridge
for i in v0 b0 lo; do
	refused "$i exists and is no tap" "iface=$i" "iface=$i exists and is no tap interface"
done
ip tuntap add u0 mode tun
refused "a tun interface is no tap" iface=u0 "iface=u0 exists and is of type tun, asked for was type=tap"
ip tuntap add s0 mode tap
refused "a tap is no tun interface" iface=s0,type=tun "iface=s0 exists and is of type tap, asked for was type=tun"
ok "a tap made for a single queue will do" po po probe net_tapbatch0,iface=s0
like "for one queue" "$(po po info 0)" "max_rx_queues 1"$'\n'
ok "two are refused" eval '! po po open 0 rxq=2 txq=2'
ok "one is not" po po open 0 rxq=1 txq=2
ok "it starts" po po start 0
works "another portool starts" portool_start other || exit 1
answer=$(po other probe net_tapbatch0,iface=s0) || true
like "a tap that another process holds" "$answer" "iface=s0 exists with a single queue, which another process holds"
ok "it is given up" po po unplug 0
ok "an interface of several queues" po po probe net_tapbatch0,iface=m0
answer=$(po other probe net_tapbatch0,iface=m0) || true
like "that another process holds" "$answer" "iface=m0 is in use: another process"
ok "is given up" po po unplug 0
ok "then the other gets it" po other probe net_tapbatch0,iface=s0
ok "and gives it up" po other unplug 0
is "a tap that was there before stays" "$(cat /sys/class/net/s0/type)" 1
is "all descriptors are closed" "$(po_value po usage fds)" "$fds"

# Another user.
chmod 666 /dev/net/tun 2>/dev/null || true
ip tuntap add o0 mode tap user 1234 multi_queue vnet_hdr
PORTOOL=(setpriv --reuid 65534 --regid 65534 --clear-groups "$TOOLS/portool")
works "portool starts as nobody" portool_start nobody || exit 1
answer=$(po nobody probe net_tapbatch0,iface=o0) || true
like "a tap that belongs to another user" "$answer" "iface=o0 exists and belongs to another user or group"
answer=$(po nobody probe net_tapbatch0,iface=n0) || true
like "a new tap, without the capability" "$answer" "iface=n0 cannot be created: .*CAP_NET_ADMIN is needed"
po_stop nobody || true

ip tuntap add o1 mode tap user 65534 multi_queue vnet_hdr
ip link set dev o1 up
works "portool starts as nobody" portool_start nobody || exit 1
ok "a tap that belongs to this user" po nobody probe net_tapbatch0,iface=o1
ok "is opened" po nobody open 0
ok "is started" po nobody start 0
po po raw k1 o1 >/dev/null
ok "and carries packets" eval 'po po flood k1 5 100 && [ "$(po_value nobody rx 0 0 5 received)" = 5 ]'
po_stop nobody || true

# No permission on the device, or none at all: of the test's own, in its mount namespace.
mknod -m 600 "$TEST_TMP/tun" c 10 200
mount --bind "$TEST_TMP/tun" /dev/net/tun
at_exit "umount /dev/net/tun"
works "portool starts as nobody" portool_start nobody || exit 1
answer=$(po nobody probe net_tapbatch0,iface=o1) || true
like "no permission on /dev/net/tun" "$answer" "/dev/net/tun: Permission denied: this user needs read and write permission"
po_stop nobody || true
umount /dev/net/tun
touch "$TEST_TMP/nodev"
mount -t tmpfs tmpfs /dev/net
unset PORTOOL
answer=$(po other probe net_tapbatch0,iface=n0) || true
umount /dev/net
like "no /dev/net/tun" "$answer" "/dev/net/tun: No such file or directory: load the kernel's tun module"
po_stop other || true

works "portool quits" po_stop po || true
for i in v0 b0 u0 s0 o0 o1; do
	ip link del $i
done
done_testing
