/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Receive with engine vhost. The kernel's worker writes frames straight into mbufs, the
 * virtio header into their headroom; one that is longer comes in several. Here they are
 * only described, but for superframes that must be split.
 */

#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_memcpy.h>
#include <rte_prefetch.h>

#include "tapbatch.h"
#include "tapbatch_filter.h"
#include "tapbatch_sizes.h"
#include "tapbatch_vhost.h"
#include "tapbatch_vnet.h"

/* Buffers are given to the worker when so many are missing. */
#define REFILL 32

/* How far ahead bytes are fetched that the worker, on another core, has written. */
#define AHEAD 4

/* Where the virtio header of a buffer goes. */
static inline uint8_t *
header_of(const struct rte_mbuf *m)
{
	return (uint8_t *)m->buf_addr + RTE_PKTMBUF_HEADROOM - TAPBATCH_VNET_HDR_LEN;
}

/* An mbuf fresh from the pool, or one that waits to be used again (refcnt 1, nb_segs 1,
 * no next), filled with len bytes from offset on.
 */
static inline void
init_mbuf(struct rte_mbuf *m, uint16_t port, uint16_t offset, uint32_t len)
{
	m->data_off = offset;
	m->port = port;
	/* Pools with pinned external buffers mark their mbufs with a flag. */
	m->ol_flags &= RTE_MBUF_F_EXTERNAL;
	m->packet_type = 0;
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	m->vlan_tci = 0;
}

static void
keep_spare(struct tapbatch_vhost_rx *rx, struct rte_mbuf *m)
{
	while (m != NULL) {
		struct rte_mbuf *next = m->next;

		m->next = NULL;
		m->nb_segs = 1;
		rx->spare[rx->nb_spare++] = m;
		m = next;
	}
}

/* Takes the next buffer off the used ring, which has one, if what stands there can be
 * true. NULL: it can't.
 */
static inline struct rte_mbuf *
take_buffer(struct tapbatch_vhost_rx *rx, uint32_t *len)
{
	struct tapbatch_vring *vr = &rx->vr;
	uint16_t place = vr->used_seen & vr->mask;
	struct vring_used_elem elem = tapbatch_vring_next_used(vr);
	uint32_t id = elem.id;
	struct rte_mbuf *m;

	*len = elem.len;
	if (unlikely(id >= vr->size || *len > rx->room))
		return NULL;
	m = rx->mbufs[id];
	if (unlikely(m == NULL))
		return NULL;
	rx->mbufs[id] = NULL;
	/* Where the id will be used again. The line is the worker's to read: leave it
	 * alone as long as the worker keeps to the order.
	 */
	if (unlikely(vr->avail->ring[place] != id))
		vr->avail->ring[place] = (uint16_t)id;
	vr->used_seen++;
	return m;
}

/* Takes all buffers of the next frame, chained. NULL: the ring is broken. */
static inline struct rte_mbuf *
take_buffers(struct tapbatch_rxq *rxq, struct tapbatch_vhost_rx *rx, uint16_t in_ring,
	     struct tapbatch_vnet_hdr *vnet)
{
	struct rte_mbuf *head, *tail, *m;
	uint16_t left;
	uint32_t len;

	head = take_buffer(rx, &len);
	if (unlikely(head == NULL))
		return NULL;
	memcpy(vnet, header_of(head), sizeof(*vnet));
	left = vnet->num_buffers;
	if (unlikely(len < TAPBATCH_VNET_HDR_LEN || left == 0 || left > in_ring)) {
		keep_spare(rx, head);
		return NULL;
	}
	init_mbuf(head, rxq->port_id, RTE_PKTMBUF_HEADROOM, len - TAPBATCH_VNET_HDR_LEN);
	for (tail = head; unlikely(left > 1); left--) {
		m = take_buffer(rx, &len);
		if (unlikely(m == NULL)) {
			keep_spare(rx, head);
			return NULL;
		}
		/* Without a header of its own, its bytes begin where that would be. */
		init_mbuf(m, rxq->port_id, RTE_PKTMBUF_HEADROOM - TAPBATCH_VNET_HDR_LEN, len);
		head->pkt_len += len;
		head->nb_segs++;
		tail->next = m;
		tail = m;
	}
	return head;
}

