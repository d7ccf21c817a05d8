/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * A DPDK worker of several threads, each on an lcore of its own with its own share of the
 * port's queues. Each is a struct worker with its own counters; their outcomes are summed.
 */

#ifndef PERF_THREADS_H
#define PERF_THREADS_H

#include "worker.h"

typedef void (*thread_loop)(struct worker *w, uint16_t port);

/* The core of the i-th thread; senders and receivers take every second one. */
int thread_core(const struct job *job, int i);

/* Runs the loop on every lcore of the job, the caller's included, until all return. */
bool threads_run(struct worker *w, thread_loop loop, uint16_t port);

#endif /* PERF_THREADS_H */
