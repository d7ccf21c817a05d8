# SPDX-License-Identifier: BSD-3-Clause
# A bridge that only forwards, with taps that are there before their users. To be
# sourced behind lib.sh.
# shellcheck shell=bash

# bridge_taps BRIDGE PORT-TAP TAP...: the first tap is for the driver.
bridge_taps() {
	local bridge=$1 port=$2 tap i
	quiet_ipv6
	for i in iptables ip6tables; do
		[ ! -e "/proc/sys/net/bridge/bridge-nf-call-$i" ] ||
			sysctl -qw "net.bridge.bridge-nf-call-$i=0"
	done
	ip link add "$bridge" type bridge mcast_snooping 0
	at_exit "ip link del $bridge"
	ip tuntap add "$port" mode tap multi_queue vnet_hdr
	at_exit "ip link del $port"
	shift 2
	for tap in "$@"; do
		case $tap in
		*:vnet) ip tuntap add "${tap%:vnet}" mode tap vnet_hdr ;;
		*) ip tuntap add "$tap" mode tap ;;
		esac
		at_exit "ip link del ${tap%:vnet}"
	done
	for tap in "$port" "$@"; do
		ip link set dev "${tap%:vnet}" master "$bridge" txqueuelen 20000 mtu 2000 up
	done
	ip link set dev "$bridge" up
	sleep 0.2
}
