/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* How far apart two cores are: what it takes to pass a cache line. */

#ifndef PERF_DISTANCE_H
#define PERF_DISTANCE_H

/*
 * Takes about a millisecond, in which both cores are busy.
 *
 * @return nanoseconds, one way; NAN if that cannot be measured: one core, or one that may
 *         not be used
 */
double distance_ns(int core, int other);

#endif /* PERF_DISTANCE_H */
