/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Steps of forwarding on one lane, which forward.c takes for a pair and switch.c for
 * several guests. For the worker that owns the lane.
 */

#ifndef VHOST_BRIDGE_LANE_H
#define VHOST_BRIDGE_LANE_H

#include "bridge.h"

static inline void
vb_drop(struct vb_count *count, enum vb_drop reason, struct rte_mbuf *m)
{
	count->drops[reason]++;
	rte_pktmbuf_free(m);
}

/* Brings the lane up to date with its guest. Returns whether one is there. */
bool vb_guest_there(struct vb_lane *lane);

/*
 * Makes one frame ready for the guest and adds it, or its segments, to to_guest, or drops
 * it. Returns false when there is no mbuf for that now; the frame stays as it is.
 */
bool vb_prepare(struct vb_lane *lane, struct rte_mbuf *m);

/* Sends what there is in to_guest. Returns how many frames it has less. */
uint16_t vb_flush_to_guest(struct vb_lane *lane);

/* Adds (sign 1) the mbufs of n frames to those that wait, or subtracts them (-1). */
void vb_count_waiting(uint32_t *waiting, struct rte_mbuf *const *pkts, uint16_t n, int sign);

/* False if the frame that a guest sent may not go on; then it was dropped. */
bool vb_accept_from_guest(struct vb_lane *lane, struct rte_mbuf *m);

/* Adds a frame to to_tap, which has room for a burst when it is empty, or drops it. */
void vb_add_to_tap(const struct vb_job *job, struct vb_lane *lane, struct rte_mbuf *m);

/* Sends what there is in to_tap. Returns how many frames the tap took. */
uint16_t vb_flush_to_tap(const struct vb_job *job, struct vb_lane *lane);

#endif /* VHOST_BRIDGE_LANE_H */
