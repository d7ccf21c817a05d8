/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * What can be changed of a Tx queue while another thread sends through it: control leaves
 * it in one word, which that thread looks at once per burst.
 */

#ifndef TAPBATCH_TUNING_H
#define TAPBATCH_TUNING_H

#include "tapbatch.h"

/* The word: packets per batch, kinds that may be coalesced, and a number that makes it
 * another one each time, so that a kind given up is tried again.
 */
static inline void
tapbatch_tune(struct tapbatch_txq *txq, uint16_t tx_batched, uint32_t kinds)
{
	uint64_t old = atomic_load_explicit(&txq->tuning, memory_order_relaxed);
	uint64_t word = ((old >> 32) + 1) << 32 | (uint64_t)kinds << 16 | RTE_MAX(tx_batched, 1);

	atomic_store_explicit(&txq->tuning, word, memory_order_relaxed);
}

/* By the thread that sends, before it looks at either. */
static inline void
tapbatch_follow_tuning(struct tapbatch_txq *txq)
{
	uint64_t word = atomic_load_explicit(&txq->tuning, memory_order_relaxed);

	if (likely(word == txq->tuned))
		return;
	txq->tuned = word;
	txq->batch = (uint16_t)word;
	txq->coalesce.kinds = (uint16_t)(word >> 16);
}

#endif /* TAPBATCH_TUNING_H */
