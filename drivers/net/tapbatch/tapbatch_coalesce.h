/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Coalescing on transmit: packets of one flow in a batch become one superframe,
 * if the kernel's segmentation makes of it, byte for byte, what the application
 * sent. Pure: mbufs in, frames out, no I/O and no memory of its own.
 */

#ifndef TAPBATCH_COALESCE_H
#define TAPBATCH_COALESCE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "tapbatch_frame.h"

#define TAPBATCH_COALESCE_TCP4 (1u << 0)
#define TAPBATCH_COALESCE_TCP6 (1u << 1)
#define TAPBATCH_COALESCE_UDP4 (1u << 2)
#define TAPBATCH_COALESCE_UDP6 (1u << 3)

struct tapbatch_coalesce {
	/* Set by the caller. */
	uint32_t kinds;  /* TAPBATCH_COALESCE_*: what may be merged */
	bool l3_only;    /* packets start with IP (tun) */

	/* Result of the last batch: frames[0..nb_frames), in order of their first
	 * packets. Only first, last, nb_pkts, len are set for a frame of one packet;
	 * superframes are complete, with virtio header and edited headers.
	 */
	uint16_t nb_frames;
	uint8_t next[TAPBATCH_MAX_BATCH];
	struct tapbatch_frame *frames; /* caller's memory, TAPBATCH_MAX_BATCH of them */

	/* Counters, only ever increased here. */
	uint64_t superframes;
	uint64_t coalesced; /* packets in them */
	uint64_t unmerged[1]; /* by reason */
};

/*
 * Sorts a batch of packets into frames.
 *
 * @param c     kinds, l3_only and frames set
 * @param pkts  packets, TAPBATCH_MAX_BATCH at most; none is changed
 */
void tapbatch_coalesce_batch(struct tapbatch_coalesce *c, struct rte_mbuf **pkts,
			     uint16_t nb_pkts);

#endif /* TAPBATCH_COALESCE_H */
