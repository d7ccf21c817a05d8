/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Adding and removing pairs while others run. Workers are given new lists of jobs;
 * what is not in them any more is taken down after.
 */

#include "pairs.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "forward.h"
#include "guest.h"
#include "privilege.h"
#include "switch.h"
#include "tap.h"

#define NO_SUCH_WORKER "%s: core=%d is no worker lcore of this process (EAL's -l)"

/* Between the main lcore and telemetry's thread. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void
vb_pairs_lock(void)
{
	pthread_mutex_lock(&lock);
}

void
vb_pairs_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

static struct vb_jobs *
make_jobs(const struct vb_pairs *pairs, const struct vb_worker *worker)
{
	struct vb_jobs *jobs;
	struct vb_job *job;
	struct vb_tap *tap;
	unsigned int n = 0;
	unsigned int s;
	uint16_t q;

	for (tap = pairs->taps; tap != NULL; tap = tap->next)
		n += tap->worker == worker ? tap->conf.queues : 0;
	/* One piece, freed as one. */
	jobs = calloc(1, sizeof(*jobs) + n * (sizeof(job) + sizeof(*job)));
	if (jobs == NULL)
		return NULL;
	job = (struct vb_job *)(jobs->list + n);
	for (tap = pairs->taps; tap != NULL; tap = tap->next) {
		if (tap->worker != worker || tap->paused)
			continue;
		for (q = 0; q < tap->conf.queues; q++) {
			job->tap = tap;
			job->queue = q;
			for (s = 0; s < VB_MAX_GUESTS; s++) {
				if (tap->guests[s] == NULL)
					continue;
				job->by_slot[s] = &tap->guests[s]->lanes[q];
				job->lanes[job->nb_lanes++] = job->by_slot[s];
			}
			if (job->nb_lanes > 0)
				jobs->list[jobs->n++] = job++;
		}
	}
	return jobs;
}

static int
publish(struct vb_pairs *pairs, struct vb_worker *worker)
{
	struct vb_jobs *jobs = make_jobs(pairs, worker);

	if (jobs == NULL) {
		VB_LOG(ERR, "out of memory");
		return -1;
	}
	free(vb_worker_set_jobs(worker, jobs));
	return 0;
}

/* A tap whose driver writes in the background may still have frames of the guest. */
static void
wait_for_frames(const struct vb_guest *guest)
{
	const struct vb_tap *tap = guest->tap;
	unsigned int tries = 100;
	uint16_t q;

	while (!rte_mempool_full(guest->pool) && tries-- > 0) {
		for (q = 0; q < tap->conf.queues; q++)
			if (rte_eth_tx_done_cleanup(tap->port, q, 0) == -ENOTSUP)
				return;
		rte_delay_us_sleep(1000);
	}
}

/*
 * Publishes the jobs of a tap that a guest was taken off. Nobody forwards for the tap for
 * a moment in between, so that the guest can be removed from where it has left traces.
 */
static int
publish_without(struct vb_pairs *pairs, struct vb_guest *guest)
{
	struct vb_tap *tap = guest->tap;
	struct vb_jobs *jobs = make_jobs(pairs, tap->worker);
	struct vb_jobs *paused;
	uint16_t q;

	tap->paused = true;
	paused = make_jobs(pairs, tap->worker);
	tap->paused = false;
	if (jobs == NULL || paused == NULL) {
		VB_LOG(ERR, "out of memory");
		free(jobs);
		free(paused);
		return -1;
	}
	free(vb_worker_set_jobs(tap->worker, paused));
	for (q = 0; q < guest->conf.queues; q++)
		vb_lane_drop_all(&guest->lanes[q], VB_DROP_REMOVED);
	if (tap->fdb != NULL)
		vb_switch_forget(guest);
	wait_for_frames(guest);
	free(vb_worker_set_jobs(tap->worker, jobs));
	return 0;
}

static struct vb_tap *
find_tap(const struct vb_pairs *pairs, const char *name)
{
	struct vb_tap *tap;

	for (tap = pairs->taps; tap != NULL; tap = tap->next)
		if (strcmp(tap->conf.tap, name) == 0)
			return tap;
	return NULL;
}

static void
unlink_tap(struct vb_pairs *pairs, const struct vb_tap *tap)
{
	struct vb_tap **p = &pairs->taps;

	while (*p != tap)
		p = &(*p)->next;
	*p = tap->next;
}

static bool
has_guests(const struct vb_tap *tap)
{
	unsigned int s;

	for (s = 0; s < VB_MAX_GUESTS; s++)
		if (tap->guests[s] != NULL)
			return true;
	return false;
}

