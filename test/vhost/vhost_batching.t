#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The kernel's vhost worker moves packets of engine vhost in batches as large as
# tx_batched lets it, on transmit no smaller than those of net_virtio_user over the same device, and
# kicks are rare. Counted with kprobes in a VM; times there would mean nothing.
# timeout: 900
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/vm/guest.sh"

guest_start pktgen || { fail "the VM starts"; done_testing; exit; }

# count WAY INTERFACE DEVICE: sets per_call and kicks (per 1000 packets).
count() {
	local packets calls kicked
	read -r packets calls kicked \
		< <(guest_run -t 180 "$TOP/test/vm/guest/batching.sh $1 $2 --vdev=$3" | tail -n 1) || true
	per_call=$(awk -v p="${packets:-0}" -v c="${calls:-0}" 'BEGIN { printf "%.1f", c ? p / c : 0 }')
	kicks=$(awk -v p="${packets:-0}" -v k="${kicked:-0}" 'BEGIN { printf "%.1f", p ? 1000 * k / p : -1 }')
	printf '# %-30s %10s %18s %24s\n' "$4" "${packets:-none}" "$per_call" "$kicks"
}

printf '# %-30s %10s %18s %24s\n' 'transmit, bursts of 128' packets 'packets per call' 'kicks per 1000 packets'
count tx v0 net_virtio_user0,path=/dev/vhost-net,iface=v0,queue_size=1024 net_virtio_user
virtio=$per_call virtio_kicks=$kicks
for batched in 0 4 8 16 32 48 64; do
	count tx t0 "net_tapbatch0,iface=t0,engine=vhost,tx_batched=$batched" "engine vhost, tx_batched=$batched"
	[ "$batched" != 0 ] || is "with tx_batched=0, one packet per call" "$per_call" 1.0
done
is_between "with tx_batched=64, at least 32 packets per call" "$per_call" 32 64
is_between "... no fewer than net_virtio_user has" "$per_call" "$virtio" 64
is_between "... and no more kicks for it" "$kicks" 0 "$(awk -v k="$virtio_kicks" 'BEGIN { print 1.5 * k + 1 }')"

printf '# %-30s %10s %18s\n' 'receive, pktgen sends' packets 'packets per signal'
count rx v0 net_virtio_user0,path=/dev/vhost-net,iface=v0,queue_size=1024 net_virtio_user
count rx t0 net_tapbatch0,iface=t0,engine=vhost "engine vhost"
# How many wait when the worker looks depends on who is faster under emulation.
is_between "packets are received several at a time" "$per_call" 1.5 256
done_testing
