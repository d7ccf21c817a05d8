/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Buckets of eight addresses. In a full bucket the one not heard of for longest
 * gives way, of the slot that asks if it has one there: a flood of made-up
 * addresses pushes out its own first.
 */

#include "fdb.h"

#include <stdbool.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_jhash.h>
#include <rte_malloc.h>

#include "bridge.h"

#define WAYS 8
#define BUCKETS 512

struct entry {
	struct rte_ether_addr addr;
	uint16_t slot;
	uint64_t heard; /* tsc; 0: free */
};

struct vb_fdb {
	uint64_t age; /* in tsc */
	uint32_t seed;
	/* By slot, the tap last. */
	uint32_t count[VB_MAX_GUESTS + 1];
	uint64_t swept[VB_MAX_GUESTS + 1]; /* tsc */
	struct entry entries[BUCKETS][WAYS];
};

static unsigned int
count_of(uint16_t slot)
{
	return slot < VB_MAX_GUESTS ? slot : VB_MAX_GUESTS;
}

struct vb_fdb *
vb_fdb_create(uint32_t age, int socket)
{
	struct vb_fdb *fdb = rte_zmalloc_socket("vb_fdb", sizeof(*fdb), 0, socket);

	if (fdb != NULL) {
		fdb->age = age * rte_get_tsc_hz();
		fdb->seed = (uint32_t)rte_rdtsc();
	}
	return fdb;
}

void
vb_fdb_free(struct vb_fdb *fdb)
{
	rte_free(fdb);
}

static struct entry *
bucket(const struct vb_fdb *fdb, const struct rte_ether_addr *addr)
{
	uint32_t key[2] = { 0, 0 }; /* in a frame the address has no alignment to speak of */
	uint32_t hash;

	memcpy(key, addr, sizeof(*addr));
	hash = rte_jhash_32b(key, RTE_DIM(key), fdb->seed);
	return (struct entry *)(uintptr_t)fdb->entries[hash % BUCKETS];
}

static void
forget(struct vb_fdb *fdb, struct entry *e)
{
	fdb->count[count_of(e->slot)]--;
	e->heard = 0;
}

static bool
aged(const struct vb_fdb *fdb, const struct entry *e, uint64_t tsc)
{
	return e->heard != 0 && tsc - e->heard >= fdb->age;
}

/*
 * At a slot's limit those of its addresses that have aged make room. Not more than once
 * a second, as the whole table is looked at.
 */
static bool
at_limit(struct vb_fdb *fdb, uint16_t slot, uint64_t tsc, uint32_t max)
{
	unsigned int n = count_of(slot);
	struct entry *e = &fdb->entries[0][0];
	struct entry *end = e + BUCKETS * WAYS;

	if (fdb->count[n] < max)
		return false;
	if (tsc - fdb->swept[n] < rte_get_tsc_hz())
		return true;
	fdb->swept[n] = tsc;
	for (; e < end; e++)
		if (e->slot == slot && aged(fdb, e, tsc))
			forget(fdb, e);
	return fdb->count[n] >= max;
}

void
vb_fdb_learn(struct vb_fdb *fdb, const struct rte_ether_addr *addr, uint16_t slot, uint64_t tsc,
	     uint32_t max)
{
	struct entry *b = bucket(fdb, addr);
	struct entry *own = NULL;
	struct entry *oldest = &b[0];
	struct entry *e;
	unsigned int i;

	if (rte_is_multicast_ether_addr(addr) || rte_is_zero_ether_addr(addr))
		return;
	for (i = 0; i < WAYS; i++) {
		e = &b[i];
		if (e->heard != 0 && rte_is_same_ether_addr(&e->addr, addr)) {
			if (e->slot != slot) {
				if (at_limit(fdb, slot, tsc, max))
					return;
				fdb->count[count_of(e->slot)]--;
				fdb->count[count_of(slot)]++;
				e->slot = slot;
			}
			e->heard = tsc;
			return;
		}
		if (aged(fdb, e, tsc))
			forget(fdb, e);
		if (e->heard != 0 && e->slot == slot && (own == NULL || e->heard < own->heard))
			own = e;
		if (e->heard < oldest->heard)
			oldest = e;
	}
	e = oldest;
	if (e->heard != 0 && own != NULL)
		e = own;
	if (at_limit(fdb, slot, tsc, max)) {
		if (own == NULL)
			return;
		e = own;
	}
	if (e->heard != 0)
		forget(fdb, e);
	fdb->count[count_of(slot)]++;
	e->addr = *addr;
	e->slot = slot;
	e->heard = tsc;
}

void
vb_fdb_forget(struct vb_fdb *fdb, uint16_t slot)
{
	struct entry *e = &fdb->entries[0][0];
	struct entry *end = e + BUCKETS * WAYS;

	for (; e < end; e++)
		if (e->heard != 0 && e->slot == slot)
			forget(fdb, e);
}

uint16_t
vb_fdb_find(const struct vb_fdb *fdb, const struct rte_ether_addr *addr, uint64_t tsc)
{
	const struct entry *b = bucket(fdb, addr);
	unsigned int i;

	for (i = 0; i < WAYS; i++)
		if (b[i].heard != 0 && tsc - b[i].heard < fdb->age &&
		    rte_is_same_ether_addr(&b[i].addr, addr))
			return b[i].slot;
	return VB_SLOT_UNKNOWN;
}

uint32_t
vb_fdb_count(const struct vb_fdb *fdb, uint16_t slot)
{
	return fdb->count[count_of(slot)];
}
