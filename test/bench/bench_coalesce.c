/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * What the coalescer costs, in nanoseconds per packet: batches of 64 mbufs, from
 * ten times as many buffers as a batch has, as an application's pool would give.
 */

#include <stdio.h>
#include <time.h>

#include "../unit/mkpkt.h"
#include "tapbatch_coalesce.h"

#define NB_BATCHES 10
#define ROUNDS 2000
#define REPEATS 7

struct row {
	const char *name;
	uint8_t proto;
	uint16_t frame;    /* bytes */
	unsigned int flows;
	uint64_t ol_flags;
	uint32_t kinds;
	bool ipv6;
};

static const struct row rows[] = {
	{ "UDP, 64 bytes, 1 flow", IPPROTO_UDP, 64, 1, 0, 0xf, false },
	{ "UDP, 64 bytes, 1 flow, checksum flags", IPPROTO_UDP, 64, 1,
	  RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM, 0xf, false },
	{ "UDP over IPv6, 84 bytes, 1 flow", IPPROTO_UDP, 84, 1, 0, 0xf, true },
	{ "TCP, 1442 bytes, 1 flow", IPPROTO_TCP, 1442, 1, 0, 0xf, false },
	{ "TCP, 1442 bytes, 1 flow, checksum flags", IPPROTO_TCP, 1442, 1,
	  RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_TCP_CKSUM, 0xf, false },
	{ "UDP, 64 bytes, 8 flows interleaved", IPPROTO_UDP, 64, 8, 0, 0xf, false },
	{ "UDP, 64 bytes, 64 flows", IPPROTO_UDP, 64, 64, 0, 0xf, false },
	{ "UDP over IPv6, 84 bytes, 64 flows", IPPROTO_UDP, 84, 64, 0, 0xf, true },
	{ "UDP, 64 bytes, coalesce=none", IPPROTO_UDP, 64, 1, 0, 0, false },
};

static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

int
main(void)
{
	static struct rte_mbuf *pkts[NB_BATCHES][TAPBATCH_MAX_BATCH];
	static struct tapbatch_frame frames[TAPBATCH_MAX_BATCH];
	static uint8_t bytes[MKPKT_MAX];
	unsigned int r;

	printf("%-44s %10s %8s\n", "batch of 64", "ns/packet", "frames");
	for (r = 0; r < RTE_DIM(rows); r++) {
		const struct row *row = &rows[r];
		struct tapbatch_coalesce c = { .kinds = row->kinds, .frames = frames };
		double ns[REPEATS];
		unsigned int i;
		unsigned int j;
		unsigned int k;

		for (i = 0; i < NB_BATCHES; i++)
			for (j = 0; j < TAPBATCH_MAX_BATCH; j++) {
				struct mkpkt s = {
					.proto = row->proto, .ttl = 64, .ipv6 = row->ipv6,
					.frag = 0x4000, .tcp_flags = 0x10,
					.sport = (uint16_t)(1000 + j % row->flows), .dport = 9,
				};
				size_t hdr = mkpkt(&s, bytes);

				s.payload = (uint16_t)(row->frame - hdr);
				s.seq = j * s.payload;
				pkts[i][j] = mkmbuf(bytes, mkpkt(&s, bytes), NULL, 0);
				pkts[i][j]->ol_flags = row->ol_flags;
			}
		for (k = 0; k < REPEATS; k++) {
			double start = now_ns();

			for (i = 0; i < ROUNDS; i++)
				tapbatch_coalesce_batch(&c, pkts[i % NB_BATCHES],
							TAPBATCH_MAX_BATCH);
			ns[k] = (now_ns() - start) / ROUNDS / TAPBATCH_MAX_BATCH;
		}
		qsort(ns, REPEATS, sizeof(ns[0]), by_value);
		printf("%-44s %10.1f %8u\n", row->name, ns[REPEATS / 2], c.nb_frames);
		for (i = 0; i < NB_BATCHES; i++)
			for (j = 0; j < TAPBATCH_MAX_BATCH; j++)
				mkfree(pkts[i][j]);
	}
	return 0;
}
