/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Splitting gives, byte for byte, what a plain segmentation written here gives: for
 * every kind of headers, wherever the two pieces of the frame meet, and however often
 * the pool runs dry on the way.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>
#include <rte_eal.h>
#include <rte_mbuf.h>
#include <rte_net.h>

#include "superframe.h"
#include "tapbatch_split.h"

#define POOL_SIZE 255
#define ROOM 2048
#define SMALL_ROOM 127 /* odd: parts of a chain's payload start at odd offsets */

#define FIN 0x01
#define SYN 0x02
#define PSH 0x08
#define ACK 0x10
#define URG 0x20
#define ECE 0x40
#define CWR 0x80

static struct rte_mempool *pool;       /* of 2048-byte rooms */
static struct rte_mempool *small_pool; /* of SMALL_ROOM bytes */
static struct superframe frame;
static uint8_t expected[SUPERFRAME_MAX];
static uint8_t got[SUPERFRAME_MAX];
static uint8_t tail[SUPERFRAME_MAX];

static const struct row {
	const char *name;
	struct superframe frame;
} rows[] = {
	{ "TCP over IPv4",
	  { .tcp_flags = ACK, .gso_size = 1460, .payload_len = 14600 } },
	{ "TCP over IPv4, short last segment",
	  { .tcp_flags = ACK, .gso_size = 1448, .payload_len = 40001, .tcp_opts = 12 } },
	{ "TCP over IPv4 with PSH: on the last only",
	  { .tcp_flags = ACK | PSH, .gso_size = 100, .payload_len = 1000 } },
	{ "TCP over IPv4 with FIN: on the last only",
	  { .tcp_flags = ACK | PSH | FIN, .gso_size = 100, .payload_len = 950 } },
	{ "TCP over IPv4 with CWR: on the first only",
	  { .tcp_flags = ACK | CWR, .gso_size = 100, .payload_len = 950 } },
	{ "TCP over IPv4 with ECE: on all",
	  { .tcp_flags = ACK | ECE | CWR | PSH, .gso_size = 100, .payload_len = 950 } },
	{ "TCP over IPv4 with URG: on all",
	  { .tcp_flags = ACK | URG, .gso_size = 100, .payload_len = 300 } },
	{ "TCP over IPv4, id and sequence number wrap",
	  { .tcp_flags = ACK, .gso_size = 1000, .payload_len = 9000, .ip_id = 0xfffd,
	    .seq = 0xfffff000 } },
	{ "TCP over IPv4, most options of IP and TCP",
	  { .tcp_flags = ACK, .gso_size = 1300, .payload_len = 13001, .ip_opts = 40,
	    .tcp_opts = 40, .vlans = 2 } },
	{ "TCP over IPv4, checksum not open",
	  { .tcp_flags = ACK, .gso_size = 1448, .payload_len = 14480, .no_csum_flag = true } },
	{ "TCP over IPv6",
	  { .ipv6 = true, .tcp_flags = ACK | PSH, .gso_size = 1428, .payload_len = 60000,
	    .tcp_opts = 12 } },
	{ "TCP over IPv6, checksum not open",
	  { .ipv6 = true, .tcp_flags = ACK, .gso_size = 1428, .payload_len = 6000,
	    .no_csum_flag = true } },
	{ "TCP over IPv6 with extension headers",
	  { .ipv6 = true, .tcp_flags = ACK, .gso_size = 1400, .payload_len = 5000,
	    .ext_hdrs = 3 } },
	{ "UDP over IPv4, 64-byte frames",
	  { .udp = true, .gso_size = 22, .payload_len = 64 * 22 } },
	{ "UDP over IPv4, odd segments",
	  { .udp = true, .gso_size = 1, .payload_len = 64 } },
	{ "UDP over IPv4, short last segment",
	  { .udp = true, .gso_size = 1400, .payload_len = 40 * 1400 + 3, .ip_id = 77 } },
	{ "UDP over IPv6", { .ipv6 = true, .udp = true, .gso_size = 1232, .payload_len = 50000 } },
	{ "UDP over IPv6 with extension headers",
	  { .ipv6 = true, .udp = true, .gso_size = 999, .payload_len = 5000, .ext_hdrs = 1 } },
	{ "one VLAN tag", { .udp = true, .gso_size = 500, .payload_len = 2100, .vlans = 1 } },
	{ "two VLAN tags",
	  { .tcp_flags = ACK, .gso_size = 500, .payload_len = 2100, .vlans = 2 } },
	{ "IPv6 with a VLAN tag",
	  { .ipv6 = true, .tcp_flags = ACK, .gso_size = 500, .payload_len = 2100, .vlans = 1 } },
	{ "tun, TCP over IPv4",
	  { .l3_only = true, .tcp_flags = ACK, .gso_size = 500, .payload_len = 2100 } },
	{ "tun, UDP over IPv6",
	  { .l3_only = true, .ipv6 = true, .udp = true, .gso_size = 500, .payload_len = 2100 } },
	{ "a superframe that fits in a segment",
	  { .tcp_flags = ACK | PSH | CWR, .gso_size = 1460, .payload_len = 1460 } },
	{ "a superframe without payload",
	  { .tcp_flags = ACK | FIN, .gso_size = 1460, .payload_len = 0 } },
	{ "close to 64 KiB", { .tcp_flags = ACK, .gso_size = 1448, .payload_len = 65535 - 40 } },
};

