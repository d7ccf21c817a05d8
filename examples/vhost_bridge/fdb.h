/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The addresses that a switch has learned, with ageing. Used by one worker only;
 * fixed in size, and no guest can take more of it than it was given.
 */

#ifndef VHOST_BRIDGE_FDB_H
#define VHOST_BRIDGE_FDB_H

#include <stdint.h>

#include <rte_ether.h>

#define VB_SLOT_TAP UINT16_MAX           /* behind the tap */
#define VB_SLOT_UNKNOWN (UINT16_MAX - 1) /* not learned, or forgotten */

struct vb_fdb;

/* @param age  seconds until an address not heard of is forgotten */
struct vb_fdb *vb_fdb_create(uint32_t age, int socket);
void vb_fdb_free(struct vb_fdb *fdb);

/*
 * A frame from addr came in at slot.
 *
 * @param tsc  now
 * @param max  most addresses that slot may have; at that, a new one takes the place of
 *             one of the slot's own, or is not learned
 */
void vb_fdb_learn(struct vb_fdb *fdb, const struct rte_ether_addr *addr, uint16_t slot,
		  uint64_t tsc, uint32_t max);

/* Where addr is: a slot, VB_SLOT_TAP or VB_SLOT_UNKNOWN. */
uint16_t vb_fdb_find(const struct vb_fdb *fdb, const struct rte_ether_addr *addr, uint64_t tsc);

/* What is behind slot is not known any more. */
void vb_fdb_forget(struct vb_fdb *fdb, uint16_t slot);

/* Addresses behind slot in the table; some may have aged and count until they are met. */
uint32_t vb_fdb_count(const struct vb_fdb *fdb, uint16_t slot);

#endif /* VHOST_BRIDGE_FDB_H */
