/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* A DPDK worker of several threads, and the sum of their outcomes. */

#include <stdlib.h>
#include <unistd.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#include "threads.h"

struct thread {
	struct worker worker;
	thread_loop loop;
	uint16_t port;
};

int
thread_core(const struct job *job, int i)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	return (int)((job->core + 2l * i) % (cores > 0 ? cores : 1));
}

static int
thread_main(void *arg)
{
	struct thread *t = arg;

	t->loop(&t->worker, t->port);
	return 0;
}

static void
add_snapshot(struct snapshot *sum, const struct snapshot *s)
{
	uint64_t cpu = s->user_ns + s->system_ns;

	sum->count.packets += s->count.packets;
	sum->count.bytes += s->count.bytes;
	sum->count.calls += s->count.calls;
	sum->count.idle += s->count.idle;
	sum->user_ns += s->user_ns;
	sum->system_ns += s->system_ns;
	/* It was taken for one of the process's other threads. */
	sum->other_ns -= RTE_MIN(sum->other_ns, cpu);
}

static void
add_outcome(struct worker *sum, const struct worker *w)
{
	add_snapshot(&sum->out.from, &w->out.from);
	add_snapshot(&sum->out.to, &w->out.to);
	sum->count.packets += w->count.packets;
	sum->count.bytes += w->count.bytes;
	sum->count.calls += w->count.calls;
	sum->count.idle += w->count.idle;
	sum->out.late += w->out.late;
	sum->out.misfit += w->out.misfit;
	sum->out.foreign += w->out.foreign;
	if (w->out.error[0] != '\0')
		worker_fail(sum, "%s", w->out.error);
}

bool
threads_run(struct worker *w, thread_loop loop, uint16_t port)
{
	unsigned int n = w->job.threads > 1 ? w->job.threads - 1u : 0;
	struct thread *threads = n == 0 ? NULL : calloc(n, sizeof(*threads));
	unsigned int lcore, i = 0;

	if (n != 0 && threads == NULL)
		return worker_fail(w, "no memory for %u threads", n);
	RTE_LCORE_FOREACH_WORKER(lcore) {
		if (i == n)
			break;
		threads[i].worker = *w;
		threads[i].worker.thread = (uint16_t)(i + 1);
		threads[i].worker.main = w;
		threads[i].loop = loop;
		threads[i].port = port;
		if (rte_eal_remote_launch(thread_main, &threads[i], lcore) < 0)
			break;
		i++;
	}
	loop(w, port);
	rte_eal_mp_wait_lcore();
	for (unsigned int k = 0; k < i; k++)
		add_outcome(w, &threads[k].worker);
	free(threads);
	return i == n ? w->out.error[0] == '\0' :
			worker_fail(w, "only %u of %u threads could be started", i, n);
}
