/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * A host may move the virtual CPUs of a machine, for which all cores look the same,
 * between physical ones that share a cache and ones that do not. What packets cost that
 * are sent on one and received on another changes with it, so it is measured beside them.
 */

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>

#include <rte_pause.h>

#include "distance.h"
#include "worker.h"

#define ROUNDS 500 /* there and back, together timed */
#define TRIES 10   /* of which the quickest is taken: the others may have been disturbed */

struct ball {
	uint32_t place __attribute__((aligned(128))); /* a line of its own, with its neighbour */
	int core;
};

static bool
stay_on(int core)
{
	cpu_set_t cores;

	CPU_ZERO(&cores);
	CPU_SET(core, &cores);
	return pthread_setaffinity_np(pthread_self(), sizeof(cores), &cores) == 0;
}

/* Moves it whenever it is at an odd place, or an even one. */
static void
play(struct ball *ball, uint32_t from, uint32_t until)
{
	for (uint32_t at = from; at < until; at += 2) {
		while (__atomic_load_n(&ball->place, __ATOMIC_ACQUIRE) != at)
			rte_pause();
		__atomic_store_n(&ball->place, at + 1, __ATOMIC_RELEASE);
	}
}

static void *
return_all(void *arg)
{
	struct ball *ball = arg;

	/* Where it may not stay it still plays, if badly. */
	stay_on(ball->core);
	play(ball, 1, 2 * ROUNDS * TRIES);
	return NULL;
}

double
distance_ns(int core, int other)
{
	struct ball ball = { .core = other };
	uint64_t least = UINT64_MAX;
	pthread_t thread;
	cpu_set_t before;

	if (core == other || pthread_getaffinity_np(pthread_self(), sizeof(before), &before) != 0)
		return NAN;
	if (!stay_on(core) || pthread_create(&thread, NULL, return_all, &ball) != 0) {
		pthread_setaffinity_np(pthread_self(), sizeof(before), &before);
		return NAN;
	}
	for (uint32_t i = 0; i < TRIES; i++) {
		uint64_t begin = monotonic_ns(), ns;

		play(&ball, 2 * ROUNDS * i, 2 * ROUNDS * (i + 1));
		ns = monotonic_ns() - begin;
		if (ns < least)
			least = ns;
	}
	pthread_join(thread, NULL);
	pthread_setaffinity_np(pthread_self(), sizeof(before), &before);
	return (double)least / (2 * ROUNDS);
}
