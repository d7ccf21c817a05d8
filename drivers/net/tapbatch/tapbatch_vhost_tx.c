/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Transmit with engine vhost. A frame takes one descriptor of the ring: a packet whose
 * virtio header fits into its own headroom is described by it, all others, superframes
 * among them, by an indirect table. Packets belong to the worker until it says that it
 * has copied them.
 */

#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_cycles.h>
#include <rte_ether.h>

#include "tapbatch.h"
#include "tapbatch_sizes.h"
#include "tapbatch_tuning.h"
#include "tapbatch_vhost.h"
#include "tapbatch_vnet.h"

/* The virtio header can lie just before the packet, which makes it one piece with it,
 * if nobody else may look at those bytes.
 */
static inline bool
own_headroom(const struct rte_mbuf *m)
{
	return rte_pktmbuf_headroom(m) >= TAPBATCH_VNET_HDR_LEN && m->nb_segs == 1 &&
	       rte_mbuf_refcnt_read(m) == 1 && RTE_MBUF_DIRECT(m);
}

static inline void
free_packets(const struct tapbatch_vhost_tx *tx, struct rte_mbuf **pkts, uint16_t n)
{
	if (tx->plain_free)
		rte_mempool_put_bulk(pkts[0]->pool, (void **)pkts, n);
	else
		rte_pktmbuf_free_bulk(pkts, n);
}

/* Gives back the oldest frames, n packets in all. */
static inline void
release_packets(struct tapbatch_vhost_tx *tx, uint16_t n)
{
	uint16_t from = tx->pkts_tail & tx->vr.mask;
	uint16_t straight = RTE_MIN(n, (uint16_t)(tx->vr.size - from));

	free_packets(tx, &tx->pkts[from], straight);
	if (unlikely(straight < n))
		free_packets(tx, tx->pkts, n - straight);
	tx->pkts_tail += n;
}

uint16_t
tapbatch_vhost_tx_reclaim(struct tapbatch_txq *txq, struct tapbatch_vhost_tx *tx)
{
	struct tapbatch_vring *vr = &tx->vr;
	uint16_t nb_pkts = 0;
	int n = tapbatch_vring_used(vr);
	int i;

	if (n == 0)
		return 0;
	if (unlikely(n < 0)) {
		tapbatch_vhost_break(txq->port_id, "Tx", txq->queue_id,
				     "more frames come back than it was given");
		tx->running = false;
		return 0;
	}
	for (i = 0; i < n; i++) {
		uint32_t id = tapbatch_vring_next_used(vr).id;
		uint16_t age = (uint16_t)(id - tx->oldest) & vr->mask;
		struct tapbatch_vhost_frame *frame;

		if (unlikely(id >= vr->size || age >= (uint16_t)(vr->avail_idx - tx->oldest) ||
			     tx->frames[id].done)) {
			tapbatch_vhost_break(txq->port_id, "Tx", txq->queue_id,
					     "a frame comes back that is not there");
			tx->running = false;
			break;
		}
		vr->used_seen++;
		if (unlikely(age != 0)) {
			tx->frames[id].done = true;
			continue;
		}
		do {
			frame = &tx->frames[tx->oldest & vr->mask];
			frame->done = false;
			nb_pkts += frame->nb_pkts;
			tx->table_tail += frame->nb_table;
			tx->oldest++;
		} while (unlikely(tx->oldest != vr->avail_idx &&
				  tx->frames[tx->oldest & vr->mask].done));
	}
	tx->stalled_since = 0;
	if (likely(nb_pkts > 0))
		release_packets(tx, nb_pkts);
	return nb_pkts;
}

/* Descriptors of the table in one piece, or NULL. The frame takes what is skipped at the
 * table's end as well.
 */
static inline struct vring_desc *
reserve_table(const struct tapbatch_vhost_tx *tx, unsigned int n, uint16_t *skipped)
{
	uint32_t at = tx->table_head & (tx->table_size - 1);
	uint32_t straight = tx->table_size - at;

	*skipped = straight < n ? (uint16_t)straight : 0;
	if (tx->table_head - tx->table_tail + *skipped + n > tx->table_size)
		return NULL;
	return &tx->table[*skipped == 0 ? at : 0];
}

/*
 * Describes a frame by a table, its headers in memory of the queue's own.
 *
 * @param nb_iov  upper bound of the descriptors that it takes
 * @return false: it has more segments than the kernel takes
 */
