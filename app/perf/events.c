/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* The processor's own counters for the calling thread, where machine and kernel let us. */

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "events.h"

static int fds[EVENTS] = { -1, -1, -1 };

void
events_open(void)
{
	static const uint64_t config[EVENTS] = {
		[EVENT_CYCLES] = PERF_COUNT_HW_CPU_CYCLES,
		[EVENT_INSTRUCTIONS] = PERF_COUNT_HW_INSTRUCTIONS,
		[EVENT_CACHE_MISSES] = PERF_COUNT_HW_CACHE_MISSES,
	};

	for (int i = 0; i < EVENTS; i++) {
		struct perf_event_attr attr = {
			.type = PERF_TYPE_HARDWARE,
			.size = sizeof(attr),
			.config = config[i],
		};

		fds[i] = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	}
}

void
events_read(uint64_t value[EVENTS])
{
	for (int i = 0; i < EVENTS; i++)
		if (fds[i] < 0 || read(fds[i], &value[i], sizeof(value[i])) != sizeof(value[i]))
			value[i] = 0;
}
