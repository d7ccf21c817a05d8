/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Buffers that superframes are read into and handed to the application in, as
 * external buffers of its mbufs. Free ones stand in a ring: any thread may give one
 * back, the queue's thread takes them.
 */

#include <stdatomic.h>

#include <rte_malloc.h>
#include <rte_memory.h>
#include <rte_ring.h>

#include "tapbatch_bufs.h"
#include "tapbatch_engine.h"

/* Distance of two buffers: not a power of two, so that their first bytes fall into
 * different sets of the cache.
 */
#define STRIDE (RTE_ALIGN_CEIL(TAPBATCH_SLOT_LEN, 1024) + 1024)

struct tapbatch_bufs {
	struct rte_ring *free;
	uint8_t *memory;
	unsigned int n;
	/* Buffers in mbufs, and one for the queue that owns the set: who brings it to
	 * zero releases the set.
	 */
	atomic_uint users;
	struct rte_mbuf_ext_shared_info shared[]; /* one per buffer */
};

static void
drop_user(struct tapbatch_bufs *bufs)
{
	if (atomic_fetch_sub(&bufs->users, 1) != 1)
		return;
	rte_free(bufs->memory);
	rte_free(bufs->free);
	rte_free(bufs);
}

static void
give_back(void *addr, void *opaque)
{
	struct tapbatch_bufs *bufs = opaque;
	size_t index = (size_t)((uint8_t *)addr - bufs->memory) / STRIDE;

	/* Of two pieces, the last to be freed may be the second. */
	rte_ring_mp_enqueue(bufs->free, bufs->memory + index * STRIDE);
	drop_user(bufs);
}

struct tapbatch_bufs *
tapbatch_bufs_create(unsigned int n, int socket)
{
	unsigned int slots = rte_align32pow2(n + 1);
	ssize_t ring_size = rte_ring_get_memsize(slots);
	struct tapbatch_bufs *bufs;
	unsigned int i;

	bufs = rte_zmalloc_socket("tapbatch_bufs", sizeof(*bufs) + n * sizeof(bufs->shared[0]),
				  RTE_CACHE_LINE_SIZE, socket);
	if (bufs == NULL || ring_size < 0)
		goto fail;
	bufs->free = rte_zmalloc_socket("tapbatch_bufs_ring", (size_t)ring_size,
					RTE_CACHE_LINE_SIZE, socket);
	bufs->memory = rte_malloc_socket("tapbatch_bufs_memory", (size_t)n * STRIDE,
					 RTE_CACHE_LINE_SIZE, socket);
	if (bufs->free == NULL || bufs->memory == NULL)
		goto fail;
	rte_ring_init(bufs->free, "tapbatch_bufs", slots, RING_F_SC_DEQ);
	bufs->n = n;
	atomic_init(&bufs->users, 1);
	for (i = 0; i < n; i++)
		rte_ring_mp_enqueue(bufs->free, bufs->memory + (size_t)i * STRIDE);
	return bufs;
fail:
	if (bufs != NULL) {
		rte_free(bufs->memory);
		rte_free(bufs->free);
	}
	rte_free(bufs);
	return NULL;
}

void
tapbatch_bufs_destroy(struct tapbatch_bufs *bufs, uint8_t **held, unsigned int nb_held)
{
	unsigned int i;

	for (i = 0; i < nb_held; i++)
		if (held[i] != NULL)
			tapbatch_bufs_put(bufs, held[i]);
	drop_user(bufs);
}

uint8_t *
tapbatch_bufs_get(struct tapbatch_bufs *bufs)
{
	void *buf;

	return rte_ring_sc_dequeue(bufs->free, &buf) == 0 ? buf : NULL;
}

void
tapbatch_bufs_put(struct tapbatch_bufs *bufs, uint8_t *buf)
{
	rte_ring_mp_enqueue(bufs->free, buf);
}

static void
attach_piece(struct rte_mbuf *m, uint8_t *buf, uint32_t from, uint32_t len, uint32_t room,
	     struct rte_mbuf_ext_shared_info *shared)
{
	rte_pktmbuf_attach_extbuf(m, buf + from, rte_mem_virt2iova(buf + from),
				  (uint16_t)room, shared);
	m->data_len = (uint16_t)len;
}

void
tapbatch_bufs_attach(struct tapbatch_bufs *bufs, struct rte_mbuf *m, struct rte_mbuf *second,
		     uint8_t *buf, uint32_t offset, uint32_t len)
{
	struct rte_mbuf_ext_shared_info *shared =
		&bufs->shared[(size_t)(buf - bufs->memory) / STRIDE];
	uint32_t first = RTE_MIN(len, (uint32_t)TAPBATCH_BUFS_ONE_MBUF);

	atomic_fetch_add(&bufs->users, 1);
	shared->free_cb = give_back;
	shared->fcb_opaque = bufs;
	rte_mbuf_ext_refcnt_set(shared, len > first ? 2 : 1);

	attach_piece(m, buf, 0, first, offset + first, shared);
	/* rte_pktmbuf_attach_extbuf() leaves data_off at 0. */
	m->data_off = (uint16_t)offset;
	if (len > first) {
		attach_piece(second, buf, offset + first, len - first, len - first, shared);
		m->next = second;
		m->nb_segs = 2;
	}
	m->pkt_len = len;
}