static void
shown(const char *what, const char *name, uint32_t seed)
{
	print_error("%s: %s (seed %u)\n", name, what, seed);
}

/* Compares one received segment with the one that was to come, then frees it. */
static void
check_segment(const struct superframe *f, uint32_t index, struct rte_mbuf *m, uint32_t wants,
	      bool chains, const char *name, uint32_t seed)
{
	bool open = wants & TAPBATCH_RX_L4_CKSUM;
	uint32_t len = superframe_segment(f, index, expected, open);
	struct rte_net_hdr_lens lens;
	uint64_t flags = 0;
	const uint8_t *data;
	uint32_t i;

	rte_mbuf_sanity_check(m, 1);
	if (m->pkt_len != len) {
		print_error("%s (seed %u), segment %u: expected %u bytes, got %u\n", name, seed,
			    index, len, m->pkt_len);
		fail();
	}
	data = rte_pktmbuf_read(m, 0, len, got);
	for (i = 0; i < len; i++) {
		if (data[i] == expected[i])
			continue;
		print_error("%s (seed %u), segment %u, byte %u (L3 at %u, L4 at %u): "
			    "expected %02x, got %02x\n",
			    name, seed, index, i, f->l3, f->l4, expected[i], data[i]);
		fail();
	}
	if (!chains)
		assert_int_equal(m->nb_segs, 1);
	assert_int_equal(m->port, 7);
	if (wants & TAPBATCH_RX_IPV4_CKSUM && !f->ipv6)
		flags |= RTE_MBUF_F_RX_IP_CKSUM_GOOD;
	if (open)
		flags |= RTE_MBUF_F_RX_L4_CKSUM_NONE;
	assert_int_equal(m->ol_flags, flags);
	if (!(wants & TAPBATCH_RX_PTYPE))
		assert_int_equal(m->packet_type, 0);
	else if (!f->l3_only)
		assert_int_equal(m->packet_type, rte_net_get_ptype(m, &lens, RTE_PTYPE_ALL_MASK));
	else
		assert_int_equal(m->packet_type,
				 (f->ipv6 ? f->ext_hdrs ? RTE_PTYPE_L3_IPV6_EXT : RTE_PTYPE_L3_IPV6 :
				  f->ip_opts ? RTE_PTYPE_L3_IPV4_EXT : RTE_PTYPE_L3_IPV4) |
				 (f->udp ? RTE_PTYPE_L4_UDP : RTE_PTYPE_L4_TCP));
	rte_pktmbuf_free(m);
}

/*
 * Splits the frame, whose pieces meet at a given offset, with bursts of a given size,
 * and checks all of it.
 *
 * @param hold  mbufs to take from the pool before each call, so that it runs dry; they
 *              are given back after it
 */
