/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Whether a frame is for this port, promiscuous mode being off.
 */

#ifndef TAPBATCH_FILTER_H
#define TAPBATCH_FILTER_H

#include "tapbatch.h"

/* len: bytes that may be read at frame; too short a frame is for others to judge. */
static inline bool
tapbatch_filter_accepts(const struct tapbatch_filter *filter, const uint8_t *frame, uint32_t len)
{
	const struct rte_ether_addr *dst = (const void *)frame;
	const struct rte_ether_addr *list = filter->macs;
	uint16_t n = filter->nb_macs;
	uint16_t i;

	if (len < RTE_ETHER_HDR_LEN)
		return true;
	if (rte_is_multicast_ether_addr(dst)) {
		if (filter->multicast || rte_is_broadcast_ether_addr(dst))
			return true;
		list = filter->mc_macs;
		n = filter->nb_mc_macs;
	}
	for (i = 0; i < n; i++)
		if (rte_is_same_ether_addr(dst, &list[i]))
			return true;
	return false;
}

#endif /* TAPBATCH_FILTER_H */
