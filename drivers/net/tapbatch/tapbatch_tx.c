/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Transmit: a burst is cut into batches, a batch is sorted into frames, frames are
 * described by vectors and written by the engine. What was written, or can never be,
 * is freed and counted; what found no room goes back to the application.
 */

#include <string.h>

#include <rte_branch_prediction.h>

#include "tapbatch.h"
#include "tapbatch_log.h"
#include "tapbatch_rw.h"
#include "tapbatch_sizes.h"
#include "tapbatch_tuning.h"
#include "tapbatch_vnet.h"

/* Result of a frame that never reached the engine: its offload request is nonsense. */
#define MALFORMED INT16_MIN

/* The virtio header can lie just before the packet, which makes it one piece with it,
 * if nobody else may look at those bytes.
 */
static inline bool
own_headroom(const struct rte_mbuf *m)
{
	return rte_pktmbuf_headroom(m) >= TAPBATCH_VNET_HDR_LEN && m->nb_segs == 1 &&
	       rte_mbuf_refcnt_read(m) == 1 && RTE_MBUF_DIRECT(m);
}

/* Describes one frame, or sets its result if that cannot be done. Returns how many
 * vectors were used; -1: there were too few, and another time there will be more.
 */
static inline int
describe(struct tapbatch_txq *txq, struct rte_mbuf **pkts, struct tapbatch_frame *frame,
	 struct tapbatch_write *write, struct iovec *iov, unsigned int max)
{
	int n;

	if (unlikely(max == 0))
		return -1;
	write->iov = iov;
	write->result = 0;
	frame->in_headroom = false;
	if (frame->nb_pkts == 1) {
		struct rte_mbuf *m = pkts[frame->first];

		if (unlikely(tapbatch_vnet_from_mbuf(m, txq->coalesce.l3_only, frame) != 0)) {
			write->result = MALFORMED;
			return 0;
		}
		if (likely(frame->hdr_len == 0 && own_headroom(m))) {
			uint8_t *start = rte_pktmbuf_mtod_offset(m, uint8_t *,
								 -TAPBATCH_VNET_HDR_LEN);

			/* The application's again if there is no room. */
			memcpy(frame->hdr, start, TAPBATCH_VNET_HDR_LEN);
			frame->in_headroom = true;
			memcpy(start, &frame->vnet, TAPBATCH_VNET_HDR_LEN);
			iov->iov_base = start;
			iov->iov_len = TAPBATCH_VNET_HDR_LEN + (size_t)m->data_len;
			write->nb_iov = 1;
			return 1;
		}
	}
	n = tapbatch_frame_iov(frame, txq->coalesce.next, pkts, iov,
			       RTE_MIN(max, (unsigned int)TAPBATCH_MAX_IOV));
	if (unlikely(n < 0)) {
		if (max < TAPBATCH_MAX_IOV)
			return -1;
		write->result = MALFORMED;
		return 0;
	}
	write->nb_iov = (uint16_t)n;
	return n;
}

static inline void
count_batch(struct tapbatch_txq *txq, uint32_t nb_pkts)
{
	txq->stats.batches++;
	tapbatch_count_size(txq->stats.sizes, nb_pkts);
}

/* Writes frames that are described, not all of the batch. */
static __rte_noinline void
write_part(struct tapbatch_txq *txq, const struct tapbatch_engine *engine,
	   struct tapbatch_tx_io *io, uint16_t begin, uint16_t end)
{
	uint32_t nb_pkts = 0;
	uint16_t i;

	if (begin == end)
		return;
	engine->tx(io, &txq->writes[begin], end - begin);
	for (i = begin; i < end; i++)
		nb_pkts += txq->frames[i].nb_pkts;
	count_batch(txq, nb_pkts);
}

/* Describes and writes all frames; the result of each is in txq->writes. Returns whether
 * all went in one call of the engine, which is not counted yet then.
 */
static bool
write_frames(struct tapbatch_txq *txq, const struct tapbatch_engine *engine,
	     struct tapbatch_tx_io *io, struct rte_mbuf **pkts)
{
	uint16_t nb_frames = txq->coalesce.nb_frames;
	uint16_t begin = 0; /* first frame that is described and not written */
	unsigned int used = 0;
	uint16_t i = 0;

	while (i < nb_frames) {
		int n = describe(txq, pkts, &txq->frames[i], &txq->writes[i], &txq->iov[used],
				 TAPBATCH_TX_IOV - used);

		if (likely(n > 0)) {
			used += (unsigned int)n;
			i++;
			continue;
		}
		/* No vectors left, or a frame that must be left out: write so far. */
		write_part(txq, engine, io, begin, i);
		used = 0;
		if (n == 0)
			i++;
		begin = i;
	}
	if (unlikely(begin > 0)) {
		write_part(txq, engine, io, begin, i);
		return false;
	}
	engine->tx(io, txq->writes, nb_frames);
	return true;
}

