/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* The processor's own counters for the calling thread, where machine and kernel let us. */

#ifndef PERF_EVENTS_H
#define PERF_EVENTS_H

#include <stdint.h>

enum event {
	EVENT_CYCLES,
	EVENT_INSTRUCTIONS,
	EVENT_CACHE_MISSES,
	EVENTS
};

/* Starts counting, user space and kernel. Virtual machines often have none of them. */
void events_open(void);

/* What each has counted, 0 if it is not there. */
void events_read(uint64_t value[EVENTS]);

#endif /* PERF_EVENTS_H */
