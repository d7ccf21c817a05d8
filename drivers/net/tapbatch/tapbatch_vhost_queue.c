/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * What engine vhost keeps for a queue: made and released, with no word to the kernel. So
 * a test can be the other side of it.
 */

#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_malloc.h>

#include "tapbatch.h"
#include "tapbatch_vhost.h"

/* Entries of a ring, whatever the application asks for. The lower limit leaves room
 * for a batch of the worker's, which is 64 packets.
 */
#define MIN_SIZE 128

/* Indirect descriptors that a Tx queue has for each packet in flight, and at least:
 * twice what the longest frame takes.
 */
#define TABLE_PER_PACKET 4
#define MIN_TABLE 4096

static void *
alloc_array(size_t n, size_t size)
{
	return rte_zmalloc("tapbatch_vring", n * size, RTE_CACHE_LINE_SIZE);
}

static uint16_t
ring_size(uint32_t wanted)
{
	return (uint16_t)RTE_MIN(RTE_MAX(rte_align32pow2(wanted), (uint32_t)MIN_SIZE),
				 (uint32_t)TAPBATCH_VRING_MAX);
}

void
tapbatch_vhost_rx_free(struct tapbatch_vhost_rx *rx)
{
	uint16_t i;

	if (rx == NULL)
		return;
	/* Not chained: each is as it came from the pool. */
	for (i = 0; rx->mbufs != NULL && i < rx->vr.size; i++)
		rte_pktmbuf_free(rx->mbufs[i]);
	for (i = 0; i < rx->nb_spare; i++)
		rte_pktmbuf_free(rx->spare[i]);
	if (rx->kick >= 0)
		close(rx->kick);
	if (rx->call >= 0)
		close(rx->call);
	rte_free(rx->memory);
	rte_free(rx->mbufs);
	rte_free(rx);
}

struct tapbatch_vhost_rx *
tapbatch_vhost_rx_create(const struct tapbatch_rxq *rxq, bool interrupts)
{
	uint32_t room = rxq->room + TAPBATCH_VNET_HDR_LEN;
	/* The longest frame must fit twice, or the ring might wait for buffers which
	 * are only given once 32 of them are missing.
	 */
	uint16_t size = ring_size(RTE_MAX((uint32_t)rxq->nb_desc, 2 * (TAPBATCH_SLOT_LEN / room)));
	struct tapbatch_vhost_rx *rx;
	uint16_t i;

	rx = alloc_array(1, sizeof(*rx));
	if (rx == NULL)
		return NULL;
	rx->memory = alloc_array(1, tapbatch_vring_bytes(size));
	rx->mbufs = alloc_array(2u * size, sizeof(rx->mbufs[0]));
	rx->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rx->call = interrupts ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
	if (rx->memory == NULL || rx->mbufs == NULL || rx->kick < 0 ||
	    (interrupts && rx->call < 0)) {
		tapbatch_vhost_rx_free(rx);
		return NULL;
	}
	rx->spare = rx->mbufs + size;
	rx->room = (uint16_t)RTE_MIN(room, (uint32_t)UINT16_MAX);
	tapbatch_vring_init(&rx->vr, rx->memory, size);
	for (i = 0; i < size; i++) {
		rx->vr.avail->ring[i] = i;
		rx->vr.desc[i].len = rx->room;
		rx->vr.desc[i].flags = VRING_DESC_F_WRITE;
	}
	return rx;
}

/* Frees and counts what the worker did not take. */
static void
count_unsent(struct tapbatch_txq *txq, struct tapbatch_vhost_tx *tx)
{
	while (tx->pkts_tail != tx->pkts_head) {
		struct rte_mbuf *m = tx->pkts[tx->pkts_tail++ & tx->vr.mask];

		/* Unless they were reset since. */
		txq->stats.packets -= txq->stats.packets > 0;
		txq->stats.bytes -= RTE_MIN(txq->stats.bytes, m->pkt_len);
		txq->stats.stop_drops++;
		rte_pktmbuf_free(m);
	}
}

void
tapbatch_vhost_tx_free(struct tapbatch_txq *txq, struct tapbatch_vhost_tx *tx)
{
	if (tx == NULL)
		return;
	count_unsent(txq, tx);
	if (tx->kick >= 0)
		close(tx->kick);
	rte_free(tx->memory);
	rte_free(tx->frames);
	rte_free(tx->pkts);
	rte_free(tx->table);
	rte_free(tx->headers);
	rte_free(tx);
}

struct tapbatch_vhost_tx *
tapbatch_vhost_tx_create(struct tapbatch_txq *txq)
{
	uint16_t size = ring_size(txq->nb_desc);
	struct tapbatch_vhost_tx *tx;
	uint16_t i;

	tx = alloc_array(1, sizeof(*tx));
	if (tx == NULL)
		return NULL;
	tx->table_size = RTE_MAX((uint32_t)TABLE_PER_PACKET * size, (uint32_t)MIN_TABLE);
	tx->memory = alloc_array(1, tapbatch_vring_bytes(size));
	tx->frames = alloc_array(size, sizeof(tx->frames[0]));
	tx->pkts = alloc_array(size, sizeof(tx->pkts[0]));
	tx->table = alloc_array(tx->table_size, sizeof(tx->table[0]));
	tx->headers = alloc_array(size, sizeof(tx->headers[0]));
	tx->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (tx->memory == NULL || tx->frames == NULL || tx->pkts == NULL || tx->table == NULL ||
	    tx->headers == NULL || tx->kick < 0) {
		tapbatch_vhost_tx_free(txq, tx);
		return NULL;
	}
	tapbatch_vring_init(&tx->vr, tx->memory, size);
	for (i = 0; i < size; i++)
		tx->vr.avail->ring[i] = i;
	tx->plain_free = (txq->offloads & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE) != 0;
	return tx;
}
