/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* CPU time of the kernel's softirq threads, which no process is charged for. */

#ifndef PERF_SOFTIRQ_H
#define PERF_SOFTIRQ_H

#include <stdint.h>

/* Of all ksoftirqd threads since boot, in nanoseconds; 0 if the kernel does not say. */
uint64_t softirq_ns(void);

#endif /* PERF_SOFTIRQ_H */
