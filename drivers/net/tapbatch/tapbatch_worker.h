/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The kernel's vhost workers: which one serves an instance, and where it runs. They are
 * named after the thread that made them, and until Linux 6.3 threads of the kernel's,
 * from 6.4 on threads of our process.
 */

#ifndef TAPBATCH_WORKER_H
#define TAPBATCH_WORKER_H

#include <stdbool.h>
#include <sys/types.h>

/* Workers that the calling thread has made: at most so many are told apart. */
#define TAPBATCH_MAX_WORKERS 1024

struct tapbatch_workers {
	unsigned int n;
	pid_t pids[TAPBATCH_MAX_WORKERS];
};

/* Lists the workers of the calling thread that can be seen from here. */
void tapbatch_workers_list(struct tapbatch_workers *workers);

/* The worker of the calling thread that is not in the list yet; 0: none that could be
 * seen (another PID namespace).
 */
pid_t tapbatch_workers_new(const struct tapbatch_workers *before);

/* Lets a worker run on one CPU only. 0 or a negative errno; -ESRCH also if it is 0. */
int tapbatch_worker_pin(pid_t worker, unsigned int cpu);

bool tapbatch_worker_exists(pid_t worker);

#endif /* TAPBATCH_WORKER_H */