/* Begins to split a superframe, from a copy of it in one piece. */
static bool
begin_split(struct tapbatch_rxq *rxq, struct tapbatch_rx_local *local, struct tapbatch_vhost_rx *rx,
	    const struct tapbatch_vnet_hdr *vnet, const struct rte_mbuf *m)
{
	uint32_t len = m->pkt_len;
	uint8_t *to = rx->scratch;

	if (len > TAPBATCH_SLOT_LEN)
		return false;
	for (; m != NULL; m = m->next) {
		rte_memcpy(to, rte_pktmbuf_mtod(m, void *), m->data_len);
		to += m->data_len;
	}
	return tapbatch_split_begin(&local->split, vnet, rx->scratch, len, NULL, 0, rxq->wants) >=
	       0;
}

/* Looks at a frame. Returns whether the application gets it as it is; else it is
 * counted, or being split, and its buffers can be used again.
 */
static inline bool
accept_frame(struct tapbatch_rxq *rxq, struct tapbatch_rx_local *local,
	     struct tapbatch_vhost_rx *rx, const struct tapbatch_vnet_hdr *vnet, struct rte_mbuf *m)
{
	if (unlikely(rxq->filter->enabled) &&
	    !tapbatch_filter_accepts(rxq->filter, rte_pktmbuf_mtod(m, uint8_t *), m->data_len)) {
		rxq->stats.filtered++;
		return false;
	}
	if (vnet->gso_type != TAPBATCH_VNET_GSO_NONE && m->pkt_len > rxq->max_lro) {
		if (begin_split(rxq, local, rx, vnet, m)) {
			rxq->stats.superframes++;
			rxq->stats.split_superframes++;
		} else {
			rxq->stats.malformed++;
		}
		return false;
	}
	if (unlikely(m->next != NULL && !rxq->scatter)) {
		rxq->stats.oversize++;
		return false;
	}
	if (unlikely(tapbatch_vnet_to_mbuf(vnet, m, rxq->wants) != 0)) {
		rxq->stats.malformed++;
		return false;
	}
	rxq->stats.superframes += vnet->gso_type != TAPBATCH_VNET_GSO_NONE;
	return true;
}

/* Segments of the superframe in hand. When the pool has no mbufs for them, as when all
 * are in the ring, it gets those that the superframe was in.
 */
static uint16_t
split_on(struct tapbatch_rxq *rxq, struct tapbatch_vhost_rx *rx, struct tapbatch_split *split,
	 struct rte_mbuf **pkts, uint16_t nb_pkts)
{
	uint16_t n = tapbatch_split_next(split, rxq->pool, rxq->port_id, pkts, nb_pkts);
	uint16_t i;

	if (unlikely(!split->done && n < nb_pkts && rx->nb_spare > 0)) {
		rte_pktmbuf_free_bulk(rx->spare, rx->nb_spare);
		rx->nb_spare = 0;
		n += tapbatch_split_next(split, rxq->pool, rxq->port_id, pkts + n, nb_pkts - n);
	}
	for (i = 0; i < n; i++)
		rxq->stats.bytes += pkts[i]->pkt_len;
	rxq->stats.split_packets += n;
	rxq->stats.oversize += split->dropped;
	split->dropped = 0;
	if (!split->done && n < nb_pkts)
		rxq->stats.nombuf++;
	return n;
}

/* Buffers from those that came back unused, then from the pool. */
static uint16_t
get_buffers(struct tapbatch_rxq *rxq, struct tapbatch_vhost_rx *rx, struct rte_mbuf **mbufs,
	    uint16_t n)
{
	if (unlikely(rx->nb_spare > 0)) {
		n = RTE_MIN(n, rx->nb_spare);
		rx->nb_spare -= n;
		memcpy(mbufs, &rx->spare[rx->nb_spare], n * sizeof(mbufs[0]));
		return n;
	}
	while (n > 0 && unlikely(rte_mempool_get_bulk(rxq->pool, (void **)mbufs, n) != 0))
		n /= 2;
	return n;
}

