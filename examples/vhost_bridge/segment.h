/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Splitting of a superframe for a receiver that takes none. Payload is not
 * copied: each packet is an mbuf of headers and others that refer to the
 * superframe's data. Pure: no I/O.
 */

#ifndef VHOST_BRIDGE_SEGMENT_H
#define VHOST_BRIDGE_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "offload.h"

/*
 * Splits a TCP or UDP superframe.
 *
 * @param m         the superframe with its tso_segsz; freed on success, else
 *                  unchanged
 * @param headers   as vb_offload_to_guest() found them
 * @param complete  write L4 checksums; else they are asked for in Tx flags
 * @param out       takes up to max mbufs, allocated from m->pool
 * @return packets in out, -ENOMEM: pool empty, -EINVAL: would be more than max,
 *         or the headers cannot be those of a superframe
 */
int vb_segment(struct rte_mbuf *m, const struct vb_headers *headers, bool complete,
	       struct rte_mbuf **out, unsigned int max);

#endif /* VHOST_BRIDGE_SEGMENT_H */
