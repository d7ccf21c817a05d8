/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * One turn of forwarding for one job: both directions of a pair, or all of a
 * switch's. Called by the worker that owns the job, and by no one else.
 */

#ifndef VHOST_BRIDGE_FORWARD_H
#define VHOST_BRIDGE_FORWARD_H

#include "bridge.h"

/*
 * Moves what there is to move, up to a burst per queue.
 *
 * @return frames moved; 0 means that there was nothing to do now
 */
unsigned int vb_forward(const struct vb_job *job);

/* Frames wait for room in a ring: no event will tell when there is some. */
bool vb_forward_waiting(const struct vb_job *job);

/* Frees what a lane holds, counting it as dropped for reason. */
void vb_lane_drop_all(struct vb_lane *lane, enum vb_drop reason);

#endif /* VHOST_BRIDGE_FORWARD_H */
