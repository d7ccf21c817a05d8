/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * A worker's life: read the job, pin itself to the core, run the role, answer.
 * And the snapshots at the ends of the measured window.
 */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "worker.h"

/* A receiver ends when nothing came for so long, or after so much more, come what may. */
#define DRAIN_QUIET_NS 30000000ull
#define DRAIN_QUIET_SHARED_NS 300000000ull     /* where others had part of the core */
#define DRAIN_QUIET_FORWARDED_NS 1000000000ull /* where a forwarder may have to wait for it */
#define DRAIN_MOST_NS 10000000000ull

uint64_t
monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

bool
worker_fail(struct worker *w, const char *fmt, ...)
{
	va_list ap;

	if (w->out.error[0] == '\0') {
		va_start(ap, fmt);
		vsnprintf(w->out.error, sizeof(w->out.error), fmt, ap);
		va_end(ap);
	}
	return false;
}

/* EAL's own estimate is not there in raw workers, so all use this one. */
static double
ticks_per_ns(void)
{
	uint64_t ns = monotonic_ns();
	uint64_t tick = rte_rdtsc();
	uint64_t ns_end;

	do
		ns_end = monotonic_ns();
	while (ns_end - ns < 5000000);
	return (double)(rte_rdtsc() - tick) / (double)(ns_end - ns);
}

bool
worker_ready(struct worker *w)
{
	char ready = JOB_READY;

	w->ticks_per_ns = ticks_per_ns();
	events_open(w->job.tracepoint);
	if (write(w->fd, &ready, 1) != 1)
		return worker_fail(w, "parent is gone");
	if (recv(w->fd, &w->times, sizeof(w->times), MSG_WAITALL) != sizeof(w->times))
		return worker_fail(w, "parent is gone");
	return true;
}

void
worker_finish(struct worker *w)
{
	char finished = JOB_FINISHED;

	if (w->finished)
		return;
	w->finished = true;
	if (write(w->fd, &finished, 1) != 1)
		worker_fail(w, "parent is gone");
	do
		if (read(w->fd, &finished, 1) != 1) {
			worker_fail(w, "parent is gone");
			return;
		}
	while (finished != JOB_FINISHED);
}

static uint64_t
timeval_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_usec * 1000;
}

static void
take_snapshot(struct worker *w, struct snapshot *s)
{
	struct rusage thread, process;
	uint64_t all;

	s->ns = monotonic_ns();
	s->count = w->count;
	getrusage(RUSAGE_THREAD, &thread);
	getrusage(RUSAGE_SELF, &process);
	s->user_ns = timeval_ns(&thread.ru_utime);
	s->system_ns = timeval_ns(&thread.ru_stime);
	all = timeval_ns(&process.ru_utime) + timeval_ns(&process.ru_stime);
	s->other_ns = all > s->user_ns + s->system_ns ? all - s->user_ns - s->system_ns : 0;
	if (w->main != NULL)
		return; /* what follows is the process's */
	s->switches = (uint64_t)process.ru_nvcsw;
	events_read(s->events);
}

static void
set_deadline(struct worker *w, uint64_t ns)
{
	uint64_t now = monotonic_ns();

	w->next_tick = rte_rdtsc() +
		       (ns > now ? (uint64_t)((double)(ns - now) * w->ticks_per_ns) : 0);
}

void
worker_begin(struct worker *w)
{
	struct timespec t = {
		.tv_sec = (time_t)(w->times.start / 1000000000),
		.tv_nsec = (long)(w->times.start % 1000000000),
	};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	w->phase = PHASE_WARM_UP;
	set_deadline(w, w->times.from);
}

void
worker_next_phase(struct worker *w)
{
	switch (w->phase) {
	case PHASE_WARM_UP:
		take_snapshot(w, &w->out.from);
		set_deadline(w, w->times.to);
		w->phase = PHASE_MEASURE;
		break;
	case PHASE_MEASURE:
		take_snapshot(w, &w->out.to);
		set_deadline(w, w->times.stop);
		w->phase = PHASE_COOL_DOWN;
		break;
	case PHASE_COOL_DOWN:
		w->phase = PHASE_OVER;
		/* fallthrough */
	case PHASE_OVER:
		w->next_tick = 0;
		break;
	}
}