static bool
describe_indirect(struct tapbatch_txq *txq, struct tapbatch_vhost_tx *tx,
		  const struct tapbatch_frame *frame, struct rte_mbuf **pkts, unsigned int nb_iov)
{
	uint16_t id = tx->vr.avail_idx & tx->vr.mask;
	struct vring_desc *desc = &tx->vr.desc[id];
	uint16_t hdr_len = TAPBATCH_VNET_HDR_LEN + frame->hdr_len;
	struct iovec *iov = txq->iov;
	struct vring_desc *table;
	uint16_t skipped;
	int n, i;

	if (nb_iov > TAPBATCH_MAX_IOV)
		return false;
	table = reserve_table(tx, nb_iov, &skipped);
	n = tapbatch_frame_iov(frame, txq->coalesce.next, pkts, iov, nb_iov);
	if (unlikely(table == NULL || n < 0))
		return false;
	memcpy(tx->headers[id], &frame->vnet, hdr_len);
	table[0].addr = (uintptr_t)tx->headers[id];
	table[0].len = hdr_len;
	table[0].flags = VRING_DESC_F_NEXT;
	table[0].next = 1;
	for (i = 1; i < n; i++) {
		table[i].addr = (uintptr_t)iov[i].iov_base;
		table[i].len = (uint32_t)iov[i].iov_len;
		table[i].flags = VRING_DESC_F_NEXT;
		table[i].next = (uint16_t)(i + 1);
	}
	table[n - 1].flags = 0;
	desc->addr = (uintptr_t)table;
	desc->len = (uint32_t)n * sizeof(*table);
	desc->flags = VRING_DESC_F_INDIRECT;
	tx->frames[id].nb_table = (uint16_t)(skipped + n);
	tx->table_head += skipped + (uint32_t)n;
	return true;
}

/* The descriptor is filled: the frame and its packets are in flight. */
static inline void
enqueue(struct tapbatch_vhost_tx *tx, uint16_t nb_pkts)
{
	tx->frames[tx->vr.avail_idx & tx->vr.mask].nb_pkts = nb_pkts;
	tx->vr.avail_idx++;
}

static void
drop(uint64_t *counter, struct rte_mbuf *m)
{
	(*counter)++;
	rte_pktmbuf_free(m);
}

/* Puts a packet into the ring, in a frame of its own; there is room. */
static inline void
put_packet(struct tapbatch_txq *txq, struct tapbatch_vhost_tx *tx, struct tapbatch_frame *frame,
	   struct rte_mbuf **pkts, uint16_t i)
{
	struct tapbatch_vring *vr = &tx->vr;
	uint16_t id = vr->avail_idx & vr->mask;
	struct rte_mbuf *m = pkts[i];
	uint32_t len = m->pkt_len;

	if (unlikely(tapbatch_vnet_from_mbuf(m, txq->coalesce.l3_only, frame) != 0)) {
		drop(&txq->stats.malformed, m);
		return;
	}
	/* Errors of the worker's calls are not told to us. */
	if (unlikely(len < (txq->coalesce.l3_only ? 1 : RTE_ETHER_HDR_LEN))) {
		drop(&txq->stats.rejected, m);
		return;
	}
	if (likely(frame->hdr_len == 0 && own_headroom(m))) {
		uint8_t *start = rte_pktmbuf_mtod_offset(m, uint8_t *, -TAPBATCH_VNET_HDR_LEN);

		memcpy(start, &frame->vnet, TAPBATCH_VNET_HDR_LEN);
		vr->desc[id].addr = (uintptr_t)start;
		vr->desc[id].len = TAPBATCH_VNET_HDR_LEN + (uint32_t)m->data_len;
		vr->desc[id].flags = 0;
		tx->frames[id].nb_table = 0;
	} else {
		tx->plain_free = false;
		frame->first = (uint8_t)i;
		frame->nb_pkts = 1;
		if (unlikely(!describe_indirect(txq, tx, frame, pkts, m->nb_segs + 1u))) {
			drop(&txq->stats.malformed, m);
			return;
		}
	}
	tx->pkts[tx->pkts_head++ & vr->mask] = m;
	txq->stats.packets++;
	txq->stats.bytes += len;
	enqueue(tx, 1);
}

