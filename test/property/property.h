/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Random input, the driver under test, and the kernel as judge. Each burst has random
 * numbers of its own, made of the seed and its index: it can be replayed alone.
 */

#ifndef PROPERTY_H
#define PROPERTY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mempool.h>

#include "../tools/rawif.h"
#include "../unit/mkpkt.h"

#define PATIENCE_MS 1000
/* Of all interfaces, so that the bridge drops none of the frames for its length. */
#define PROPERTY_MTU 2000

struct property {
	uint16_t port;
	uint64_t seed;
	uint64_t packets;  /* to stop after */
	uint64_t first;    /* burst to begin with */
	bool uso;          /* the kernel segments UDP */
	bool rx_cksum;     /* the port leaves checksums open on receive */
	struct rte_mempool *pool;
};

extern uint64_t random_state;

/* 0 <= result < limit */
static inline uint32_t
below(uint32_t limit)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((random_state >> 33) * limit >> 31);
}

static inline bool
chance(uint32_t percent)
{
	return below(100) < percent;
}

void seed_burst(uint64_t seed, uint64_t index);
/* An extended statistic of the port. */
uint64_t xstat(const struct property *p, const char *name);
void print_bytes(const char *what, const uint8_t *bytes, size_t len);

/* Both print what they found; 0 if all was well. */
int forward(const struct property *p, struct rawif *judge);
int backward(const struct property *p, struct rawif *sender, struct rawif *judge);

#endif /* PROPERTY_H */