/* Frames of one packet each. */
static void
each_alone(struct tapbatch_txq *txq, struct rte_mbuf **pkts, uint16_t n)
{
	uint16_t i;

	for (i = 0; i < n; i++) {
		struct tapbatch_frame *frame = &txq->frames[i];

		frame->first = (uint8_t)i;
		frame->last = (uint8_t)i;
		frame->nb_pkts = 1;
		frame->hdr_len = 0;
		frame->len = pkts[i]->pkt_len;
	}
	txq->coalesce.nb_frames = n;
}

static const char *
kind_name(const struct tapbatch_frame *frame, uint32_t *kind)
{
	switch (frame->vnet.gso_type) {
	case TAPBATCH_VNET_GSO_TCPV4:
		*kind = TAPBATCH_COALESCE_TCP4;
		return "TCP over IPv4";
	case TAPBATCH_VNET_GSO_TCPV6:
		*kind = TAPBATCH_COALESCE_TCP6;
		return "TCP over IPv6";
	default:
		*kind = TAPBATCH_COALESCE_UDP4 | TAPBATCH_COALESCE_UDP6;
		return "UDP";
	}
}

/* The kernel refuses a superframe that we made. Its packets are sound, so they go out
 * one by one, and no more of the kind are made.
 */
static void
step_down(struct tapbatch_txq *txq, const struct tapbatch_frame *frame, int result)
{
	uint32_t kind;
	const char *name = kind_name(frame, &kind);

	txq->stats.refused_superframes++;
	if ((txq->coalesce.kinds & kind) != 0)
		TAPBATCH_LOG(NOTICE,
			     "port %u Tx queue %u: the kernel refuses superframes of %s (%s), they "
			     "are no longer made",
			     txq->port_id, txq->queue_id, name, strerror(-result));
	txq->coalesce.kinds &= ~kind;
}

/* Collects the packets of refused superframes in order. Returns how many. */
static uint16_t
take_refused(struct tapbatch_txq *txq, struct rte_mbuf **pkts, struct rte_mbuf **refused)
{
	uint16_t n = 0;
	uint16_t i;

	for (i = 0; i < txq->coalesce.nb_frames; i++) {
		const struct tapbatch_frame *frame = &txq->frames[i];
		int result = txq->writes[i].result;
		unsigned int left = frame->nb_pkts;
		unsigned int k = frame->first;

		if (left == 1 || result == 0 || result == -EIO || result == -EBADFD ||
		    tapbatch_no_room(result))
			continue;
		step_down(txq, frame, result);
		for (; left > 0; left--, k = txq->coalesce.next[k]) {
			refused[n++] = pkts[k];
			pkts[k] = NULL; /* no longer of this batch */
		}
	}
	return n;
}

static void
restore_headroom(struct rte_mbuf *m, const struct tapbatch_frame *frame)
{
	memcpy(rte_pktmbuf_mtod_offset(m, uint8_t *, -TAPBATCH_VNET_HDR_LEN), frame->hdr,
	       TAPBATCH_VNET_HDR_LEN);
}

/* Counts what became of the packets of each frame. Those that the application gets
 * back are listed. Returns how many.
 */
static uint16_t
settle(struct tapbatch_txq *txq, struct rte_mbuf **pkts, struct rte_mbuf **unsent)
{
	uint16_t nb_unsent = 0;
	uint16_t i;

	for (i = 0; i < txq->coalesce.nb_frames; i++) {
		const struct tapbatch_frame *frame = &txq->frames[i];
		int result = txq->writes[i].result;
		unsigned int left = frame->nb_pkts;
		unsigned int k = frame->first;

		for (; left > 0; left--, k = txq->coalesce.next[k]) {
			if (pkts[k] == NULL)
				continue;
			if (likely(result == 0)) {
				txq->stats.packets++;
				txq->stats.bytes += pkts[k]->pkt_len;
			} else if (tapbatch_no_room(result)) {
				txq->stats.no_room++;
				if (frame->in_headroom)
					restore_headroom(pkts[k], frame);
				unsent[nb_unsent++] = pkts[k];
				pkts[k] = NULL;
			} else if (result == MALFORMED) {
				txq->stats.malformed++;
			} else if (result == -EIO || result == -EBADFD) {
				txq->stats.link_down++;
			} else {
				txq->stats.rejected++;
			}
		}
	}
	return nb_unsent;
}