static void
check_split(struct superframe *f, struct rte_mempool *from, uint32_t boundary, uint32_t wants,
	    uint16_t burst, uint32_t hold, const char *name, uint32_t seed)
{
	static struct tapbatch_split split;
	struct rte_mbuf *held[POOL_SIZE];
	struct rte_mbuf *pkts[256];
	uint32_t segments = superframe_segments(f);
	uint32_t index = 0;
	uint32_t calls = 0;
	uint8_t *head;
	int ret;

	/* Copies of their very size, for the sanitizer to see what lies beyond. */
	head = malloc(boundary);
	memcpy(head, f->data, boundary);
	memcpy(tail, f->data + boundary, f->len - boundary);
	if (f->l3_only)
		wants |= TAPBATCH_RX_L3_ONLY;

	split.dropped = 0;
	ret = tapbatch_split_begin(&split, &f->vnet, head, boundary, tail, f->len - boundary,
				   wants);
	if (ret != (int)segments) {
		print_error("%s (seed %u): expected %u segments, got %d\n", name, seed, segments,
			    ret);
		fail();
	}
	while (!split.done) {
		/* Every other call finds the pool as empty as was asked for. */
		uint32_t n_held = calls++ % 2 == 0 ? hold : 0;
		uint16_t n, i;

		assert_int_equal(split.nb_left, segments - index);
		if (n_held > 0)
			assert_int_equal(rte_pktmbuf_alloc_bulk(from, held, n_held), 0);
		n = tapbatch_split_next(&split, from, 7, pkts, burst);
		if (n_held > 0)
			rte_pktmbuf_free_bulk(held, n_held);
		if (n < burst && !split.done && n_held == 0) {
			shown("stopped with mbufs in the pool", name, seed);
			fail();
		}
		for (i = 0; i < n; i++)
			check_segment(f, index++, pkts[i], wants, wants & TAPBATCH_RX_SCATTER,
				      name, seed);
	}
	if (index != segments) {
		print_error("%s (seed %u): expected %u segments, got %u\n", name, seed, segments,
			    index);
		fail();
	}
	assert_int_equal(split.dropped, 0);
	assert_int_equal(rte_mempool_avail_count(from), POOL_SIZE);
	free(head);
}

static void
segments_are_those_of_a_plain_segmentation(void **state)
{
	static const uint32_t wants[] = {
		0,
		TAPBATCH_RX_PTYPE,
		TAPBATCH_RX_L4_CKSUM,
		TAPBATCH_RX_IPV4_CKSUM | TAPBATCH_RX_L4_CKSUM | TAPBATCH_RX_PTYPE,
		TAPBATCH_RX_SCATTER | TAPBATCH_RX_PTYPE,
	};
	static const uint16_t bursts[] = { 1, 3, 32, 256 };
	size_t i, j, k;

	(void)state;
	for (i = 0; i < RTE_DIM(rows); i++) {
		frame = rows[i].frame;
		superframe_build(&frame, (uint32_t)i);
		for (j = 0; j < RTE_DIM(wants); j++) {
			for (k = 0; k < RTE_DIM(bursts); k++) {
				uint32_t two = RTE_MAX(RTE_MIN(frame.len, 1920u),
						       (uint32_t)frame.hdr_len);

				check_split(&frame, pool, frame.len, wants[j], bursts[k], 0,
					    rows[i].name, (uint32_t)i);
				check_split(&frame, pool, two, wants[j], bursts[k], 0,
					    rows[i].name, (uint32_t)i);
			}
		}
	}
}

static void
pieces_may_meet_anywhere(void **state)
{
	static const struct superframe small[] = {
		{ .udp = true, .gso_size = 5, .payload_len = 63 },
		{ .tcp_flags = ACK | PSH, .gso_size = 70, .payload_len = 333 },
		{ .ipv6 = true, .udp = true, .gso_size = 300, .payload_len = 777 },
	};
	uint32_t boundary;
	size_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(small); i++) {
		frame = small[i];
		superframe_build(&frame, (uint32_t)i);
		for (boundary = frame.hdr_len; boundary <= frame.len; boundary++) {
			check_split(&frame, pool, boundary, 0, 256, 0, "boundary", boundary);
			check_split(&frame, pool, boundary, TAPBATCH_RX_L4_CKSUM, 2, 0,
				    "boundary, open", boundary);
			check_split(&frame, small_pool, boundary, TAPBATCH_RX_SCATTER, 256, 0,
				    "boundary, chains", boundary);
		}
	}
}

