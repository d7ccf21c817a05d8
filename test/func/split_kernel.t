#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The splitter makes of random superframes, byte for byte, what the kernel's own
# segmentation makes of them. SEED=NUMBER replays, SUPERFRAMES=NUMBER does more.
# timeout: 120
set -euo pipefail

seed=${SEED:-$RANDOM}
trap 'for i in split_br split_a split_b; do ip link del "$i" 2>/dev/null || true; done' EXIT

# The bridge must judge no lengths or checksums: it's the segmentation that is compared.
for i in iptables ip6tables; do
	[ ! -e "/proc/sys/net/bridge/bridge-nf-call-$i" ] ||
		sysctl -qw "net.bridge.bridge-nf-call-$i=0"
done
sysctl -qw net.ipv6.conf.default.disable_ipv6=1
ip tuntap add split_a mode tap vnet_hdr
ip tuntap add split_b mode tap
ip link add split_br type bridge mcast_snooping 0
for i in split_a split_b; do
	ip link set "$i" master split_br txqueuelen 5000 mtu 9000
done
for i in split_a split_b split_br; do
	ip link set "$i" up
done
sleep 0.3 # multicast groups are joined then, not while we compare

name="segments are the kernel's, seed $seed"
if "$TAPBATCH_BUILD/test/func/split_kernel" split_a split_b "${SUPERFRAMES:-5000}" "$seed"; then
	echo "ok 1 - $name"
else
	echo "not ok 1 - $name"
fi
echo "1..1"
