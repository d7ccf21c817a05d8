/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The vhost side of a pair: a port of DPDK's vhost driver on a socket, and what
 * its guest does: connects, negotiates, enables queues, goes.
 */

#ifndef VHOST_BRIDGE_GUEST_H
#define VHOST_BRIDGE_GUEST_H

#include "bridge.h"

/*
 * Makes the port, with the socket open to guests at the end.
 *
 * @param guest  conf, tap and slot set; the rest is set here
 * @return 0, or -1: said what is wrong, nothing is left behind
 */
int vb_guest_open(struct vb_guest *guest);

/* Closes it. No worker may use it any more. */
void vb_guest_close(struct vb_guest *guest);

static inline bool
vb_guest_up(const struct vb_guest *guest)
{
	return __atomic_load_n(&guest->epoch, __ATOMIC_ACQUIRE) & 1;
}

#endif /* VHOST_BRIDGE_GUEST_H */