static void
segments_too_long_for_an_mbuf_become_chains(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(rows); i++) {
		frame = rows[i].frame;
		superframe_build(&frame, (uint32_t)i);
		/* Headers alone don't fit then, see below. */
		if (frame.hdr_len > SMALL_ROOM)
			continue;
		check_split(&frame, small_pool, frame.len, TAPBATCH_RX_SCATTER, 1, 0,
			    rows[i].name, (uint32_t)i);
		check_split(&frame, small_pool, RTE_MAX(frame.len / 2, frame.hdr_len),
			    TAPBATCH_RX_SCATTER | TAPBATCH_RX_L4_CKSUM, 2, 0, rows[i].name,
			    (uint32_t)i);
	}
}

static void
segments_too_long_for_an_mbuf_are_counted_without_scatter(void **state)
{
	static struct tapbatch_split split;
	struct rte_mbuf *pkts[256];
	uint16_t n, i;

	(void)state;
	frame = (struct superframe){ .udp = true, .gso_size = 500, .payload_len = 5 * 500 + 20 };
	superframe_build(&frame, 1);
	split.dropped = 3;
	assert_int_equal(tapbatch_split_begin(&split, &frame.vnet, frame.data, frame.len, NULL, 0,
					      0), 6);
	n = tapbatch_split_next(&split, small_pool, 7, pkts, 256);
	/* The last, short one fits. */
	assert_int_equal(n, 1);
	assert_true(split.done);
	assert_int_equal(split.dropped, 3 + 5);
	for (i = 0; i < n; i++)
		check_segment(&frame, 5 + i, pkts[i], 0, false, "dropped", 0);

	/* A chain is of no use when the headers don't fit in its first mbuf. */
	frame = (struct superframe){ .gso_size = 500, .payload_len = 1000, .ip_opts = 40,
				     .tcp_opts = 40, .vlans = 2 };
	superframe_build(&frame, 1);
	split.dropped = 0;
	assert_int_equal(tapbatch_split_begin(&split, &frame.vnet, frame.data, frame.len, NULL, 0,
					      TAPBATCH_RX_SCATTER), 2);
	assert_int_equal(tapbatch_split_next(&split, small_pool, 7, pkts, 256), 0);
	assert_true(split.done);
	assert_int_equal(split.dropped, 2);
	assert_int_equal(rte_mempool_avail_count(small_pool), POOL_SIZE);
}

/* Taking all heads first would leave none for the rest of the chains. */
static void
chains_come_from_a_pool_that_holds_just_one(void **state)
{
	static struct tapbatch_split split;
	struct rte_mbuf *held[POOL_SIZE];
	struct rte_mbuf *pkts[32];
	uint32_t index, left;

	(void)state;
	frame = (struct superframe){ .udp = true, .gso_size = 300, .payload_len = 30 * 300 };
	superframe_build(&frame, 9);
	/* 42 bytes of headers, 300 of payload: 3 mbufs. */
	for (left = 3; left <= 40; left++) {
		assert_int_equal(rte_pktmbuf_alloc_bulk(small_pool, held, POOL_SIZE - left), 0);
		tapbatch_split_begin(&split, &frame.vnet, frame.data, frame.len, NULL, 0,
				     TAPBATCH_RX_SCATTER);
		for (index = 0; index < 30;) {
			uint16_t i, n;

			n = tapbatch_split_next(&split, small_pool, 7, pkts, 32);
			if (n != RTE_MIN(left / 3, 30 - index)) {
				print_error("%u mbufs left: expected %u segments, got %u\n", left,
					    RTE_MIN(left / 3, 30 - index), n);
				fail();
			}
			for (i = 0; i < n; i++)
				check_segment(&frame, index++, pkts[i], TAPBATCH_RX_SCATTER, true,
					      "few mbufs", left);
		}
		rte_pktmbuf_free_bulk(held, POOL_SIZE - left);
	}
}

static void
an_empty_pool_loses_nothing(void **state)
{
	uint32_t left;

	(void)state;
	frame = (struct superframe){ .tcp_flags = ACK | PSH, .gso_size = 100,
				     .payload_len = 50 * 100 + 1 };
	superframe_build(&frame, 9);
	for (left = 0; left <= 52; left++) {
		check_split(&frame, pool, frame.len, 0, 60, POOL_SIZE - left, "empty pool", left);
		check_split(&frame, small_pool, 1000, TAPBATCH_RX_SCATTER, 60, POOL_SIZE - left,
			    "empty pool, chains", left);
	}
	frame.gso_size = 1000;
	frame.payload_len = 10 * 1000;
	superframe_build(&frame, 9);
	for (left = 0; left <= 100; left++)
		check_split(&frame, small_pool, 2000, TAPBATCH_RX_SCATTER, 60, POOL_SIZE - left,
			    "empty pool, long chains", left);
}

