/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The consumer on an ethdev port: takes bursts, by polling or woken by
 * interrupts, and checks the tag of every packet, also inside superframes.
 */

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "packet.h"
#include "port.h"
#include "threads.h"

/* A superframe that was handed on whole: a tag every tso_segsz bytes of payload. */
static uint64_t
check_superframe(struct checker *check, const struct rte_mbuf *m)
{
	uint64_t packets = 0;

	for (uint32_t at = check->tag; at + 8 <= m->pkt_len; at += m->tso_segsz) {
		uint32_t payload = RTE_MIN((uint32_t)m->tso_segsz, m->pkt_len - at);
		uint8_t copy[8];
		const uint8_t *tag = rte_pktmbuf_read(m, at, sizeof(copy), copy);

		if (tag == NULL)
			break;
		packets += checker_tag(check, rte_be_to_cpu_64(*(const unaligned_uint64_t *)tag),
				       check->tag + payload);
	}
	return packets;
}

static void
check_burst(struct worker *w, struct checker *check, struct rte_mbuf **burst, uint16_t n)
{
	uint64_t packets = 0, bytes = 0;

	for (uint16_t i = 0; i < n && i < 4; i++)
		rte_prefetch0(rte_pktmbuf_mtod(burst[i], const void *));
	for (uint16_t i = 0; i < n; i++) {
		const struct rte_mbuf *m = burst[i];

		if (i + 4 < n)
			rte_prefetch0(rte_pktmbuf_mtod(burst[i + 4], const void *));
		if (unlikely(m->ol_flags & RTE_MBUF_F_RX_LRO) && m->tso_segsz != 0) {
			uint64_t k = check_superframe(check, m);

			packets += k;
			bytes += m->pkt_len + (k > 1 ? (k - 1) * check->tag : 0);
		} else if (checker_packet(check, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len,
					  m->pkt_len)) {
			packets++;
			bytes += m->pkt_len;
		}
	}
	w->count.packets += packets;
	w->count.bytes += bytes;
}

static void
note_checked(struct worker *w, const struct checker *check)
{
	w->out.late = check->late;
	w->out.misfit = check->misfit;
	w->out.foreign = check->foreign;
}

static void
poll_loop(struct worker *w, uint16_t port)
{
	struct rte_mbuf *burst[JOB_MAX_BURST];
	uint16_t queues = w->job.queues ? w->job.queues : 1;
	uint16_t threads = w->job.threads ? w->job.threads : 1;
	uint16_t queue = w->thread;
	struct checker check; /* a flow comes by one queue only, and so by one thread */
	uint16_t n;

	checker_init(&check, &w->job.traffic);
	worker_begin(w);
	do {
		n = rte_eth_rx_burst(port, queue, burst, w->job.burst);
		if (n > 0) {
			check_burst(w, &check, burst, n);
			rte_pktmbuf_free_bulk(burst, n);
			w->count.calls++;
			worker_dawdle(w, n);
		} else {
			w->count.idle++;
			worker_nap(w);
		}
		queue = (uint16_t)(queue + threads);
		if (queue >= queues)
			queue = w->thread;
	} while (!worker_drained(w, n == 0));
	note_checked(w, &check);
}

static void
interrupt_loop(struct worker *w, struct port *p)
{
	struct rte_mbuf *burst[JOB_MAX_BURST];
	struct checker check;
	uint16_t n;

	checker_init(&check, &w->job.traffic);
	worker_begin(w);
	do {
		n = port_wait_burst(w, p, burst, w->job.burst);
		if (n > 0) {
			check_burst(w, &check, burst, n);
			rte_pktmbuf_free_bulk(burst, n);
			w->count.calls++;
		}
	} while (!worker_drained(w, n == 0));
	note_checked(w, &check);
}

bool
receive_dpdk(struct worker *w)
{
	struct port p = { 0 };

	if (!port_eal(w) || !port_start(w, &p))
		return false;
	if ((w->job.interrupts || w->job.armed) && !port_interrupts(w, &p))
		return false;
	if (!worker_ready(w))
		return false;
	if (w->job.interrupts)
		interrupt_loop(w, &p);
	else if (!threads_run(w, poll_loop, p.id))
		return false;
	port_stop(w, &p);
	return true;
}
