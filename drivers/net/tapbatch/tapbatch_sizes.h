/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Histograms of sizes: how many packets a batch or a superframe had, in powers of two.
 */

#ifndef TAPBATCH_SIZES_H
#define TAPBATCH_SIZES_H

#include <stdint.h>

#include <rte_common.h>

#include "rte_pmd_tapbatch.h"

/* Counts one that has n of something, n being 1 or more. Paid per batch, not per packet. */
static inline void
tapbatch_count_size(uint64_t sizes[RTE_PMD_TAPBATCH_SIZES], uint32_t n)
{
	unsigned int i = (unsigned int)rte_fls_u32(n) - 1;

	sizes[RTE_MIN(i, RTE_PMD_TAPBATCH_SIZES - 1u)]++;
}

#endif /* TAPBATCH_SIZES_H */
