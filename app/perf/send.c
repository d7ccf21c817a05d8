/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* The generator on an ethdev port: bursts as fast as the port takes them. */

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "packet.h"
#include "port.h"

/* @return how many went; less than n only when the time is over */
static uint16_t
send_burst(struct worker *w, uint16_t port, uint16_t queue, struct rte_mbuf **burst, uint16_t n)
{
	uint16_t sent = rte_eth_tx_burst(port, queue, burst, n);

	while (unlikely(sent < n)) {
		w->count.idle++;
		if (worker_over(w))
			break;
		worker_nap(w);
		sent = (uint16_t)(sent + rte_eth_tx_burst(port, queue, burst + sent,
							  (uint16_t)(n - sent)));
	}
	return sent;
}

static void
send_loop(struct worker *w, struct port *p, struct generator *g)
{
	struct rte_mbuf *burst[JOB_MAX_BURST];
	uint16_t queues = w->job.queues ? w->job.queues : 1;
	uint16_t n = w->job.burst;
	uint16_t queue = 0;

	while (!worker_over(w)) {
		uint64_t bytes = 0;
		uint16_t sent;

		if (unlikely(rte_pktmbuf_alloc_bulk(p->tx_pool, burst, n) < 0)) {
			/* The driver keeps packets back; an empty burst lets it clean up. */
			w->count.idle++;
			rte_eth_tx_burst(p->id, queue, burst, 0);
			continue;
		}
		for (uint16_t i = 0; i < n; i++) {
			struct rte_mbuf *m = burst[i];
			uint16_t len = generator_next(g, rte_pktmbuf_mtod(m, uint8_t *));

			m->data_len = len;
			m->pkt_len = len;
			bytes += len;
		}
		sent = send_burst(w, p->id, queue, burst, n);
		if (unlikely(sent < n)) {
			for (uint16_t i = sent; i < n; i++)
				bytes -= burst[i]->pkt_len;
			rte_pktmbuf_free_bulk(burst + sent, (unsigned int)(n - sent));
		}
		w->count.calls++;
		w->count.packets += sent;
		w->count.bytes += bytes;
		if (++queue == queues)
			queue = 0;
	}
}

bool
send_dpdk(struct worker *w)
{
	static struct generator g;
	struct port p = { 0 };
	const char *why = generator_init(&g, &w->job.traffic);

	if (why != NULL)
		return worker_fail(w, "%s", why);
	if (!port_eal(w) || !port_start(w, &p) || !worker_ready(w))
		return false;
	worker_begin(w);
	send_loop(w, &p, &g);
	port_stop(w, &p);
	return true;
}
