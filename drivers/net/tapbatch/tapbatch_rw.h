/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Reading and writing frame by frame: the engine rw, and what other engines do
 * where a batch of one or two is not worth their own way.
 */

#ifndef TAPBATCH_RW_H
#define TAPBATCH_RW_H

#include <errno.h>

#include "tapbatch_engine.h"

/* As the functions of the same names in struct tapbatch_engine. */
uint16_t tapbatch_rw_rx(struct tapbatch_rx_io *io, uint16_t n);
void tapbatch_rw_tx(struct tapbatch_tx_io *io, struct tapbatch_write *writes, uint16_t n);

/* Results of a write that may go better the next time; all others are final. */
static inline bool
tapbatch_no_room(int result)
{
	return result == -EAGAIN || result == -ENOBUFS || result == -ENOMEM;
}

#endif /* TAPBATCH_RW_H */