/* Puts a superframe of several packets into the ring; there is room. */
static void
put_superframe(struct tapbatch_txq *txq, struct tapbatch_vhost_tx *tx,
	       const struct tapbatch_frame *frame, struct rte_mbuf **pkts)
{
	unsigned int left = frame->nb_pkts;
	unsigned int i = frame->first;
	unsigned int nb_iov = 1;

	for (; left > 0; left--, i = txq->coalesce.next[i])
		nb_iov += pkts[i]->nb_segs;
	if (unlikely(!describe_indirect(txq, tx, frame, pkts, nb_iov))) {
		for (left = frame->nb_pkts, i = frame->first; left > 0;
		     left--, i = txq->coalesce.next[i])
			drop(&txq->stats.malformed, pkts[i]);
		return;
	}
	for (left = frame->nb_pkts, i = frame->first; left > 0; left--, i = txq->coalesce.next[i]) {
		struct rte_mbuf *m = pkts[i];

		if (unlikely(m->nb_segs > 1 || !RTE_MBUF_DIRECT(m)))
			tx->plain_free = false;
		tx->pkts[tx->pkts_head++ & tx->vr.mask] = m;
		txq->stats.packets++;
		txq->stats.bytes += m->pkt_len;
	}
	enqueue(tx, frame->nb_pkts);
}

/* How many of n packets there is room for, be each a frame of its own or not. */
static inline uint16_t
room_for(const struct tapbatch_vhost_tx *tx, struct rte_mbuf **pkts, uint16_t n)
{
	/* Half of it: what the wrap around the table's end may cost. */
	uint32_t table = (tx->table_size - (tx->table_head - tx->table_tail)) / 2;
	uint16_t free = tx->vr.size - (uint16_t)(tx->pkts_head - tx->pkts_tail);
	uint16_t i;

	n = RTE_MIN(n, free);
	for (i = 0; i < n; i++) {
		uint32_t need = pkts[i]->nb_segs + 1u;

		/* The longest are refused for themselves. */
		need = RTE_MIN(need, (uint32_t)TAPBATCH_MAX_IOV);
		if (unlikely(need > table))
			break;
		table -= need;
	}
	return i;
}

/* Nothing goes on: is it a pause or the end of the worker? Asked once a second. */
static void
check_stall(struct tapbatch_txq *txq, struct tapbatch_vhost_tx *tx)
{
	uint64_t now = rte_get_tsc_cycles();

	if (tx->stalled_since == 0) {
		tx->stalled_since = now;
	} else if (now - tx->stalled_since > rte_get_tsc_hz()) {
		tx->stalled_since = now;
		if (tapbatch_vhost_worker_died(tx->instance)) {
			tapbatch_vhost_break(txq->port_id, "Tx", txq->queue_id,
					     "the kernel's worker has ended");
			tx->running = false;
		}
	}
}

uint16_t
tapbatch_vhost_tx_burst(void *queue, struct rte_mbuf **pkts, uint16_t nb_pkts)
{
	struct tapbatch_txq *txq = queue;
	struct rte_eth_dev *dev = &rte_eth_devices[txq->port_id];
	struct tapbatch_tx_io *io = tapbatch_local(dev)->tx[txq->queue_id];
	struct tapbatch_vhost_tx *tx = io->vhost;
	uint16_t done = 0;
	uint16_t i, n;

	if (unlikely(tx == NULL))
		return 0;
	tapbatch_vhost_tx_reclaim(txq, tx);
	if (unlikely(!tx->running || tapbatch_local(dev)->tx_down || tapbatch_port(dev)->gone ||
		     tapbatch_port(dev)->broken))
		return tapbatch_tx_drop(txq, pkts, nb_pkts);

	tapbatch_follow_tuning(txq);
	while (done < nb_pkts) {
		struct rte_mbuf **batch = pkts + done;

		n = room_for(tx, batch, RTE_MIN(nb_pkts - done, txq->batch));
		if (unlikely(n == 0)) {
			check_stall(txq, tx);
			break;
		}
		if (n > 1 && txq->coalesce.kinds != 0) {
			tapbatch_coalesce_batch(&txq->coalesce, batch, n);
			for (i = 0; i < txq->coalesce.nb_frames; i++) {
				struct tapbatch_frame *frame = &txq->frames[i];

				if (frame->nb_pkts == 1)
					put_packet(txq, tx, frame, batch, frame->first);
				else
					put_superframe(txq, tx, frame, batch);
			}
		} else {
			for (i = 0; i < n; i++)
				put_packet(txq, tx, &txq->frames[0], batch, i);
		}
		done += n;
		txq->stats.batches++;
		tapbatch_count_size(txq->stats.sizes, n);
		if (tapbatch_vring_publish(&tx->vr)) {
			tapbatch_vhost_notify(tx->kick);
			io->syscalls++;
		}
	}
	txq->stats.no_room += nb_pkts - done;
	return done;
}