static void
remove_guest(struct vb_pairs *pairs, struct vb_guest *guest)
{
	struct vb_tap *tap = guest->tap;
	struct vb_count in;
	struct vb_count out;

	vb_pairs_lock();
	tap->guests[guest->slot] = NULL;
	vb_pairs_unlock();
	if (publish_without(pairs, guest) < 0)
		return; /* goes on; a later reload may have the memory */
	vb_guest_close(guest);
	/* Its counters go with it; the log keeps what was lost. */
	vb_guest_counts(guest, &in, &out);
	VB_LOG(INFO, "%s: removed; frames on their way dropped: %lu to the guest, %lu to the tap",
	       guest->conf.name, (unsigned long)in.drops[VB_DROP_REMOVED],
	       (unsigned long)out.drops[VB_DROP_REMOVED]);
	rte_free(guest->lanes);
	free(guest);
	if (has_guests(tap))
		return;
	vb_pairs_lock();
	unlink_tap(pairs, tap);
	vb_pairs_unlock();
	vb_tap_close(tap);
	free(tap);
}

/* The worker asked for, or the one with the fewest queues. */
static struct vb_worker *
choose_worker(const struct vb_pairs *pairs, int core)
{
	struct vb_worker *best = NULL;
	unsigned int least = 0;
	unsigned int i;

	for (i = 0; i < pairs->nb_workers; i++) {
		struct vb_worker *worker = &pairs->workers[i];

		if (core >= 0 && worker->lcore == (unsigned int)core)
			return worker;
		if (best == NULL || worker->jobs->n < least) {
			best = worker;
			least = worker->jobs->n;
		}
	}
	return core < 0 ? best : NULL;
}

static struct vb_tap *
open_tap(struct vb_pairs *pairs, const struct vb_pair_conf *conf)
{
	struct vb_tap *tap = calloc(1, sizeof(*tap));

	if (tap == NULL)
		return NULL;
	tap->conf = *conf;
	tap->worker = choose_worker(pairs, conf->core);
	if (tap->worker == NULL) {
		VB_LOG(ERR, NO_SUCH_WORKER, conf->name, conf->core);
		free(tap);
		return NULL;
	}
	if (vb_tap_open(tap, pairs->options->tap_driver) < 0) {
		free(tap);
		return NULL;
	}
	return tap;
}

static int
add_guest(struct vb_pairs *pairs, const struct vb_pair_conf *conf)
{
	struct vb_tap *tap = find_tap(pairs, conf->tap);
	struct vb_tap *opened = NULL;
	struct vb_guest *guest;
	uint16_t s = 0;
	uint16_t q;

	if (tap == NULL) {
		tap = opened = open_tap(pairs, conf);
		if (tap == NULL)
			return -1;
	}
	while (s < VB_MAX_GUESTS && tap->guests[s] != NULL)
		s++;
	if (s == VB_MAX_GUESTS) {
		VB_LOG(ERR, "%s: tap %s has %u guests, which is the most", conf->name, conf->tap,
		       s);
		return -1;
	}
	guest = calloc(1, sizeof(*guest));
	if (guest == NULL)
		goto close_tap;
	guest->conf = *conf;
	guest->tap = tap;
	guest->slot = s;
	guest->lanes = rte_zmalloc("vb_lane", sizeof(*guest->lanes) * conf->queues,
				   RTE_CACHE_LINE_SIZE);
	if (guest->lanes == NULL) {
		VB_LOG(ERR, "%s: no memory for its queues", conf->name);
		goto free_guest;
	}
	for (q = 0; q < conf->queues; q++) {
		guest->lanes[q].guest = guest;
		guest->lanes[q].queue = q;
	}
	if (vb_guest_open(guest) < 0)
		goto free_lanes;
	vb_pairs_lock();
	tap->guests[s] = guest;
	if (opened != NULL) {
		tap->next = pairs->taps;
		pairs->taps = tap;
	}
	vb_pairs_unlock();
	if (publish(pairs, tap->worker) < 0) {
		remove_guest(pairs, guest);
		return -1;
	}
	VB_LOG(INFO, "%s: tap %s <-> %s %s, %u queue%s, lcore %u", conf->name, conf->tap,
	       conf->client ? "client of" : "socket", conf->socket, conf->queues,
	       conf->queues == 1 ? "" : "s", tap->worker->lcore);
	return 0;

free_lanes:
	rte_free(guest->lanes);
free_guest:
	free(guest);
close_tap:
	if (opened != NULL) {
		vb_tap_close(opened);
		free(opened);
	}
	return -1;
}

static bool
conf_has(const struct vb_conf *conf, const struct vb_pair_conf *pair)
{
	unsigned int i;

	for (i = 0; i < conf->nb_pairs; i++)
		if (vb_pair_conf_equal(&conf->pairs[i], pair))
			return true;
	return false;
}

static bool
pairs_have(const struct vb_pairs *pairs, const struct vb_pair_conf *pair)
{
	const struct vb_tap *tap = find_tap(pairs, pair->tap);
	unsigned int s;

	for (s = 0; tap != NULL && s < VB_MAX_GUESTS; s++)
		if (tap->guests[s] != NULL && vb_pair_conf_equal(&tap->guests[s]->conf, pair))
			return true;
	return false;
}