static uint16_t send_each_alone(struct tapbatch_txq *txq, const struct tapbatch_engine *engine,
				struct tapbatch_tx_io *io, struct rte_mbuf **pkts, uint16_t n);

/* The rare ends of a batch: some frame was not written. Returns how many packets were
 * consumed; those that were not stand at the end of pkts then, in order.
 */
static uint16_t
finish_batch(struct tapbatch_txq *txq, const struct tapbatch_engine *engine,
	     struct tapbatch_tx_io *io, struct rte_mbuf **pkts, uint16_t n)
{
	struct rte_mbuf *refused[TAPBATCH_MAX_BATCH];
	struct rte_mbuf *unsent[TAPBATCH_MAX_BATCH];
	uint16_t nb_refused, nb_unsent;
	uint16_t i;

	nb_refused = take_refused(txq, pkts, refused);
	nb_unsent = settle(txq, pkts, unsent);
	for (i = 0; i < n; i++)
		rte_pktmbuf_free(pkts[i]);
	if (nb_refused > 0) {
		uint16_t sent = send_each_alone(txq, engine, io, refused, nb_refused);

		memcpy(&unsent[nb_unsent], &refused[sent], sizeof(unsent[0]) * (nb_refused - sent));
		nb_unsent += nb_refused - sent;
	}
	memcpy(&pkts[n - nb_unsent], unsent, sizeof(unsent[0]) * nb_unsent);
	return n - nb_unsent;
}

/* Writes the frames of a batch. Returns how many of its packets were consumed. */
static inline uint16_t
send_batch(struct tapbatch_txq *txq, const struct tapbatch_engine *engine,
	   struct tapbatch_tx_io *io, struct rte_mbuf **pkts, uint16_t n)
{
	uint64_t bytes = 0;
	uint16_t i;

	if (likely(write_frames(txq, engine, io, pkts)))
		count_batch(txq, n);
	for (i = 0; i < txq->coalesce.nb_frames; i++)
		if (unlikely(txq->writes[i].result != 0))
			return finish_batch(txq, engine, io, pkts, n);
	for (i = 0; i < n; i++)
		bytes += pkts[i]->pkt_len;
	txq->stats.packets += n;
	txq->stats.bytes += bytes;
	rte_pktmbuf_free_bulk(pkts, n);
	return n;
}

static uint16_t
send_each_alone(struct tapbatch_txq *txq, const struct tapbatch_engine *engine,
		struct tapbatch_tx_io *io, struct rte_mbuf **pkts, uint16_t n)
{
	each_alone(txq, pkts, n);
	return send_batch(txq, engine, io, pkts, n);
}

uint16_t
tapbatch_tx_drop(struct tapbatch_txq *txq, struct rte_mbuf **pkts, uint16_t n)
{
	txq->stats.link_down += n;
	rte_pktmbuf_free_bulk(pkts, n);
	return n;
}

uint16_t
tapbatch_tx_burst(void *queue, struct rte_mbuf **pkts, uint16_t nb_pkts)
{
	struct tapbatch_txq *txq = queue;
	struct tapbatch_local *local = tapbatch_local(&rte_eth_devices[txq->port_id]);
	struct tapbatch_tx_io *io = local->tx[txq->queue_id];
	uint16_t done = 0;

	if (unlikely(local->tx_down))
		return tapbatch_tx_drop(txq, pkts, nb_pkts);
	tapbatch_follow_tuning(txq);
	while (done < nb_pkts) {
		uint16_t n = RTE_MIN(nb_pkts - done, txq->batch);
		uint16_t sent;

		if (n > 1 && txq->coalesce.kinds != 0) {
			tapbatch_coalesce_batch(&txq->coalesce, pkts + done, n);
			sent = send_batch(txq, local->engine, io, pkts + done, n);
		} else {
			sent = send_each_alone(txq, local->engine, io, pkts + done, n);
		}
		done += sent;
		if (unlikely(sent < n))
			break;
	}
	return done;
}

/* Nothing has to be written into packets before they are sent; what is checked here
 * saves the application a packet that is dropped and counted there.
 */
uint16_t
tapbatch_tx_prepare(void *queue, struct rte_mbuf **pkts, uint16_t nb_pkts)
{
	struct tapbatch_txq *txq = queue;
	struct tapbatch_frame frame;
	uint16_t i;

	for (i = 0; i < nb_pkts; i++) {
		int ret = tapbatch_vnet_from_mbuf(pkts[i], txq->coalesce.l3_only, &frame);

		if (ret == 0 && pkts[i]->nb_segs >= TAPBATCH_MAX_IOV)
			ret = -E2BIG;
		if (ret != 0) {
			rte_errno = -ret;
			break;
		}
	}
	return i;
}
