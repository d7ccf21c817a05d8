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

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <rte_mbuf.h>

#include "tapbatch_parse.h"
#include "tapbatch_virtio.h"

/* Most packets that go into the kernel together (the limit of tx_batched). */
#define TAPBATCH_MAX_BATCH 64

/* Most iovecs of a superframe (UIO_MAXIOV of the kernel's writev is 1024). */
#define TAPBATCH_MAX_IOV 1024

/* Most bytes of a superframe, virtio header not counted. */
#define TAPBATCH_MAX_FRAME 65535

/*
 * Packets of one batch are named by their index in it. Those of a frame form a
 * list: first, next[first], next[next[first]], ... nb_pkts of them.
 */
struct tapbatch_frame {
	uint8_t first;   /* index of the first packet in its batch */
	uint8_t last;    /* index of the last one */
	uint8_t nb_pkts; /* 1: a packet as the application sent it */
	/* The virtio header lies in the packet's headroom, and what was there in hdr. */
	bool in_headroom;
	/* Bytes that hdr replaces at the start of the first packet; each further
	 * packet has as many bytes of headers, which are left out. 0: none.
	 */
	uint16_t hdr_len;
	uint32_t len; /* bytes of the frame, virtio header not counted */
	/* These two lie in one piece, as the kernel reads them. */
	struct tapbatch_vnet_hdr vnet;
	uint8_t hdr[TAPBATCH_MAX_HDR];
};

_Static_assert(offsetof(struct tapbatch_frame, hdr) ==
		       offsetof(struct tapbatch_frame, vnet) + TAPBATCH_VNET_HDR_LEN,
	       "virtio header and protocol headers go out as one iovec");

/*
 * Describes a frame for writev(): virtio header and edited headers in iov[0],
 * then payload where it lies in the mbufs. Empty mbuf segments are skipped.
 *
 * @param next  links of the batch that the frame is of
 * @param pkts  the batch; must stay until the frame is written, as must the frame
 * @param max   iovecs there is room for; TAPBATCH_MAX_IOV suffices for superframes
 * @return number of iovecs, 1 or more, or -E2BIG: an mbuf of more segments than fit
 */
static inline int
tapbatch_frame_iov(const struct tapbatch_frame *frame, const uint8_t *next,
		   struct rte_mbuf *const *pkts, struct iovec *iov, unsigned int max)
{
	unsigned int left = frame->nb_pkts;
	unsigned int i = frame->first;
	unsigned int n = 1;

	if (max < 1)
		return -E2BIG;
	iov[0].iov_base = (void *)(uintptr_t)&frame->vnet;
	iov[0].iov_len = TAPBATCH_VNET_HDR_LEN + frame->hdr_len;

	for (; left > 0; left--, i = next[i]) {
		const struct rte_mbuf *m = pkts[i];
		uint32_t skip = frame->hdr_len;

		do {
			uint32_t len = rte_pktmbuf_data_len(m);

			if (len > skip) {
				if (n == max)
					return -E2BIG;
				iov[n].iov_base = rte_pktmbuf_mtod_offset(m, void *, skip);
				iov[n].iov_len = len - skip;
				n++;
				skip = 0;
			} else {
				skip -= len;
			}
			m = m->next;
		} while (m != NULL);
	}
	return (int)n;
}

#endif /* TAPBATCH_FRAME_H */
