/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * What all workers share: the dialogue with the parent, and the measurement's
 * times, which a loop checks with one comparison per burst.
 */

#ifndef PERF_WORKER_H
#define PERF_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include <rte_branch_prediction.h>
#include <rte_cycles.h>

#include "job.h"

enum window_phase {
	PHASE_WARM_UP,
	PHASE_MEASURE,
	PHASE_COOL_DOWN,
	PHASE_OVER
};

struct worker {
	int fd; /* to the parent */
	struct job job;
	struct schedule times;
	struct outcome out;

	struct counters count; /* the loop's own */
	enum window_phase phase;
	uint64_t next_tick; /* when the phase ends, in TSC ticks */
	double ticks_per_ns;
	bool finished; /* the parent has been told */
	bool senders_ended;
	uint16_t thread;           /* number of this one among the job's */
	const struct worker *main; /* of a further thread: who talks to the parent */
};

/* Runs the job that the parent sends over fd. Returns the exit status. */
int worker_main(const char *program, int fd);

/* Tells the parent that all is set up, and waits for the times. False: give up. */
bool worker_ready(struct worker *w);

/* Records why it did not work; the first reason stands. Returns false. */
bool worker_fail(struct worker *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Tells the parent that all is counted, and waits until it has read the interface's
 * counters, which go with the port. To be called before a port is closed.
 */
void worker_finish(struct worker *w);

/* Takes the snapshots that are due and goes on to the next phase. */
void worker_next_phase(struct worker *w);

/* Waits for the start, then lets worker_over() run. */
void worker_begin(struct worker *w);

/* True when the time to send is over. To be called once per burst. */
static inline bool
worker_over(struct worker *w)
{
	if (likely(rte_rdtsc() < w->next_tick))
		return false;
	worker_next_phase(w);
	return w->phase == PHASE_OVER;
}

/*
 * When a receiver may end: time to send is over, and nothing has come for a
 * while. idle says that this poll found nothing.
 */
bool worker_drained(struct worker *w, bool idle);

/* What a receiver that is held back does with n packets. */
static inline void
worker_dawdle(const struct worker *w, uint32_t n)
{
	uint64_t end;

	if (likely(w->job.hold_ns == 0) || w->phase == PHASE_OVER)
		return;
	end = rte_rdtsc() + (uint64_t)((double)w->job.hold_ns * n * w->ticks_per_ns);
	while (rte_rdtsc() < end)
		;
}

/* What one does that shares its core, when there is nothing to do. */
static inline void
worker_nap(const struct worker *w)
{
	if (w->job.nap_us != 0)
		usleep(w->job.nap_us);
}

uint64_t monotonic_ns(void);

/* The roles; each sets up, says ready, loops, and fills in w->out. */
bool send_dpdk(struct worker *w);
bool receive_dpdk(struct worker *w);
bool forward_dpdk(struct worker *w);
bool echo_dpdk(struct worker *w);
bool port_dpdk(struct worker *w);
bool send_rw(struct worker *w);
bool receive_rw(struct worker *w);
bool send_uring(struct worker *w);
bool receive_uring(struct worker *w);
bool send_superframe(struct worker *w);
bool receive_superframe(struct worker *w);
bool forward_superframe(struct worker *w);
bool echo_rw(struct worker *w);
bool client(struct worker *w);

#endif /* PERF_WORKER_H */