static void
a_wrong_sum_in_the_field_stays_wrong_by_as_much(void **state)
{
	static struct tapbatch_split split;
	struct rte_mbuf *pkts[256];
	uint32_t sum;
	uint16_t i;

	(void)state;
	frame = (struct superframe){ .tcp_flags = ACK, .gso_size = 1000, .payload_len = 3500 };
	superframe_build(&frame, 5);
	put16(frame.data + frame.l4 + 16, get16(frame.data + frame.l4 + 16) ^ 0x0100);
	assert_int_equal(tapbatch_split_begin(&split, &frame.vnet, frame.data, frame.len, NULL, 0,
					      0), 4);
	assert_int_equal(tapbatch_split_next(&split, pool, 7, pkts, 256), 4);
	for (i = 0; i < 4; i++) {
		const uint8_t *data = rte_pktmbuf_mtod(pkts[i], const uint8_t *);
		uint32_t l4_len = pkts[i]->pkt_len - frame.l4;

		sum = plain_pseudo_sum(data + frame.l3, false, IPPROTO_TCP, l4_len);
		sum = plain_sum(sum, data + frame.l4, l4_len);
		assert_int_not_equal(sum, 0xffff);
		rte_pktmbuf_free(pkts[i]);
	}
}

static void
udp_sums_of_zero_become_ffff(void **state)
{
	static struct tapbatch_split split;
	struct rte_mbuf *pkts[256];
	const uint8_t *data;
	uint32_t full;

	(void)state;
	frame = (struct superframe){ .udp = true, .gso_size = 100, .payload_len = 200 };
	superframe_build(&frame, 5);
	/* Choose the last word of the first segment's payload so that its sum is 0. */
	superframe_segment(&frame, 0, expected, false);
	full = get16(expected + frame.l4 + 6) + get16(frame.data + frame.hdr_len + 98);
	full = (full & 0xffff) + (full >> 16);
	put16(frame.data + frame.hdr_len + 98, full);
	assert_int_equal(tapbatch_split_begin(&split, &frame.vnet, frame.data, frame.len, NULL, 0,
					      0), 2);
	assert_int_equal(tapbatch_split_next(&split, pool, 7, pkts, 256), 2);
	data = rte_pktmbuf_mtod(pkts[0], const uint8_t *);
	assert_int_equal(get16(data + frame.l4 + 6), 0xffff);
	check_segment(&frame, 0, pkts[0], 0, false, "zero sum", 0);
	check_segment(&frame, 1, pkts[1], 0, false, "zero sum", 0);
}

static void
lengths_in_the_superframes_headers_do_not_matter(void **state)
{
	static struct tapbatch_split split;
	struct rte_mbuf *pkts[256];
	uint16_t i;

	(void)state;
	/* As in frames that are longer than the field can say. */
	frame = (struct superframe){ .tcp_flags = ACK, .gso_size = 1000, .payload_len = 3500 };
	superframe_build(&frame, 5);
	put16(frame.data + frame.l3 + 2, 0);
	put16(frame.data + frame.l3 + 10, 0x1234);
	frame.vnet.hdr_len = 3;
	assert_int_equal(tapbatch_split_begin(&split, &frame.vnet, frame.data, frame.len, NULL, 0,
					      0), 4);
	assert_int_equal(tapbatch_split_next(&split, pool, 7, pkts, 256), 4);
	for (i = 0; i < 4; i++)
		check_segment(&frame, i, pkts[i], 0, false, "lengths", 0);
}

