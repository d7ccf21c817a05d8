/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The kernel side of a pair: a port of net_tapbatch on an interface.
 */

#ifndef VHOST_BRIDGE_TAP_H
#define VHOST_BRIDGE_TAP_H

#include "bridge.h"

/*
 * Makes the port, and the interface if it is not there.
 *
 * @param tap     conf and worker set; the rest is set here
 * @param driver  vdev driver's name
 * @return 0, or -1: said what is wrong, nothing is left behind
 */
int vb_tap_open(struct vb_tap *tap, const char *driver);

/* Closes it; an interface that was made here goes. No worker may use it any more. */
void vb_tap_close(struct vb_tap *tap);

/* The interface was deleted: nothing can be forwarded until the tap is made again. */
static inline bool
vb_tap_gone(const struct vb_tap *tap)
{
	return __atomic_load_n(&tap->gone, __ATOMIC_RELAXED);
}

#endif /* VHOST_BRIDGE_TAP_H */
