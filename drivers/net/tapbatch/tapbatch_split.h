/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Splitting on receive: one superframe from the kernel becomes the packets that
 * the kernel's own segmentation would have made of it. Pure.
 */

#ifndef TAPBATCH_SPLIT_H
#define TAPBATCH_SPLIT_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "tapbatch_virtio.h"
#include "tapbatch_vnet.h"

/* A superframe being handed out. Begun once, then asked for segments until done. */
struct tapbatch_split {
	/* bytes of the frame: two pieces, the second may be empty */
	const uint8_t *piece[2];
	uint32_t piece_len[2];
	uint32_t wants;    /* TAPBATCH_RX_* */
	/* ... private state: next payload offset, sequence number, IPv4 id, ... */
	bool done;
};

/*
 * Takes up a superframe. Headers must lie whole in piece 0. The memory of the
 * pieces must stay until done.
 *
 * @return number of segments it will give, or -EINVAL: virtio header and bytes
 *         contradict, the frame must be dropped
 */
int tapbatch_split_begin(struct tapbatch_split *s, const struct tapbatch_vnet_hdr *vnet,
			 const uint8_t *piece0, uint32_t len0, const uint8_t *piece1, uint32_t len1,
			 uint32_t wants);

/*
 * Gives the next segments, as mbufs of the pool with port set.
 *
 * @return how many were stored in pkts; fewer than nb_pkts when the superframe is
 *         done (s->done) or the pool is empty (not done: call again later)
 */
uint16_t tapbatch_split_next(struct tapbatch_split *s, struct rte_mempool *pool, uint16_t port,
			     struct rte_mbuf **pkts, uint16_t nb_pkts);

#endif /* TAPBATCH_SPLIT_H */