static void
contradictions_are_refused(void **state)
{
	static const struct {
		const char *name;
		struct superframe frame;
		uint16_t at;      /* byte of the frame to set; 0: none */
		uint8_t value;
		struct tapbatch_vnet_hdr vnet; /* fields that are not 0 replace those */
		uint32_t head;    /* length of piece 0; 0: all */
	} bad[] = {
		{ "kind unknown", { .gso_size = 9, .payload_len = 99 }, 0, 0, { .gso_type = 2 }, 0 },
		{ "UFO", { .udp = true, .gso_size = 9, .payload_len = 99 }, 0, 0,
		  { .gso_type = TAPBATCH_VNET_GSO_UDP }, 0 },
		{ "IPv6 kind on IPv4", { .gso_size = 9, .payload_len = 99 }, 0, 0,
		  { .gso_type = TAPBATCH_VNET_GSO_TCPV6 }, 0 },
		{ "IPv4 kind on IPv6", { .ipv6 = true, .gso_size = 9, .payload_len = 99 }, 0, 0,
		  { .gso_type = TAPBATCH_VNET_GSO_TCPV4 }, 0 },
		{ "UDP kind on TCP", { .gso_size = 9, .payload_len = 99 }, 0, 0,
		  { .gso_type = TAPBATCH_VNET_GSO_UDP_L4 }, 0 },
		{ "TCP kind on UDP", { .udp = true, .gso_size = 9, .payload_len = 99 }, 0, 0,
		  { .gso_type = TAPBATCH_VNET_GSO_TCPV4 }, 0 },
		{ "ECN on UDP", { .udp = true, .gso_size = 9, .payload_len = 99 }, 0, 0,
		  { .gso_type = TAPBATCH_VNET_GSO_UDP_L4 | TAPBATCH_VNET_GSO_ECN }, 0 },
		{ "UDP without open checksum",
		  { .udp = true, .gso_size = 9, .payload_len = 99, .no_csum_flag = true }, 0, 0,
		  { 0 }, 0 },
		{ "gso_size 0", { .gso_size = 0, .payload_len = 99 }, 0, 0, { 0 }, 0 },
		{ "gso_size 65535", { .gso_size = 65535, .payload_len = 99 }, 0, 0, { 0 }, 0 },
		{ "csum_start elsewhere", { .gso_size = 9, .payload_len = 99 }, 0, 0,
		  { .csum_start = 36 }, 0 },
		{ "csum_offset elsewhere", { .gso_size = 9, .payload_len = 99 }, 0, 0,
		  { .csum_offset = 6 }, 0 },
		{ "IHL too short", { .gso_size = 9, .payload_len = 99 }, 14, 0x44, { 0 }, 0 },
		{ "IHL beyond the frame", { .gso_size = 9, .payload_len = 1 }, 14, 0x4f, { 0 }, 0 },
		{ "IP version 5", { .gso_size = 9, .payload_len = 99 }, 14, 0x55, { 0 }, 0 },
		{ "data offset too short", { .gso_size = 9, .payload_len = 99 }, 46, 0x40, { 0 }, 0 },
		{ "data offset beyond the frame", { .gso_size = 9, .payload_len = 9 }, 46, 0xf0,
		  { 0 }, 0 },
		{ "ARP", { .gso_size = 9, .payload_len = 99 }, 13, 0x06, { 0 }, 0 },
		{ "headers not whole in the first piece", { .gso_size = 9, .payload_len = 99 }, 0, 0,
		  { 0 }, 53 },
		{ "no byte in the first piece", { .gso_size = 9, .payload_len = 99 }, 0, 0, { 0 },
		  UINT32_MAX },
		{ "headers too long",
		  { .ipv6 = true, .gso_size = 9, .payload_len = 99, .ext_hdrs = 25 }, 0, 0, { 0 }, 0 },
	};
	static struct tapbatch_split split;
	size_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(bad); i++) {
		uint32_t head;
		uint8_t *copy;
		int ret;

		frame = bad[i].frame;
		superframe_build(&frame, 1);
		if (bad[i].at != 0)
			frame.data[bad[i].at] = bad[i].value;
		if (bad[i].vnet.gso_type != 0)
			frame.vnet.gso_type = bad[i].vnet.gso_type;
		if (bad[i].vnet.csum_start != 0)
			frame.vnet.csum_start = bad[i].vnet.csum_start;
		if (bad[i].vnet.csum_offset != 0)
			frame.vnet.csum_offset = bad[i].vnet.csum_offset;
		head = bad[i].head == UINT32_MAX ? 0 : bad[i].head != 0 ? bad[i].head : frame.len;
		copy = malloc(head);
		memcpy(copy, frame.data, head);
		ret = tapbatch_split_begin(&split, &frame.vnet, copy, head, frame.data + head,
					   frame.len - head, 0);
		if (ret != -EINVAL || !split.done) {
			print_error("%s: expected %d and done, got %d\n", bad[i].name, -EINVAL,
				    ret);
			fail();
		}
		free(copy);
	}
}

