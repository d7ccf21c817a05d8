/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Why the bridge dropped a frame. Each reason has a counter in each direction of
 * each lane, a name in telemetry, and a line in the guide.
 */

#ifndef VHOST_BRIDGE_DROPS_H
#define VHOST_BRIDGE_DROPS_H

enum vb_drop {
	VB_DROP_RUNT,        /* shorter than an Ethernet header */
	VB_DROP_TOO_LONG,    /* longer than any frame can be */
	VB_DROP_BAD_OFFLOAD, /* offload header and bytes contradict */
	VB_DROP_UFO,         /* UDP fragmentation that the guest was told not to use */
	VB_DROP_NO_BUFFER,   /* larger than what the guest's ring can ever hold */
	VB_DROP_NO_MBUF,     /* mempool empty and nothing on its way that would refill it */
	VB_DROP_GUEST_GONE,  /* was on its way when the guest disconnected */
	VB_DROP_GUEST_FULL,  /* switch: too many wait for this guest already */
	VB_DROP_NO_GUEST,    /* switch: addressed to a guest that is not there */
	VB_DROP_SAME_PORT,   /* switch: the receiver is where it came from */
	VB_DROP_REMOVED,     /* was on its way when its pair was removed */
	VB_NB_DROPS
};

extern const char *const vb_drop_names[VB_NB_DROPS];

#endif /* VHOST_BRIDGE_DROPS_H */
