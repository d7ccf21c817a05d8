/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Receive: from the kernel's queue by the engine into slots, from slots into mbufs.
 * A frame leaves its slot when the application gets it, so when mbufs run out, or a
 * burst is full in the middle of a superframe, the rest just waits.
 */

#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_memcpy.h>

#include "tapbatch.h"
#include "tapbatch_filter.h"
#include "tapbatch_sizes.h"
#include "tapbatch_vnet.h"

/* Verdicts of take_frame(). */
enum taken {
	TAKEN,   /* one mbuf more */
	DROPPED, /* counted */
	NO_MBUF, /* the frame stays in its slot */
};

/* Copies a frame that does not fit into one mbuf to a chain of them. */
static enum taken
copy_to_chain(struct tapbatch_rxq *rxq, const uint8_t *data, uint32_t len, struct rte_mbuf **pkt)
{
	struct rte_mbuf *head, *m;
	uint32_t left = len;

	head = rte_pktmbuf_alloc(rxq->pool);
	if (head == NULL)
		return NO_MBUF;
	m = head;
	head->pkt_len = len;
	for (;;) {
		uint32_t part = RTE_MIN(left, (uint32_t)rte_pktmbuf_tailroom(m));

		rte_memcpy(rte_pktmbuf_mtod(m, void *), data, part);
		m->data_len = (uint16_t)part;
		data += part;
		left -= part;
		if (left == 0)
			break;
		m->next = rte_pktmbuf_alloc(rxq->pool);
		if (m->next == NULL) {
			rte_pktmbuf_free(head);
			return NO_MBUF;
		}
		m = m->next;
		head->nb_segs++;
	}
	*pkt = head;
	return TAKEN;
}

/* Hands on a frame that does not fit into one mbuf: its buffer if another one is free
 * to take its place, else a copy.
 */
static enum taken
take_large(struct tapbatch_rxq *rxq, struct tapbatch_rx_local *rx, struct tapbatch_slot *slot,
	   struct rte_mbuf **pkt)
{
	bool two = slot->len > TAPBATCH_BUFS_ONE_MBUF;
	struct rte_mbuf *mbufs[2] = { NULL, NULL };
	uint8_t *fresh;

	if (!rxq->scatter) {
		rxq->stats.oversize++;
		return DROPPED;
	}
	if (rx->bufs == NULL || (fresh = tapbatch_bufs_get(rx->bufs)) == NULL)
		return copy_to_chain(rxq, slot->buf + TAPBATCH_VNET_HDR_LEN, slot->len, pkt);
	if (rte_pktmbuf_alloc_bulk(rxq->pool, mbufs, two ? 2 : 1) != 0) {
		tapbatch_bufs_put(rx->bufs, fresh);
		return NO_MBUF;
	}
	tapbatch_bufs_attach(rx->bufs, mbufs[0], mbufs[1], slot->buf, TAPBATCH_VNET_HDR_LEN,
			     slot->len);
	slot->buf = fresh;
	*pkt = mbufs[0];
	return TAKEN;
}

/* One mbuf; they are taken from the pool by the batch. */
static inline struct rte_mbuf *
take_mbuf(struct tapbatch_rxq *rxq, struct tapbatch_rx_local *rx)
{
	if (rx->nb_spare == 0) {
		if (unlikely(rte_pktmbuf_alloc_bulk(rxq->pool, rx->spare, TAPBATCH_MAX_SLOTS) != 0))
			return rte_pktmbuf_alloc(rxq->pool);
		rx->nb_spare = TAPBATCH_MAX_SLOTS;
	}
	return rx->spare[--rx->nb_spare];
}

/* Makes an mbuf of a frame that is handed on whole. */
static inline enum taken
take_frame(struct tapbatch_rxq *rxq, struct tapbatch_rx_local *rx, struct tapbatch_slot *slot,
	   struct rte_mbuf **pkt)
{
	struct tapbatch_vnet_hdr vnet;
	enum taken taken;
	struct rte_mbuf *m;

	/* The buffer may leave the slot. */
	memcpy(&vnet, slot->buf, sizeof(vnet));
	if (likely(slot->len <= rxq->room)) {
		m = take_mbuf(rxq, rx);
		if (unlikely(m == NULL))
			return NO_MBUF;
		rte_memcpy(rte_pktmbuf_mtod(m, void *), slot->buf + TAPBATCH_VNET_HDR_LEN,
			   slot->len);
		m->data_len = (uint16_t)slot->len;
		m->pkt_len = slot->len;
	} else {
		taken = take_large(rxq, rx, slot, &m);
		if (taken != TAKEN)
			return taken;
	}
	m->port = rxq->port_id;
	if (unlikely(tapbatch_vnet_to_mbuf(&vnet, m, rxq->wants) != 0)) {
		rxq->stats.malformed++;
		rte_pktmbuf_free(m);
		return DROPPED;
	}
	rxq->stats.superframes += vnet.gso_type != TAPBATCH_VNET_GSO_NONE;
	*pkt = m;
	return TAKEN;
}