static int
check_pair(const struct vb_pairs *pairs, const struct vb_pair_conf *pair)
{
	char folder[VB_SOCKET_LEN];

	if (choose_worker(pairs, pair->core) == NULL) {
		VB_LOG(ERR, NO_SUCH_WORKER, pair->name, pair->core);
		return -1;
	}
	if (pair->client)
		return 0;
	strcpy(folder, pair->socket);
	/* An absolute path: there is one, and what stands before the first is the root. */
	strrchr(folder, '/')[1] = '\0';
	if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) < 0) {
		VB_LOG(ERR, "%s: no socket can be made in folder %s: %s", pair->name, folder,
		       strerror(errno));
		return -1;
	}
	if (!vb_privilege_may_give(pair->owner, pair->group)) {
		VB_LOG(ERR,
		       "%s: the right to set owner and group of sockets was given up at the start, "
		       "as no pair had them: start the bridge anew",
		       pair->name);
		return -1;
	}
	return 0;
}

int
vb_pairs_check(const struct vb_pairs *pairs, const struct vb_conf *conf)
{
	unsigned int i;

	for (i = 0; i < conf->nb_pairs; i++)
		if (!pairs_have(pairs, &conf->pairs[i]) && check_pair(pairs, &conf->pairs[i]) < 0)
			return -1;
	return 0;
}

/* Of those there are now, none has what pair needs. */
static bool
has_room(const struct vb_pairs *pairs, const struct vb_pair_conf *pair)
{
	const struct vb_tap *tap;
	unsigned int s;

	for (tap = pairs->taps; tap != NULL; tap = tap->next)
		for (s = 0; s < VB_MAX_GUESTS; s++)
			if (tap->guests[s] != NULL &&
			    vb_pair_conf_fit(&tap->guests[s]->conf, pair) < 0)
				return false;
	return true;
}

static bool
wants_name(const struct vb_conf *conf, const char *name)
{
	unsigned int i;

	for (i = 0; i < conf->nb_pairs; i++)
		if (strcmp(conf->pairs[i].name, name) == 0)
			return true;
	return false;
}

static bool
has_name(const struct vb_pairs *pairs, const char *name)
{
	const struct vb_tap *tap;
	unsigned int s;

	for (tap = pairs->taps; tap != NULL; tap = tap->next)
		for (s = 0; s < VB_MAX_GUESTS; s++)
			if (tap->guests[s] != NULL && strcmp(tap->guests[s]->conf.name, name) == 0)
				return true;
	return false;
}

/* Those that were to be changed, and are not there now. */
static void
bring_back(struct vb_pairs *pairs, const struct vb_conf *removed, const struct vb_conf *conf)
{
	unsigned int i;

	for (i = 0; i < removed->nb_pairs; i++) {
		const struct vb_pair_conf *pair = &removed->pairs[i];

		if (!wants_name(conf, pair->name) || has_name(pairs, pair->name))
			continue;
		if (has_room(pairs, pair) && add_guest(pairs, pair) == 0)
			VB_LOG(NOTICE, "%s: could not be changed, and is back as it was",
			       pair->name);
	}
}

/* Removes what conf does not have, and says what that was. */
static void
remove_others(struct vb_pairs *pairs, const struct vb_conf *conf, struct vb_conf *removed)
{
	struct vb_tap *next;
	struct vb_tap *tap;
	unsigned int s;

	removed->nb_pairs = 0;
	for (tap = pairs->taps; tap != NULL; tap = next) {
		next = tap->next;
		for (s = 0; s < VB_MAX_GUESTS; s++) {
			struct vb_guest *guest = tap->guests[s];
			bool last;

			if (guest == NULL || (conf_has(conf, &guest->conf) && !vb_tap_gone(tap)))
				continue;
			removed->pairs[removed->nb_pairs++] = guest->conf;
			tap->guests[s] = NULL;
			last = !has_guests(tap);
			tap->guests[s] = guest;
			remove_guest(pairs, guest);
			if (last)
				break; /* the tap has gone with it */
		}
	}
}

unsigned int
vb_pairs_apply(struct vb_pairs *pairs, const struct vb_conf *conf)
{
	static struct vb_conf removed;
	unsigned int failed = 0;
	unsigned int i;

	remove_others(pairs, conf, &removed);
	for (i = 0; i < conf->nb_pairs; i++)
		if (!pairs_have(pairs, &conf->pairs[i]) && add_guest(pairs, &conf->pairs[i]) < 0)
			failed++;
	if (failed > 0)
		bring_back(pairs, &removed, conf);
	return failed;
}

static void
add_counts(struct vb_count *sum, const struct vb_count *count)
{
	unsigned int i;

	sum->frames += count->frames;
	sum->bytes += count->bytes;
	sum->superframes += count->superframes;
	sum->segmented += count->segmented;
	sum->bursts += count->bursts;
	sum->stalls += count->stalls;
	for (i = 0; i < VB_NB_DROPS; i++)
		sum->drops[i] += count->drops[i];
}

void
vb_guest_counts(const struct vb_guest *guest, struct vb_count *in, struct vb_count *out)
{
	uint16_t q;

	memset(in, 0, sizeof(*in));
	memset(out, 0, sizeof(*out));
	for (q = 0; q < guest->conf.queues; q++) {
		add_counts(in, &guest->lanes[q].in);
		add_counts(out, &guest->lanes[q].out);
	}
}