bool
tapbatch_vhost_rx_refill(struct tapbatch_rxq *rxq, struct tapbatch_vhost_rx *rx)
{
	struct tapbatch_vring *vr = &rx->vr;
	uint16_t missing = vr->size - tapbatch_vring_in_flight(vr);
	struct rte_mbuf *mbufs[64];
	uint16_t i, n;

	while (missing > 0) {
		n = get_buffers(rxq, rx, mbufs, RTE_MIN(missing, RTE_DIM(mbufs)));
		if (unlikely(n == 0)) {
			rxq->stats.nombuf++;
			break;
		}
		for (i = 0; i < n; i++) {
			uint16_t id = vr->avail->ring[vr->avail_idx & vr->mask];

			vr->desc[id].addr = (uintptr_t)header_of(mbufs[i]);
			rx->mbufs[id] = mbufs[i];
			vr->avail_idx++;
		}
		missing -= n;
	}
	return vr->avail_idx != vr->published && tapbatch_vring_publish(vr);
}

uint16_t
tapbatch_vhost_rx_burst(void *queue, struct rte_mbuf **pkts, uint16_t nb_pkts)
{
	struct tapbatch_rxq *rxq = queue;
	struct tapbatch_local *port = tapbatch_local(&rte_eth_devices[rxq->port_id]);
	struct tapbatch_rx_local *local = port->rx[rxq->queue_id];
	struct tapbatch_vhost_rx *rx = local->io.vhost;
	struct tapbatch_vring *vr;
	uint64_t bytes = 0;
	uint16_t frames = 0;
	uint16_t nb = 0;
	int in_ring;

	if (unlikely(rx == NULL || !rx->running))
		return 0;
	vr = &rx->vr;
	if (unlikely(!local->split.done))
		nb = split_on(rxq, rx, &local->split, pkts, nb_pkts);
	in_ring = tapbatch_vring_used(vr);
	if (unlikely(in_ring < 0)) {
		tapbatch_vhost_break(rxq->port_id, "Rx", rxq->queue_id,
				     "more buffers come back than it was given");
		rx->running = false;
		goto out;
	}
	while (nb < nb_pkts && in_ring > 0 && likely(local->split.done)) {
		uint16_t before = vr->used_seen;
		struct tapbatch_vnet_hdr vnet;
		struct rte_mbuf *ahead = rx->mbufs[(before + AHEAD) & vr->mask];
		struct rte_mbuf *m;

		if (likely(ahead != NULL)) {
			rte_prefetch0(ahead);
			rte_prefetch0(header_of(ahead));
		}
		m = take_buffers(rxq, rx, (uint16_t)in_ring, &vnet);
		if (unlikely(m == NULL)) {
			tapbatch_vhost_break(rxq->port_id, "Rx", rxq->queue_id,
					     "a buffer comes back that is not there, or with an "
					     "impossible length");
			rx->running = false;
			goto out;
		}
		in_ring -= (uint16_t)(vr->used_seen - before);
		frames++;
		if (likely(accept_frame(rxq, local, rx, &vnet, m))) {
			bytes += m->pkt_len;
			pkts[nb++] = m;
			continue;
		}
		keep_spare(rx, m);
		if (!local->split.done)
			nb += split_on(rxq, rx, &local->split, pkts + nb, nb_pkts - nb);
	}
	tapbatch_vring_stay_quiet(vr);
	/* Not while a superframe is being split: that may need the mbufs. */
	if (likely(local->split.done) && vr->size - tapbatch_vring_in_flight(vr) >= REFILL &&
	    tapbatch_vhost_rx_refill(rxq, rx)) {
		tapbatch_vhost_notify(rx->kick);
		local->io.syscalls++;
	}
out:
	if (frames > 0) {
		rxq->stats.batches++;
		tapbatch_count_size(rxq->stats.sizes, frames);
	}
	rxq->stats.packets += nb;
	rxq->stats.bytes += bytes;
	return nb;
}