/* However long it takes a sender to end: only then can nothing more come. */
static bool
senders_ended(struct worker *w)
{
	char type;

	if (w->main != NULL)
		return __atomic_load_n(&w->main->senders_ended, __ATOMIC_ACQUIRE);
	if (!w->senders_ended && recv(w->fd, &type, 1, MSG_DONTWAIT) == 1)
		__atomic_store_n(&w->senders_ended, true, __ATOMIC_RELEASE);
	return w->senders_ended;
}

/* Where others had part of the core softirqs may have to wait for it, too, and packets with
 * them.
 */
static uint64_t
quiet_ns(const struct worker *w)
{
	const struct snapshot *from = &w->out.from, *to = &w->out.to;
	uint64_t had = to->user_ns + to->system_ns - from->user_ns - from->system_ns;

	if (w->job.nap_us != 0)
		return DRAIN_QUIET_FORWARDED_NS;
	return had < (to->ns - from->ns) / 100 * 90 ? DRAIN_QUIET_SHARED_NS : DRAIN_QUIET_NS;
}

bool
worker_drained(struct worker *w, bool idle)
{
	uint64_t now;

	if (likely(!worker_over(w)))
		return false;
	now = monotonic_ns();
	if (now > w->times.stop + DRAIN_MOST_NS)
		return true;
	if (!idle || !senders_ended(w)) {
		w->times.start = now; /* no longer needed for anything else */
		return false;
	}
	return now > RTE_MAX(w->times.start, w->times.stop) + quiet_ns(w);
}

static void *
idle_thread(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static bool
run(struct worker *w)
{
	static bool (*const role[][4])(struct worker *) = {
		[ROLE_SEND] = { send_dpdk, send_rw, send_uring, send_superframe },
		[ROLE_RECEIVE] = { receive_dpdk, receive_rw, receive_uring, receive_superframe },
		[ROLE_ECHO] = { echo_dpdk, echo_rw, NULL, NULL },
		[ROLE_CLIENT] = { client, client, client, client },
		[ROLE_FORWARD] = { forward_dpdk, NULL, NULL, forward_superframe },
		[ROLE_PORT] = { port_dpdk, NULL, NULL, NULL },
	};
	bool threaded = w->job.backend == BACKEND_THREADED || w->job.backend == BACKEND_VNET;
	enum job_backend backend = threaded ? BACKEND_RW : w->job.backend;
	bool (*start)(struct worker *) = role[w->job.role][backend];
	pthread_t thread;
	cpu_set_t cores;
	int ret;

	if (start == NULL)
		return worker_fail(w, "no such role with this back-end");
	CPU_ZERO(&cores);
	CPU_SET(w->job.core, &cores);
	prctl(PR_SET_TIMERSLACK, 1000); /* naps are short */
	if (sched_setaffinity(0, sizeof(cores), &cores) < 0)
		return worker_fail(w, "core %d cannot be used: %s", w->job.core, strerror(errno));
	/* Where threads share descriptors, each system call on one counts its users
	 * (fdget() in fs/file.c). EAL's processes have such threads.
	 */
	if (threaded && (ret = pthread_create(&thread, NULL, idle_thread, NULL)) != 0)
		return worker_fail(w, "no second thread: %s", strerror(ret));
	return start(w);
}

int
worker_main(const char *program, int fd)
{
	static struct worker w;
	char type = JOB_OUTCOME;

	w.fd = fd;
	if (recv(fd, &w.job, sizeof(w.job), MSG_WAITALL) != sizeof(w.job)) {
		fprintf(stderr, "%s: no job came from the parent\n", program);
		return 1;
	}
	if (run(&w))
		worker_finish(&w);
	else
		worker_fail(&w, "failed without saying why");
	w.out.total = w.count;
	if (write(fd, &type, 1) != 1 ||
	    send(fd, &w.out, sizeof(w.out), MSG_NOSIGNAL) != sizeof(w.out))
		return 1;
	return w.out.error[0] != '\0';
}
