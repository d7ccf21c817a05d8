/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * A tap that several guests share: a learning switch between them and the host.
 */

#ifndef VHOST_BRIDGE_SWITCH_H
#define VHOST_BRIDGE_SWITCH_H

#include "bridge.h"

/* One turn; see vb_forward(). */
unsigned int vb_switch_forward(const struct vb_job *job);

/*
 * Removes all traces of a guest from its tap's other guests and from the table of
 * addresses: frames it sent that wait for others are dropped, as their memory goes with
 * it. No worker may be forwarding for the tap.
 */
void vb_switch_forget(struct vb_guest *guest);

#endif /* VHOST_BRIDGE_SWITCH_H */
