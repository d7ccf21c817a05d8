/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* The generator on an ethdev port: bursts as fast as the port takes them. */

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "packet.h"
#include "port.h"
#include "threads.h"

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

static struct rte_mempool *pool;
static struct generator generator;

static void
send_loop(struct worker *w, uint16_t port)
{
	struct rte_mbuf *burst[JOB_MAX_BURST];
	uint16_t queues = w->job.queues ? w->job.queues : 1;
	uint16_t threads = w->job.threads ? w->job.threads : 1;
	struct generator g = generator;
	uint16_t n = w->job.burst;
	uint16_t queue = w->thread;

	generator_share(&g, w->thread, threads);
	worker_begin(w);
	while (!worker_over(w)) {
		uint64_t bytes = 0;
		uint16_t sent;

		if (unlikely(rte_pktmbuf_alloc_bulk(pool, burst, n) < 0)) {
			/* The driver keeps packets back; an empty burst lets it clean up. */
			w->count.idle++;
			rte_eth_tx_burst(port, queue, burst, 0);
			continue;
		}
		for (uint16_t i = 0; i < n; i++) {
			struct rte_mbuf *m = burst[i];
			uint16_t len = generator_next(&g, rte_pktmbuf_mtod(m, uint8_t *));

			m->data_len = len;
			m->pkt_len = len;
			bytes += len;
		}
		sent = send_burst(w, port, queue, burst, n);
		if (unlikely(sent < n)) {
			for (uint16_t i = sent; i < n; i++)
				bytes -= burst[i]->pkt_len;
			rte_pktmbuf_free_bulk(burst + sent, (unsigned int)(n - sent));
		}
		w->count.calls++;
		w->count.packets += sent;
		w->count.bytes += bytes;
		queue = (uint16_t)(queue + threads);
		if (queue >= queues)
			queue = w->thread;
	}
}

bool
send_dpdk(struct worker *w)
{
	struct port p = { 0 };
	const char *why = generator_init(&generator, &w->job.traffic);

	if (why != NULL)
		return worker_fail(w, "%s", why);
	if (!port_eal(w) || !port_start(w, &p) || !worker_ready(w))
		return false;
	pool = p.tx_pool;
	if (!threads_run(w, send_loop, p.id))
		return false;
	port_stop(w, &p);
	return true;
}
