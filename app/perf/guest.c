/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * A guest without a machine: forwards between its virtio port and a tap, so that the
 * kernel's stack behind that is the guest's. Superframes pass whole where both sides
 * know them.
 */

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "offload.h"
#include "port.h"

static void
send_all(struct worker *w, uint16_t port, struct rte_mbuf **burst, uint16_t n)
{
	uint16_t sent = 0;

	while (sent < n && !worker_over(w))
		sent = (uint16_t)(sent +
				  rte_eth_tx_burst(port, 0, burst + sent, (uint16_t)(n - sent)));
	rte_pktmbuf_free_bulk(burst + sent, (unsigned int)(n - sent));
	w->count.packets += sent;
	w->count.calls++;
}

bool
forward_dpdk(struct worker *w)
{
	struct rte_mbuf *burst[JOB_MAX_BURST];
	struct port virtio = { .id = 0 }, tap = { .id = 1 };

	if (!port_eal(w) || !port_start(w, &virtio))
		return false;
	tap.rx_pool = virtio.rx_pool;
	if (!port_start(w, &tap) || !worker_ready(w))
		return false;
	worker_begin(w);
	do {
		uint16_t to_tap = rte_eth_rx_burst(virtio.id, 0, burst, w->job.burst);
		uint16_t to_virtio;

		/* net_tapbatch takes the Rx flags of another port as they are; virtio does not. */
		send_all(w, tap.id, burst, to_tap);
		to_virtio = rte_eth_rx_burst(tap.id, 0, burst, w->job.burst);
		for (uint16_t i = 0; i < to_virtio; i++)
			vb_offload_to_port(burst[i]);
		send_all(w, virtio.id, burst, rte_eth_tx_prepare(virtio.id, 0, burst, to_virtio));
		if (to_tap == 0 && to_virtio == 0)
			worker_nap(w);
	} while (!worker_over(w));
	return true;
}
