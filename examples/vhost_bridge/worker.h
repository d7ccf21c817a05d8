/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The loop of a worker lcore: forwards its jobs, and sleeps when there is nothing
 * to do.
 */

#ifndef VHOST_BRIDGE_WORKER_H
#define VHOST_BRIDGE_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_interrupts.h>

#include "bridge.h"

struct vb_jobs {
	unsigned int n;
	struct vb_job *list[];
};

struct vb_worker {
	unsigned int lcore;
	int epfd; /* Rx interrupts of its ports, and wakefd */
	int wakefd;
	bool busy; /* never sleep */
	bool stop;
	bool running;
	uint64_t idle_tsc;
	struct vb_jobs *jobs;
	struct rte_epoll_event wake_event;
	/* Written by the worker only. */
	uint64_t turns __rte_cache_aligned; /* no pointer is kept from turn to turn */
	uint64_t sleeps;
	uint64_t slept_tsc;
	uint32_t nap_us;       /* how long the next nap is */
	uint64_t asleep_since; /* tsc; 0: awake */
};

/* @return 0, or negative errno: no worker was made */
int vb_worker_init(struct vb_worker *worker, unsigned int lcore, uint32_t idle_us, bool busy);
void vb_worker_fini(struct vb_worker *worker);

/* For rte_eal_remote_launch(); arg is the struct vb_worker. */
int vb_worker_main(void *arg);

/* Makes a sleeping worker look. From any thread, also with locks held. */
void vb_worker_wake(struct vb_worker *worker);

/*
 * Returns when the worker has begun a new turn: it uses nothing any more that it
 * could not find now. Not to be called with a lock held that forwarding takes.
 */
void vb_worker_wait(struct vb_worker *worker);

/* Time it has slept so far, in tsc. */
uint64_t vb_worker_slept(const struct vb_worker *worker);

/*
 * Gives the worker another list of jobs, and returns the old one, unused, to be
 * freed by the caller.
 */
struct vb_jobs *vb_worker_set_jobs(struct vb_worker *worker, struct vb_jobs *jobs);

#endif /* VHOST_BRIDGE_WORKER_H */
