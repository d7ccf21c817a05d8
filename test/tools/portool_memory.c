/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * portool's commands about memory that packets are in: added and removed while the port
 * runs, and such as DPDK knows nothing of.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_memory.h>

#include "portool.h"

#define PATIENCE_MS 5000
#define FRAME 1000
#define PAGE 4096
#define PIECES 96 /* more than a table of the kernel's takes regions */

/* Frames that are like no others: number says which. */
static void
fill(uint8_t *frame, unsigned int number)
{
	size_t i;

	memcpy(frame, "\x02\0\0\0\0\1\x02\0\0\0\0\2\x88\xb5", 14);
	for (i = 14; i < FRAME; i++)
		frame[i] = (uint8_t)(number * 7 + i);
}

/* Sends n packets and waits until they came and nothing of them is left in the port. */
static int
send_and_compare(uint16_t port, struct rawif *raw, struct rte_mbuf **pkts, unsigned int n)
{
	uint64_t deadline = now_ms() + PATIENCE_MS;
	static uint8_t got[RAWIF_MAX_FRAME];
	uint8_t want[FRAME];
	unsigned int i, sent = 0;

	while (sent < n && now_ms() < deadline)
		sent += rte_eth_tx_burst(port, 0, pkts + sent, (uint16_t)RTE_MIN(n - sent, 32u));
	if (sent < n) {
		rte_pktmbuf_free_bulk(pkts + sent, n - sent);
		return mismatch("only %u of %u packets were taken", sent, n);
	}
	for (i = 0; i < n; i++) {
		ssize_t len = rawif_recv(raw, got, NULL, PATIENCE_MS);

		fill(want, i);
		if (len != FRAME || memcmp(got, want, FRAME) != 0)
			return mismatch("packet %u: expected %u bytes of its own, got %zd bytes%s",
					i, FRAME, len, len == FRAME ? " that differ" : "");
	}
	return 0;
}

static size_t
heap_bytes(void)
{
	struct rte_malloc_socket_stats heap = { 0 };

	rte_malloc_get_socket_stats(0, &heap);
	return heap.heap_totalsz_bytes;
}

/* pool PORT RAW MBUFS: while the port runs a mempool is created, packets are sent from it,
 * and it is freed. Says by how much DPDK's memory grew for it, and what is left of that.
 */
static int
pool(char **argv)
{
	uint16_t port = (uint16_t)strtoul(argv[1], NULL, 0);
	struct rawif *raw = find_raw(argv[2]);
	unsigned int mbufs = (unsigned int)strtoul(argv[3], NULL, 0);
	size_t before = heap_bytes(), with;
	struct rte_mempool *mp;
	struct rte_mbuf *pkts[256];
	uint64_t deadline;
	unsigned int i;
	int ret;

	if (raw == NULL)
		return -ENOENT;
	mp = rte_pktmbuf_pool_create("added", mbufs, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
				     SOCKET_ID_ANY);
	if (mp == NULL)
		return -rte_errno;
	with = heap_bytes();
	/* From all over it. */
	for (i = 0; i < RTE_DIM(pkts); i++) {
		struct rte_mbuf *skipped[64];
		unsigned int n = RTE_MIN(mbufs / (unsigned int)RTE_DIM(pkts), 64u) - 1;

		pkts[i] = rte_pktmbuf_alloc(mp);
		if (pkts[i] == NULL)
			return -ENOMEM;
		fill((uint8_t *)rte_pktmbuf_append(pkts[i], FRAME), i);
		if (n > 0 && rte_pktmbuf_alloc_bulk(mp, skipped, n) == 0)
			rte_pktmbuf_free_bulk(skipped, n);
	}
	ret = send_and_compare(port, raw, pkts, RTE_DIM(pkts));
	deadline = now_ms() + PATIENCE_MS;
	while (rte_mempool_in_use_count(mp) > 0 && now_ms() < deadline)
		rte_eth_tx_done_cleanup(port, 0, 0);
	if (ret == 0 && rte_mempool_in_use_count(mp) > 0)
		ret = mismatch("%u mbufs are not given back", rte_mempool_in_use_count(mp));
	rte_mempool_free(mp);
	printf("added %zu\nleft %zd\n", with - before, (ssize_t)(heap_bytes() - before));
	return ret;
}

static void
count_free(void *addr, void *freed)
{
	(void)addr;
	(*(unsigned int *)freed)++;
}

/* extbuf PORT RAW: packets in pages of the process's own, apart from each other, are
 * attached to mbufs, sent, and unmapped.
 */
static int
extbuf(char **argv)
{
	uint16_t port = (uint16_t)strtoul(argv[1], NULL, 0);
	struct rawif *raw = find_raw(argv[2]);
	struct rte_mbuf *pkts[PIECES];
	const size_t len = PIECES * 2 * PAGE;
	unsigned int freed = 0, i;
	uint64_t deadline;
	uint8_t *memory;
	int ret;

	if (raw == NULL)
		return -ENOENT;
	memory = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return -errno;
	for (i = 0; i < PIECES; i++) {
		uint8_t *buf = memory + i * (size_t)(2 * PAGE);
		struct rte_mbuf_ext_shared_info *info;
		uint16_t room = PAGE;

		if (mprotect(buf, PAGE, PROT_READ | PROT_WRITE) != 0)
			return -errno;
		info = rte_pktmbuf_ext_shinfo_init_helper(buf, &room, count_free, &freed);
		pkts[i] = make_mbuf((const uint8_t *)"", 0, 0);
		if (pkts[i] == NULL)
			return -ENOMEM;
		rte_pktmbuf_attach_extbuf(pkts[i], buf, RTE_BAD_IOVA, room, info);
		rte_pktmbuf_reset_headroom(pkts[i]);
		fill((uint8_t *)rte_pktmbuf_append(pkts[i], FRAME), i);
	}
	ret = send_and_compare(port, raw, pkts, PIECES);
	deadline = now_ms() + PATIENCE_MS;
	while (freed < PIECES && now_ms() < deadline)
		rte_eth_tx_done_cleanup(port, 0, 0);
	if (ret == 0 && freed < PIECES)
		ret = mismatch("only %u of %u buffers are given back", freed, PIECES);
	munmap(memory, len);
	return ret;
}

const struct command memory_commands[] = {
	{ "pool", pool, "PORT RAW MBUFS" },
	{ "extbuf", extbuf, "PORT RAW" },
	{ NULL, NULL, NULL },
};