/* Gives segments of the superframe in hand, then next frame, until the burst is full,
 * the slots are empty, or there are no mbufs.
 */
static uint16_t
hand_on(struct tapbatch_rxq *rxq, struct tapbatch_rx_local *rx, struct rte_mbuf **pkts,
	uint16_t nb_pkts)
{
	uint16_t nb = 0;

	while (nb < nb_pkts) {
		struct tapbatch_slot *slot;
		struct tapbatch_vnet_hdr *vnet;

		if (!rx->split.done) {
			uint16_t n = tapbatch_split_next(&rx->split, rxq->pool, rxq->port_id,
							 pkts + nb, nb_pkts - nb);

			rxq->stats.split_packets += n;
			rxq->stats.oversize += rx->split.dropped;
			rx->split.dropped = 0;
			nb += n;
			if (!rx->split.done) {
				rxq->stats.nombuf += nb < nb_pkts;
				break;
			}
			continue;
		}
		if (rx->next == rx->count)
			break;

		slot = &rx->io.slots[rx->next];
		vnet = (void *)slot->buf;
		if (unlikely(rxq->filter->enabled) &&
		    !tapbatch_filter_accepts(rxq->filter, slot->buf + TAPBATCH_VNET_HDR_LEN,
					     slot->len)) {
			rxq->stats.filtered++;
			rx->next++;
			continue;
		}
		if (vnet->gso_type != TAPBATCH_VNET_GSO_NONE && slot->len > rxq->max_lro) {
			int segments = tapbatch_split_begin(&rx->split, vnet,
							    slot->buf + TAPBATCH_VNET_HDR_LEN,
							    slot->len, NULL, 0, rxq->wants);

			rx->next++;
			if (unlikely(segments < 0)) {
				rxq->stats.malformed++;
				continue;
			}
			rxq->stats.superframes++;
			rxq->stats.split_superframes++;
			rx->segments = (uint16_t)RTE_MIN(segments, UINT16_MAX);
			continue;
		}
		switch (take_frame(rxq, rx, slot, &pkts[nb])) {
		case TAKEN:
			nb++;
			rx->segments = 1;
			/* fall through */
		case DROPPED:
			rx->next++;
			break;
		case NO_MBUF:
			rxq->stats.nombuf++;
			return nb;
		}
	}
	return nb;
}

/* Reads frames into the slots, which are all empty, as many as are likely to be there
 * and to fill what is left of the burst. Trying more is cheap, but not free.
 */
static bool
refill(struct tapbatch_rxq *rxq, const struct tapbatch_engine *engine, struct tapbatch_rx_local *rx,
       uint16_t wanted)
{
	uint16_t want = RTE_MIN(RTE_MAX(wanted / rx->segments, 1), rx->budget);
	uint16_t got;

	got = engine->rx(&rx->io, want);
	rx->next = 0;
	rx->count = got;
	rx->drained = got < want;
	if (got == rx->budget)
		rx->budget = RTE_MIN(2 * got, engine->nb_slots);
	else if (got < want)
		rx->budget = (uint16_t)(rx->budget + got + 1) / 2;
	if (got == 0) {
		if (unlikely(rx->io.err != 0)) {
			/* Of an interface that is gone there is nothing to miss. */
			rxq->stats.read_errors += rx->io.err != EBADFD;
			rx->io.err = 0;
		}
		return false;
	}
	rxq->stats.batches++;
	tapbatch_count_size(rxq->stats.sizes, got);
	return true;
}

uint16_t
tapbatch_rx_burst(void *queue, struct rte_mbuf **pkts, uint16_t nb_pkts)
{
	struct tapbatch_rxq *rxq = queue;
	struct tapbatch_local *local = tapbatch_local(&rte_eth_devices[rxq->port_id]);
	struct tapbatch_rx_local *rx = local->rx[rxq->queue_id];
	uint64_t bytes = 0;
	uint16_t reads = 0;
	uint16_t nb = 0;
	uint16_t i;

	rx->drained = false;
	for (;;) {
		nb += hand_on(rxq, rx, pkts + nb, nb_pkts - nb);
		if (nb == nb_pkts || rx->drained || rx->next != rx->count || !rx->split.done)
			break;
		/* A flood of frames that are all filtered must not keep the caller here. */
		if (reads++ == nb_pkts)
			break;
		if (!refill(rxq, local->engine, rx, nb_pkts - nb))
			break;
	}
	for (i = 0; i < nb; i++)
		bytes += pkts[i]->pkt_len;
	rxq->stats.packets += nb;
	rxq->stats.bytes += bytes;
	return nb;
}
