/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Polls while there is work; after a while without, arms the Rx interrupts of taps
 * and guests, looks once more, and sleeps until one of them comes.
 */

#include "worker.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_pause.h>

#include "forward.h"
#include "tap.h"

/* While frames wait for room, which no event announces, naps are this short: each
 * without work is twice as long as the one before.
 */
#define MIN_NAP_US 25
#define MAX_NAP_US 1000
#define EVENTS 64

int
vb_worker_init(struct vb_worker *worker, unsigned int lcore, uint32_t idle_us, bool busy)
{
	memset(worker, 0, sizeof(*worker));
	worker->lcore = lcore;
	worker->busy = busy;
	worker->idle_tsc = idle_us * rte_get_tsc_hz() / US_PER_S;
	worker->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (worker->epfd < 0)
		return -errno;
	worker->wakefd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (worker->wakefd < 0) {
		int err = -errno;

		close(worker->epfd);
		return err;
	}
	worker->wake_event.epdata.event = EPOLLIN;
	worker->wake_event.epdata.data = worker;
	if (rte_epoll_ctl(worker->epfd, EPOLL_CTL_ADD, worker->wakefd, &worker->wake_event) < 0) {
		close(worker->wakefd);
		close(worker->epfd);
		return -EIO;
	}
	return 0;
}

void
vb_worker_fini(struct vb_worker *worker)
{
	rte_epoll_ctl(worker->epfd, EPOLL_CTL_DEL, worker->wakefd, &worker->wake_event);
	close(worker->wakefd);
	close(worker->epfd);
	free(worker->jobs);
	worker->jobs = NULL;
}

void
vb_worker_wake(struct vb_worker *worker)
{
	uint64_t one = 1;
	ssize_t written = write(worker->wakefd, &one, sizeof(one));

	RTE_SET_USED(written); /* full is as good as written */
}

void
vb_worker_wait(struct vb_worker *worker)
{
	uint64_t before = __atomic_load_n(&worker->turns, __ATOMIC_ACQUIRE);

	/* The turn that runs now may have begun before, the next one did not. */
	while (__atomic_load_n(&worker->running, __ATOMIC_ACQUIRE) &&
	       __atomic_load_n(&worker->turns, __ATOMIC_ACQUIRE) - before < 2) {
		vb_worker_wake(worker);
		rte_delay_us_sleep(20);
	}
}

uint64_t
vb_worker_slept(const struct vb_worker *worker)
{
	uint64_t since = worker->asleep_since;

	return worker->slept_tsc + (since == 0 ? 0 : rte_rdtsc() - since);
}

struct vb_jobs *
vb_worker_set_jobs(struct vb_worker *worker, struct vb_jobs *jobs)
{
	struct vb_jobs *old = __atomic_exchange_n(&worker->jobs, jobs, __ATOMIC_ACQ_REL);

	vb_worker_wait(worker);
	return old;
}

/* Asks for interrupts wherever frames would be read from now. */
static void
arm(const struct vb_jobs *jobs, bool on)
{
	unsigned int i;
	uint16_t j;

	for (i = 0; i < jobs->n; i++) {
		const struct vb_job *job = jobs->list[i];
		bool tap_read = job->tap->fdb != NULL;
		bool gone = vb_tap_gone(job->tap);

		for (j = 0; j < job->nb_lanes; j++) {
			const struct vb_lane *lane = job->lanes[j];

			if ((__atomic_load_n(&lane->guest->epoch, __ATOMIC_ACQUIRE) & 1) == 0)
				continue;
			tap_read |= lane->to_guest.n == 0;
			if (!on)
				rte_eth_dev_rx_intr_disable(lane->guest->port, lane->queue);
			else if (lane->to_tap.n == 0 && !gone)
				rte_eth_dev_rx_intr_enable(lane->guest->port, lane->queue);
		}
		if (!job->tap->intr || gone)
			continue;
		if (!on)
			rte_eth_dev_rx_intr_disable(job->tap->port, job->queue);
		else if (tap_read)
			rte_eth_dev_rx_intr_enable(job->tap->port, job->queue);
	}
}

static unsigned int
forward_all(const struct vb_jobs *jobs)
{
	unsigned int moved = 0;
	unsigned int i;

	for (i = 0; i < jobs->n; i++)
		moved += vb_forward(jobs->list[i]);
	return moved;
}

static bool
must_nap(const struct vb_jobs *jobs)
{
	unsigned int i;

	for (i = 0; i < jobs->n; i++) {
		const struct vb_job *job = jobs->list[i];

		if (!vb_tap_gone(job->tap) && (!job->tap->intr || vb_forward_waiting(job)))
			return true;
	}
	return false;
}

static void
sleep_until_work(struct vb_worker *worker, const struct vb_jobs *jobs)
{
	struct rte_epoll_event events[EVENTS];
	uint64_t count;

	if (must_nap(jobs) && worker->nap_us < MAX_NAP_US) {
		worker->asleep_since = rte_rdtsc();
		usleep(worker->nap_us);
		worker->slept_tsc += rte_rdtsc() - worker->asleep_since;
		worker->asleep_since = 0;
		worker->nap_us *= 2;
		return;
	}
	arm(jobs, true);
	/* What came before the rings were told to notify did not notify. */
	rte_mb();
	if (forward_all(jobs) == 0) {
		worker->asleep_since = rte_rdtsc();
		rte_epoll_wait(worker->epfd, events, EVENTS,
			       must_nap(jobs) ? MAX_NAP_US / 1000 : -1);
		worker->slept_tsc += rte_rdtsc() - worker->asleep_since;
		worker->asleep_since = 0;
		worker->sleeps++;
		if (read(worker->wakefd, &count, sizeof(count)) < 0)
			count = 0; /* it was not that */
	}
	arm(jobs, false);
}

int
vb_worker_main(void *arg)
{
	struct vb_worker *worker = arg;
	uint64_t idle_since = 0;

	/* Naps of some microseconds, not of those and fifty. */
	prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
	while (!__atomic_load_n(&worker->stop, __ATOMIC_ACQUIRE)) {
		const struct vb_jobs *jobs;
		uint64_t now;

		__atomic_store_n(&worker->turns, worker->turns + 1, __ATOMIC_RELEASE);
		jobs = __atomic_load_n(&worker->jobs, __ATOMIC_ACQUIRE);
		if (forward_all(jobs) > 0) {
			idle_since = 0;
			worker->nap_us = MIN_NAP_US;
			continue;
		}
		rte_pause();
		if (worker->busy)
			continue;
		now = rte_rdtsc();
		if (idle_since == 0)
			idle_since = now;
		if (now - idle_since < worker->idle_tsc)
			continue;
		sleep_until_work(worker, jobs);
		/* After a nap one look is enough; after sleep more may follow. */
		if (!must_nap(jobs))
			idle_since = 0;
	}
	__atomic_store_n(&worker->running, false, __ATOMIC_RELEASE);
	return 0;
}
