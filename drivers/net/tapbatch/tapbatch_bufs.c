/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Buffers that superframes are read into and handed to the application in, as
 * external buffers of its mbufs. Any thread may give one back. The one that came back
 * last is taken first, since its bytes are still in the cache: with a ring, which takes
 * the oldest, a stream of superframes went through all of the buffers' 19 MB.
 */

#include <stdatomic.h>

#include <rte_malloc.h>
#include <rte_memory.h>
#include <rte_spinlock.h>

#include "tapbatch_bufs.h"
#include "tapbatch_engine.h"

/* Distance of two buffers: not a power of two, so that their first bytes fall into
 * different sets of the cache.
 */
#define STRIDE (RTE_ALIGN_CEIL(TAPBATCH_SLOT_LEN, 1024) + 1024)

struct buffer {
	struct rte_mbuf_ext_shared_info shared;
	rte_iova_t iova;
	uint32_t next_free; /* index */
};

#define NONE UINT32_MAX

struct tapbatch_bufs {
	uint8_t *memory;
	rte_spinlock_t lock; /* of the list of free ones */
	uint32_t first_free; /* index */
	/* Buffers in mbufs, and one for the queue that owns the set: who brings it to
	 * zero releases the set.
	 */
	atomic_uint users;
	struct buffer buffers[];
};

static inline uint32_t
index_of(const struct tapbatch_bufs *bufs, const uint8_t *addr)
{
	return (uint32_t)((size_t)(addr - bufs->memory) / STRIDE);
}

static void
put_index(struct tapbatch_bufs *bufs, uint32_t index)
{
	rte_spinlock_lock(&bufs->lock);
	bufs->buffers[index].next_free = bufs->first_free;
	bufs->first_free = index;
	rte_spinlock_unlock(&bufs->lock);
}

void
tapbatch_bufs_put(struct tapbatch_bufs *bufs, uint8_t *buf)
{
	put_index(bufs, index_of(bufs, buf));
}

uint8_t *
tapbatch_bufs_get(struct tapbatch_bufs *bufs)
{
	uint32_t index;

	rte_spinlock_lock(&bufs->lock);
	index = bufs->first_free;
	if (index != NONE)
		bufs->first_free = bufs->buffers[index].next_free;
	rte_spinlock_unlock(&bufs->lock);
	return index == NONE ? NULL : bufs->memory + (size_t)index * STRIDE;
}

static void
drop_user(struct tapbatch_bufs *bufs)
{
	if (atomic_fetch_sub(&bufs->users, 1) != 1)
		return;
	rte_free(bufs->memory);
	rte_free(bufs);
}

static void
give_back(void *addr, void *opaque)
{
	struct tapbatch_bufs *bufs = opaque;

	/* Of two pieces, the last to be freed may be the second. */
	put_index(bufs, index_of(bufs, addr));
	drop_user(bufs);
}

struct tapbatch_bufs *
tapbatch_bufs_create(unsigned int n, int socket)
{
	struct tapbatch_bufs *bufs;
	unsigned int i;

	bufs = rte_zmalloc_socket("tapbatch_bufs", sizeof(*bufs) + n * sizeof(bufs->buffers[0]),
				  RTE_CACHE_LINE_SIZE, socket);
	if (bufs == NULL)
		return NULL;
	bufs->memory = rte_malloc_socket("tapbatch_bufs_memory", (size_t)n * STRIDE,
					 RTE_CACHE_LINE_SIZE, socket);
	if (bufs->memory == NULL) {
		rte_free(bufs);
		return NULL;
	}
	rte_spinlock_init(&bufs->lock);
	atomic_init(&bufs->users, 1);
	bufs->first_free = NONE;
	for (i = n; i-- > 0;) {
		uint8_t *start = bufs->memory + (size_t)i * STRIDE;
		rte_iova_t iova = rte_mem_virt2iova(start);

		/* A device may be told to read it: it must be one piece to that as well.
		 * With physical addresses, one at a page's border is not.
		 */
		if (rte_mem_virt2iova(start + STRIDE - 1) != iova + STRIDE - 1)
			continue;
		bufs->buffers[i].iova = iova;
		put_index(bufs, i);
	}
	return bufs;
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

static void
attach_piece(struct rte_mbuf *m, uint8_t *buf, uint32_t from, uint32_t len, uint32_t room,
	     struct buffer *buffer)
{
	rte_pktmbuf_attach_extbuf(m, buf + from, buffer->iova + from, (uint16_t)room,
				  &buffer->shared);
	m->data_len = (uint16_t)len;
}

void
tapbatch_bufs_attach(struct tapbatch_bufs *bufs, struct rte_mbuf *m, struct rte_mbuf *second,
		     uint8_t *buf, uint32_t offset, uint32_t len)
{
	struct buffer *buffer = &bufs->buffers[index_of(bufs, buf)];
	uint32_t first = RTE_MIN(len, (uint32_t)TAPBATCH_BUFS_ONE_MBUF);

	atomic_fetch_add(&bufs->users, 1);
	buffer->shared.free_cb = give_back;
	buffer->shared.fcb_opaque = bufs;
	rte_mbuf_ext_refcnt_set(&buffer->shared, len > first ? 2 : 1);

	attach_piece(m, buf, 0, first, offset + first, buffer);
	/* rte_pktmbuf_attach_extbuf() leaves data_off at 0. */
	m->data_off = (uint16_t)offset;
	if (len > first) {
		attach_piece(second, buf, offset + first, len - first, len - first, buffer);
		m->next = second;
		m->nb_segs = 2;
	}
	m->pkt_len = len;
}