static uint32_t
below(uint32_t *seed, uint32_t limit)
{
	*seed = *seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(*seed >> 8) * limit >> 24);
}

static void
random_superframes(void **state)
{
	const char *env = getenv("TAPBATCH_SEED");
	uint32_t first = env != NULL ? (uint32_t)strtoul(env, NULL, 0) : (uint32_t)time(NULL);
	uint32_t i;

	(void)state;
	for (i = 0; i < 2000; i++) {
		uint32_t seed = first + i;
		uint32_t r = seed;
		uint32_t boundary, hold;

		below(&r, 1);
		memset(&frame, 0, offsetof(struct superframe, data));
		frame.ipv6 = below(&r, 2);
		frame.udp = below(&r, 2);
		frame.l3_only = below(&r, 4) == 0;
		frame.vlans = frame.l3_only ? 0 : (uint8_t)below(&r, 3);
		frame.ip_opts = below(&r, 4) == 0 ? (uint8_t)(4 * below(&r, 11)) : 0;
		frame.ext_hdrs = below(&r, 4) == 0 ? (uint8_t)below(&r, 4) : 0;
		frame.tcp_opts = (uint8_t)(4 * below(&r, 11));
		frame.tcp_flags = (uint8_t)below(&r, 256);
		frame.gso_size = (uint16_t)(1 + below(&r, below(&r, 2) ? 64 : 1700));
		frame.payload_len = below(&r, below(&r, 3) ? frame.gso_size * 20 : 65000);
		if (frame.payload_len / frame.gso_size > 2000)
			frame.gso_size = (uint16_t)(1 + frame.payload_len / 2000);
		frame.ip_id = (uint16_t)below(&r, 65536);
		frame.seq = below(&r, 1 << 24) << 8 | below(&r, 256);
		frame.no_csum_flag = !frame.udp && below(&r, 8) == 0;
		superframe_build(&frame, seed);
		boundary = frame.hdr_len + below(&r, frame.payload_len + 1);
		hold = below(&r, 4) == 0 ? below(&r, POOL_SIZE + 1) : 0;
		check_split(&frame, pool, boundary, below(&r, 32) & ~TAPBATCH_RX_L3_ONLY,
			    (uint16_t)(1 + below(&r, 200)), hold, "TAPBATCH_SEED", seed);
	}
}

static int
start(void **state)
{
	(void)state;
	/* No cache, so that the count of free mbufs is exact and the pool can run dry. */
	pool = rte_pktmbuf_pool_create("rooms", POOL_SIZE, 0, 0, RTE_PKTMBUF_HEADROOM + ROOM,
				       SOCKET_ID_ANY);
	small_pool = rte_pktmbuf_pool_create("small", POOL_SIZE, 0, 0,
					     RTE_PKTMBUF_HEADROOM + SMALL_ROOM, SOCKET_ID_ANY);
	return pool == NULL || small_pool == NULL ? -1 : 0;
}

int
main(void)
{
	char *eal[] = { "split_test", "--no-huge", "--no-shconf", "--no-pci", "-m", "64",
			"--no-telemetry", "--log-level", "lib.eal:error", NULL };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segments_are_those_of_a_plain_segmentation),
		cmocka_unit_test(pieces_may_meet_anywhere),
		cmocka_unit_test(segments_too_long_for_an_mbuf_become_chains),
		cmocka_unit_test(segments_too_long_for_an_mbuf_are_counted_without_scatter),
		cmocka_unit_test(chains_come_from_a_pool_that_holds_just_one),
		cmocka_unit_test(an_empty_pool_loses_nothing),
		cmocka_unit_test(a_wrong_sum_in_the_field_stays_wrong_by_as_much),
		cmocka_unit_test(udp_sums_of_zero_become_ffff),
		cmocka_unit_test(lengths_in_the_superframes_headers_do_not_matter),
		cmocka_unit_test(contradictions_are_refused),
		cmocka_unit_test(random_superframes),
	};
	int ret;

	if (rte_eal_init(RTE_DIM(eal) - 1, eal) < 0)
		return EXIT_FAILURE;
	ret = cmocka_run_group_tests(tests, start, NULL);
	rte_eal_cleanup();
	return ret;
}
