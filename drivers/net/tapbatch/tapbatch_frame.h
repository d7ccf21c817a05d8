/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * A frame on its way to the kernel: one packet of the application's, or several
 * that were coalesced. The virtio header, and protocol headers that had to be
 * edited, are in memory of the frame's own; all other bytes stay in the mbufs,
 * which nothing here ever writes to.
 */

#ifndef TAPBATCH_FRAME_H
#define TAPBATCH_FRAME_H

#include <stdint.h>
#include <sys/uio.h>

#include <rte_mbuf.h>

#include "tapbatch_parse.h"
#include "tapbatch_virtio.h"

/* Most packets that go into the kernel together (the limit of tx_batched). */
#define TAPBATCH_MAX_BATCH 64

/*
 * Packets of one batch are named by their index in it. Those of a frame form a
 * list: first, next[first], next[next[first]], ... nb_pkts of them.
 */
struct tapbatch_frame {
	uint8_t first;    /* index of the first packet in its batch */
	uint8_t last;     /* index of the last one */
	uint8_t nb_pkts;  /* 1: a packet as the application sent it */
	/* Bytes that hdr replaces at the start of the first packet; each further
	 * packet has as many bytes of headers, which are left out. 0: none.
	 */
	uint16_t hdr_len;
	uint32_t len;     /* bytes of the frame, virtio header not counted */
	/* These two lie in one piece, as the kernel reads them. */
	struct tapbatch_vnet_hdr vnet;
	uint8_t hdr[TAPBATCH_MAX_HDR];
};

#endif /* TAPBATCH_FRAME_H */
