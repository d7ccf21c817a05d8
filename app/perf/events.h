/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The processor's own counters for the calling thread, and how often that is woken,
 * where machine and kernel let us.
 */

#ifndef PERF_EVENTS_H
#define PERF_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

enum event {
	EVENT_CYCLES,
	EVENT_INSTRUCTIONS,
	EVENT_CACHE_MISSES,
	EVENT_WAKEUPS, /* of this thread: tracepoint sched:sched_waking, on all CPUs */
	EVENTS
};

#define EVENTS_HARDWARE EVENT_WAKEUPS /* the first so many are the processor's */
#define EVENT_ABSENT UINT64_MAX

/*
 * Number of the tracepoint that EVENT_WAKEUPS needs, 0: there is none here. To be called
 * by the parent; where tracefs is not mounted, a child looks in a mount of its own.
 */
uint32_t events_tracepoint(void);

/* Are there counters of the processor here? Virtual machines often have none. */
bool events_hardware(void);

/* Starts counting, user space and kernel. Names the thread, to recognize it by. */
void events_open(uint32_t tracepoint);

/* What each has counted; EVENT_ABSENT if it is not there. */
void events_read(uint64_t value[EVENTS]);

#endif /* PERF_EVENTS_H */
