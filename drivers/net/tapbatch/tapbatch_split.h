/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Splitting on receive: one superframe from the kernel becomes the packets that
 * the kernel's own segmentation would have made of it. Pure.
 */

#ifndef TAPBATCH_SPLIT_H
#define TAPBATCH_SPLIT_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "tapbatch_parse.h"
#include "tapbatch_virtio.h"
#include "tapbatch_vnet.h"

/* Headers are copied in blocks of this size, so that the copy has no tail. */
#define TAPBATCH_SPLIT_BLOCK 64

/*
 * A superframe being handed out. Begun once, then asked for segments until done.
 * To be zeroed before it is first used.
 */
struct tapbatch_split {
	bool done;        /* nothing left to hand out; the pieces are free again */
	uint32_t nb_left; /* segments not handed out yet */
	uint32_t wants;   /* TAPBATCH_RX_* */

	/* Segments that fit in no mbuf of the pool, without TAPBATCH_RX_SCATTER. Only
	 * ever increased here.
	 */
	uint64_t dropped;

	/* Private from here: the frame, in two pieces, and how far it is handed out. */
	const uint8_t *piece[2];
	uint32_t piece_len[2];
	uint32_t offset; /* of the next payload byte, in piece[0] */
	uint32_t left;   /* bytes of payload not handed out yet */
	uint16_t gso_size;
	uint16_t ip_id;    /* of the next segment, host order */
	uint32_t tcp_seq;  /* of the next segment, host order */
	uint8_t tcp_flags; /* of the next segment, if it is the last; else without FIN, PSH */
	struct tapbatch_layout layout;
	uint32_t packet_type;
	uint64_t ol_flags;
	/* Sums of what is the same in all segments, see tapbatch_cksum.h. */
	uint64_t ip_sum;     /* IPv4 header but for its length and id */
	uint64_t pseudo_sum; /* pseudo-header but for its length */
	uint64_t l4_sum;     /* that and the L4 header, but for what differs */
	/* Headers, fields that differ among segments as 0. */
	alignas(TAPBATCH_SPLIT_BLOCK) uint8_t hdr[TAPBATCH_VNET_MAX_HDR];
};

/*
 * Takes up a superframe. Headers must lie whole in piece 0, and are at most
 * TAPBATCH_VNET_MAX_HDR long. The memory of the pieces must stay until done. A superframe
 * that was not done yet is dropped by this.
 *
 * @param piece0  len0 bytes; len1 further ones at piece1, which may be none
 * @return number of segments it will give, at least 1; or -EINVAL: virtio header and
 *         bytes contradict, the frame must be dropped (s is done then)
 */
int tapbatch_split_begin(struct tapbatch_split *s, const struct tapbatch_vnet_hdr *vnet,
			 const uint8_t *piece0, uint32_t len0, const uint8_t *piece1, uint32_t len1,
			 uint32_t wants);

/*
 * Gives the next segments, as mbufs of the pool with port set. Each is in one mbuf, or,
 * with TAPBATCH_RX_SCATTER and if need be, in a chain. Bytes are copied: at every size that
 * was faster than to attach mbufs to the superframe.
 *
 * L4 checksums are full in the packets; with TAPBATCH_RX_L4_CKSUM they are left open
 * instead, the pseudo-header's sum in the field, and marked RTE_MBUF_F_RX_L4_CKSUM_NONE.
 *
 * @return how many were stored in pkts; fewer than nb_pkts when the superframe is
 *         done (s->done) or the pool is empty (not done: call again later)
 */
uint16_t tapbatch_split_next(struct tapbatch_split *s, struct rte_mempool *pool, uint16_t port,
			     struct rte_mbuf **pkts, uint16_t nb_pkts);

#endif /* TAPBATCH_SPLIT_H */
