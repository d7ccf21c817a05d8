#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A packet costs the application with engine vhost no more instructions than with
# net_virtio_user over the same /dev/vhost-net, for the same work. Counted by callgrind in a
# VM: those of rte_eth_tx_burst() and rte_eth_rx_burst() with all that they call, bursts of
# 32 packets of 64 bytes. What the kernel does is not counted.
# timeout: 600
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/vm/guest.sh"

guest_start || { fail "the VM starts"; done_testing; exit; }

# count WAY DEVICE NAME: sets per_packet.
count() {
	local output instructions packets
	output=$(guest_run -t 120 "
valgrind --tool=callgrind --callgrind-out-file=/tmp/callgrind.out \
	--toggle-collect=counted_tx --toggle-collect=counted_rx \
	\$TAPBATCH_BUILD/test/tools/burst_work -l 0 --no-huge -m 128 --no-shconf --no-pci \
	--no-telemetry -d \$TAPBATCH_PMD --vdev=$2 -- $1 t0 30" 2>&1) || true
	instructions=$(sed -n 's/.*Collected : \([0-9]*\)$/\1/p' <<<"$output")
	packets=$(sed -n 's/^packets \([0-9]*\) .*/\1/p' <<<"$output")
	per_packet=$(awk -v i="${instructions:-0}" -v p="${packets:-0}" \
		'BEGIN { printf "%.1f", p ? i / p : -1 }')
	[ -n "$packets" ] || diag "$(tail -n 10 <<<"$output")"
	printf '# %-10s %-36s %8s packets %10s instructions per packet\n' "$1" "$3" "${packets:-no}" \
		"$per_packet"
}

virtio=net_virtio_user0,path=/dev/vhost-net,iface=t0,queue_size=256
vhost=net_tapbatch0,iface=t0,engine=vhost
count tx "$virtio" net_virtio_user
most=$per_packet
count tx "$vhost,coalesce=none" "engine vhost, coalesce=none"
is_between "transmit: no more than net_virtio_user" "$per_packet" 1 "$most"
count tx "$vhost" "engine vhost, of 32 flows"
count rx "$virtio" net_virtio_user
most=$per_packet
count rx "$vhost" "engine vhost"
is_between "receive: no more than net_virtio_user" "$per_packet" 1 "$most"
count rx-types "$vhost" "engine vhost, with packet types"
done_testing
