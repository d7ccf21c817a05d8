/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* What the kinds of runs share. */

#ifndef PERF_RUN_PRIVATE_H
#define PERF_RUN_PRIVATE_H

#include "job.h"
#include "process.h"
#include "run.h"
#include "scene.h"

/* CPU time in the window of those that are no workers. */
struct meter {
	const struct process *forwarder; /* NULL: there is none */
	uint64_t user_ns, system_ns;     /* the forwarder's */
	uint64_t softirq_ns;             /* of the kernel's softirq threads */
};

/* Marks a sample; the first reason stands. Returns false. */
bool run_fail(struct sample *s, enum run_status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
bool run_worker_failed(struct sample *s, const struct outcome *out);

/* The interface that the kernel's side uses: the tap itself, or the veth's other end. */
void run_bridge_side(const struct driver *d, const char *iface, char *name, size_t size);

/* Collects the commands that make a port's interface, for drivers that do not. */
void run_prepare_port(struct scene *scene, const struct driver *d, const char *iface);

/* Has the kernel cut superframes and fill in checksums before they reach iface. */
bool run_kernel_cuts(struct scene *scene, int side, const char *iface);

/* iface: of the port; of a guest, its socket. */
void run_make_job(struct job *job, const struct run *run, const struct driver *d,
		  enum job_role role, const char *iface, const char *devargs, int core);

/* Lets workers, the receiver first, run through the schedule, until all have counted what
 * they saw.
 */
bool run_go_through(struct process *workers, struct outcome *outcomes, int n,
		    const struct run_times *times, struct sample *s, struct meter *meter);

/* Lets workers close their ports and end. */
bool run_collect(struct process *workers, struct outcome *outcomes, int n, struct sample *s);

void run_bridge(const struct run *run, const struct run_times *times, struct scene *scene,
		struct sample *s);
void run_echo(const struct run *run, const struct run_times *times, struct scene *scene,
	      struct sample *s);
void run_stream(const struct run *run, const struct run_times *times, struct scene *scene,
		struct sample *s);

/* Times are accounted in ticks, so a difference may come out below nothing; it is 0 then. */
uint64_t value_grown(uint64_t from, uint64_t to);

/* A difference, for each of n. NAN if there are none. */
double value_per(uint64_t from, uint64_t to, uint64_t n);

/* CPU time of a worker's thread per packet, in ns. */
void value_cpu(const struct outcome *o, double *all, double *user, double *system);

/* The processor's counters per packet. first: the metric of EVENT_CYCLES, others follow. */
void value_events(const struct outcome *o, double *first);

/* How often its thread was woken, per second. NAN: cannot be told here. */
double value_wakeups(const struct outcome *o);

/* gbps may be NULL. */
void value_rates(const struct outcome *o, double *mpps, double *gbps, double *burst);

/* Percent of its core that a worker had. */
double value_core_share(const struct outcome *o, const struct run_times *times);

/* What the forwarder took, of a core and per packet. */
void value_forwarder(double *values, const struct meter *meter, double window_ns, uint64_t packets);

#endif /* PERF_RUN_PRIVATE_H */
