/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * What splitting costs per segment, on one core, mbufs freed again: by copying, as the
 * driver does, and by the way that it does not go, a header mbuf chained to an mbuf that
 * is attached to the superframe's memory. Prints a table.
 */

#include <stdio.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_mbuf.h>

#include "../unit/superframe.h"
#include "tapbatch_cksum.h"
#include "tapbatch_split.h"

#define BURST 32
#define SLOTS 8      /* superframes in turn: they lie in L2, as just copied by the kernel */
#define HEAD 1920    /* bytes of the frame in the first piece */
#define ROUNDS 5     /* the best counts */
#define SEGMENTS 2000000

static struct superframe *frames[SLOTS];
static struct rte_mempool *pool;
static struct rte_mempool *attach_pool;
static uint8_t *pieces[SLOTS];

/* Superframe memory is freed by nobody here: the slot's owner would take it back. */
static void
free_slot(void *addr, void *opaque)
{
	(void)addr;
	(void)opaque;
}

/*
 * The other way, at its best: lengths and IPv4 checksum as the driver's, no multi-piece
 * frames, payload not even read if the checksum may stay open.
 */
static uint32_t
split_attached(struct superframe *f, struct rte_mbuf_ext_shared_info *shinfo, bool open)
{
	uint32_t n = superframe_segments(f);
	struct rte_mbuf *heads[BURST];
	struct rte_mbuf *tails[BURST];
	uint32_t i, j;

	for (i = 0; i < n; i += BURST) {
		uint32_t burst = RTE_MIN((uint32_t)BURST, n - i);

		if (rte_pktmbuf_alloc_bulk(pool, heads, burst) != 0 ||
		    rte_pktmbuf_alloc_bulk(attach_pool, tails, burst) != 0)
			rte_exit(EXIT_FAILURE, "pool is empty\n");
		rte_mbuf_ext_refcnt_update(shinfo, (int16_t)burst);
		for (j = 0; j < burst; j++) {
			struct rte_mbuf *m = heads[j];
			uint32_t offset = f->hdr_len + (i + j) * f->gso_size;
			uint32_t len = RTE_MIN(f->gso_size, f->len - offset);
			uint8_t *to = rte_pktmbuf_mtod(m, uint8_t *);
			uint8_t *csum = to + f->l4 + (f->udp ? 6 : 16);
			uint16_t field;

			memcpy(to, f->data, 64);
			put16(to + f->l3 + 2, f->hdr_len - f->l3 + len);
			put16(to + f->l3 + 4, f->ip_id + i + j);
			if (f->udp)
				put16(to + f->l4 + 4, 8 + len);
			else
				put32(to + f->l4 + 4, f->seq + (i + j) * f->gso_size);
			memset(to + f->l3 + 10, 0, 2);
			field = tapbatch_cksum_finish(tapbatch_cksum(to + f->l3, 20));
			memcpy(to + f->l3 + 10, &field, 2);
			if (!open) {
				field = tapbatch_cksum_finish(
					tapbatch_cksum(to + f->l4, f->hdr_len - f->l4) +
					tapbatch_cksum(f->data + offset, len));
				memcpy(csum, &field, 2);
			}
			rte_pktmbuf_attach_extbuf(tails[j], f->data + offset, 0, (uint16_t)len,
						  shinfo);
			tails[j]->data_len = (uint16_t)len;
			m->data_len = f->hdr_len;
			m->pkt_len = f->hdr_len + len;
			m->next = tails[j];
			m->nb_segs = 2;
			m->port = 0;
		}
		rte_pktmbuf_free_bulk(heads, burst);
	}
	return n;
}

static uint32_t
split_copied(struct superframe *f, const uint8_t *piece, uint32_t wants)
{
	static struct tapbatch_split split;
	struct rte_mbuf *pkts[BURST];
	int n = tapbatch_split_begin(&split, &f->vnet, piece, HEAD, f->data + HEAD,
				     f->len - HEAD, wants);

	if (n < 0)
		rte_exit(EXIT_FAILURE, "superframe refused\n");
	while (!split.done) {
		uint16_t got = tapbatch_split_next(&split, pool, 0, pkts, BURST);

		rte_pktmbuf_free_bulk(pkts, got);
	}
	return (uint32_t)n;
}

