/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Buffers that superframes are read into and handed to the application in, without
 * a copy, as external buffers of its mbufs. They outlive the queue that made them
 * until the last such mbuf is freed.
 */

#ifndef TAPBATCH_BUFS_H
#define TAPBATCH_BUFS_H

#include <stdint.h>

#include <rte_mbuf.h>

struct tapbatch_bufs;

/*
 * @param n       buffers, each of TAPBATCH_SLOT_LEN bytes
 * @param socket  NUMA node
 * @return NULL: not enough memory
 */
struct tapbatch_bufs *tapbatch_bufs_create(unsigned int n, int socket);

/* Gives up the set; what mbufs still refer to stays until they are freed. The
 * buffers that the caller holds itself are given back with it.
 */
void tapbatch_bufs_destroy(struct tapbatch_bufs *bufs, uint8_t **held, unsigned int nb_held);

/* One free buffer, or NULL. */
uint8_t *tapbatch_bufs_get(struct tapbatch_bufs *bufs);

/* Gives one back that was not attached. */
void tapbatch_bufs_put(struct tapbatch_bufs *bufs, uint8_t *buf);

/*
 * Hands a buffer to a chain of one or two mbufs (an mbuf's length has 16 bits). The
 * buffer returns to its set when the last of them is freed, in whatever thread.
 *
 * @param m       freshly allocated mbuf
 * @param second  another one, used if the frame needs it, else NULL is allowed
 * @param buf     from tapbatch_bufs_get()
 * @param offset  of the frame's first byte in buf
 * @param len     bytes of the frame; TAPBATCH_BUFS_ONE_MBUF or less need no second mbuf
 */
void tapbatch_bufs_attach(struct tapbatch_bufs *bufs, struct rte_mbuf *m, struct rte_mbuf *second,
			  uint8_t *buf, uint32_t offset, uint32_t len);

#define TAPBATCH_BUFS_ONE_MBUF 65024

#endif /* TAPBATCH_BUFS_H */