/* The floor: payload copied to as many places, nothing else. */
static uint32_t
only_copied(struct superframe *f)
{
	static uint8_t to[BURST][2048];
	uint32_t n = superframe_segments(f);
	uint32_t i;

	for (i = 0; i < n; i++) {
		uint32_t offset = f->hdr_len + i * f->gso_size;

		rte_memcpy(to[i % BURST] + f->hdr_len, f->data + offset,
			   RTE_MIN(f->gso_size, f->len - offset));
	}
	return n;
}

enum way { COPY, COPY_OPEN, ATTACH, ATTACH_OPEN, MEMCPY, NB_WAYS };

static double
nanoseconds(enum way way)
{
	struct rte_mbuf_ext_shared_info shinfo = { .free_cb = free_slot };
	double best = 1e9;
	unsigned int round;

	for (round = 0; round < ROUNDS; round++) {
		uint64_t start = rte_rdtsc();
		uint32_t n = 0;
		double ns;
		uint32_t slot;

		for (slot = 0; n < SEGMENTS / ROUNDS; slot = (slot + 1) % SLOTS) {
			rte_mbuf_ext_refcnt_set(&shinfo, 1);
			switch (way) {
			case COPY:
				n += split_copied(frames[slot], pieces[slot], 0);
				break;
			case COPY_OPEN:
				n += split_copied(frames[slot], pieces[slot],
						  TAPBATCH_RX_L4_CKSUM);
				break;
			case ATTACH:
				n += split_attached(frames[slot], &shinfo, false);
				break;
			case ATTACH_OPEN:
				n += split_attached(frames[slot], &shinfo, true);
				break;
			default:
				n += only_copied(frames[slot]);
			}
		}
		ns = (double)(rte_rdtsc() - start) * 1e9 / (double)rte_get_tsc_hz() / n;
		best = RTE_MIN(best, ns);
	}
	return best;
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		struct superframe frame;
	} rows[] = {
		{ "UDP, 64-byte frames, 64 of them",
		  { .udp = true, .gso_size = 22, .payload_len = 64 * 22 + 1000 } },
		{ "UDP, 64-byte frames, IPv6",
		  { .udp = true, .ipv6 = true, .gso_size = 2, .payload_len = 1900 } },
		{ "UDP, 256-byte frames",
		  { .udp = true, .gso_size = 214, .payload_len = 64 * 214 } },
		{ "UDP, 512-byte frames",
		  { .udp = true, .gso_size = 470, .payload_len = 64 * 470 } },
		{ "TCP, 1448 bytes each",
		  { .tcp_flags = 0x10, .tcp_opts = 12, .gso_size = 1448,
		    .payload_len = 44 * 1448 } },
		{ "TCP, 1428 bytes each, IPv6",
		  { .ipv6 = true, .tcp_flags = 0x10, .tcp_opts = 12, .gso_size = 1428,
		    .payload_len = 44 * 1428 } },
		{ "UDP, 1442-byte frames",
		  { .udp = true, .gso_size = 1400, .payload_len = 46 * 1400 } },
	};
	size_t i;
	int slot;

	if (rte_eal_init(argc, argv) < 0)
		return EXIT_FAILURE;
	pool = rte_pktmbuf_pool_create("copy", 4095, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
				       SOCKET_ID_ANY);
	attach_pool = rte_pktmbuf_pool_create("attach", 4095, 256, 0, 0, SOCKET_ID_ANY);
	if (pool == NULL || attach_pool == NULL)
		rte_exit(EXIT_FAILURE, "no memory for the pools\n");

	printf("ns per segment, one core\n\n");
	printf("| superframe of | copied | checksum open | attached | attached, open "
	       "| payload copy alone |\n|---|---|---|---|---|---|\n");
	for (i = 0; i < RTE_DIM(rows); i++) {
		enum way way;

		for (slot = 0; slot < SLOTS; slot++) {
			free(frames[slot]);
			free(pieces[slot]);
			frames[slot] = malloc(sizeof(*frames[slot]));
			pieces[slot] = malloc(HEAD);
			if (frames[slot] == NULL || pieces[slot] == NULL)
				rte_exit(EXIT_FAILURE, "no memory for the frames\n");
			*frames[slot] = rows[i].frame;
			superframe_build(frames[slot], (uint32_t)slot);
			memcpy(pieces[slot], frames[slot]->data, HEAD);
		}
		printf("| %s |", rows[i].name);
		for (way = 0; way < NB_WAYS; way++)
			printf(" %.1f |", nanoseconds(way));
		printf("\n");
	}
	return 0;
}
