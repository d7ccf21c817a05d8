/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Virtio header <-> mbuf flags: what the kernel would make of a transmitted frame is what
 * the application asked for, and what the application is told of a received one is true.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <rte_eal.h>
#include <rte_mbuf.h>
#include <rte_net.h>

#include "superframe.h"
#include "tapbatch_vnet.h"

#define POOL_SIZE 4095
#define TX4 RTE_MBUF_F_TX_IPV4
#define TX6 RTE_MBUF_F_TX_IPV6
#define TX_IP RTE_MBUF_F_TX_IP_CKSUM
#define TX_TCP RTE_MBUF_F_TX_TCP_CKSUM
#define TX_UDP RTE_MBUF_F_TX_UDP_CKSUM
#define TX_TSO RTE_MBUF_F_TX_TCP_SEG
#define TX_USO RTE_MBUF_F_TX_UDP_SEG

static struct rte_mempool *pool; /* rooms of 2048 bytes */
static struct superframe sf;
static uint8_t wire[SUPERFRAME_MAX];
static uint8_t expected[SUPERFRAME_MAX];
static uint8_t before[SUPERFRAME_MAX];

/*
 * A packet as a chain of mbufs: the first `whole` bytes in the first one, then `piece`
 * bytes each (0: as many as fit).
 */
static struct rte_mbuf *
make_packet(const uint8_t *data, uint32_t len, uint32_t whole, uint32_t piece)
{
	struct rte_mbuf *head = rte_pktmbuf_alloc(pool);
	struct rte_mbuf *m = head;
	uint32_t n = RTE_MIN(RTE_MIN(whole, len), 2048u);

	for (;;) {
		memcpy(rte_pktmbuf_append(m, (uint16_t)n), data, n);
		data += n;
		len -= n;
		if (m != head) {
			head->pkt_len += n;
			head->nb_segs++;
		}
		if (len == 0)
			return head;
		n = RTE_MIN(piece == 0 ? 2048u : piece, len);
		m->next = rte_pktmbuf_alloc(pool);
		m = m->next;
	}
}

static void
set_lens(struct rte_mbuf *m, const struct superframe *f)
{
	m->l2_len = f->l3;
	m->l3_len = f->l4 - f->l3;
	m->l4_len = f->hdr_len - f->l4;
	m->tso_segsz = f->gso_size;
}

/* The bytes of the frame as they go to the kernel. */
static uint32_t
on_the_wire(const struct tapbatch_frame *frame, const struct rte_mbuf *m)
{
	uint32_t len = m->pkt_len;
	const uint8_t *data = rte_pktmbuf_read(m, 0, len, wire);

	if (data != wire)
		memcpy(wire, data, len);
	memcpy(wire, frame->hdr, frame->hdr_len);
	return len;
}

/* As the kernel does it to a packet that is no superframe. */
static void
complete(const struct tapbatch_vnet_hdr *vnet, uint8_t *data, uint32_t len)
{
	uint32_t sum;

	if (!(vnet->flags & TAPBATCH_VNET_F_NEEDS_CSUM))
		return;
	sum = plain_sum(0, data + vnet->csum_start, len - vnet->csum_start) ^ 0xffff;
	put16(data + vnet->csum_start + vnet->csum_offset, sum == 0 ? 0xffff : sum);
}

static void
assert_bytes(const char *name, const uint8_t *want, const uint8_t *is, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < len; i++) {
		if (want[i] == is[i])
			continue;
		print_error("%s: byte %u (L3 at %u, L4 at %u): expected %02x, got %02x\n", name, i,
			    sf.l3, sf.l4, want[i], is[i]);
		fail();
	}
}

static void
assert_vnet(const char *name, const struct tapbatch_vnet_hdr *want,
	    const struct tapbatch_vnet_hdr *is)
{
	if (memcmp(want, is, sizeof(*want)) == 0)
		return;
	print_error("%s: expected flags %u gso %#x hdr_len %u gso_size %u csum %u+%u, "
		    "got %u %#x %u %u %u+%u\n", name, want->flags, want->gso_type, want->hdr_len,
		    want->gso_size, want->csum_start, want->csum_offset, is->flags, is->gso_type,
		    is->hdr_len, is->gso_size, is->csum_start, is->csum_offset);
	fail();
}

/* Calls tapbatch_vnet_from_mbuf() and sees to it that the mbuf stays as it was. */
static int
from_mbuf(struct rte_mbuf *m, struct tapbatch_frame *frame)
{
	struct rte_mbuf copy = *m;
	uint32_t len = m->pkt_len;
	const void *data = rte_pktmbuf_read(m, 0, len, before);
	int ret;

	if (data != before)
		memcpy(before, data, len);
	memset(frame, 0xa5, sizeof(*frame));
	ret = tapbatch_vnet_from_mbuf(m, sf.l3_only, frame);
	assert_memory_equal(&copy, m, sizeof(copy));
	assert_memory_equal(before, rte_pktmbuf_read(m, 0, len, wire), len);
	assert_int_equal(frame->len, len);
	return ret;
}

#define IPV4_ALL (TX4 | TX_IP)

static const struct request {
	const char *name;
	struct superframe frame;
	uint64_t flags;
} requests[] = {
	{ "IPv4 checksum alone", { .payload_len = 100 }, TX4 | TX_IP },
	{ "IPv4 checksum alone, options", { .payload_len = 100, .ip_opts = 12 }, TX4 | TX_IP },
	{ "TCP over IPv4", { .payload_len = 1000, .tcp_opts = 12 }, TX4 | TX_TCP },
	{ "TCP over IPv4 with IPv4 checksum", { .payload_len = 1000 }, IPV4_ALL | TX_TCP },
	{ "TCP over IPv4, all options",
	  { .payload_len = 1000, .ip_opts = 40, .tcp_opts = 40, .vlans = 2 }, IPV4_ALL | TX_TCP },
	{ "TCP over IPv4 without payload", { .payload_len = 0 }, IPV4_ALL | TX_TCP },
	{ "TCP over IPv6", { .ipv6 = true, .payload_len = 1000 }, TX6 | TX_TCP },
	{ "TCP over IPv6 with extension headers",
	  { .ipv6 = true, .payload_len = 1000, .ext_hdrs = 2 }, TX6 | TX_TCP },
	{ "TCP, odd length", { .payload_len = 1001 }, IPV4_ALL | TX_TCP },
	{ "UDP over IPv4", { .udp = true, .payload_len = 22 }, TX4 | TX_UDP },
	{ "UDP over IPv4 with IPv4 checksum", { .udp = true, .payload_len = 1 }, IPV4_ALL | TX_UDP },
	{ "UDP over IPv6", { .udp = true, .ipv6 = true, .payload_len = 22 }, TX6 | TX_UDP },
	{ "UDP over IPv6 with extension headers",
	  { .udp = true, .ipv6 = true, .payload_len = 22, .ext_hdrs = 1 }, TX6 | TX_UDP },
	{ "version flags missing", { .udp = true, .payload_len = 22 }, TX_UDP },
	{ "VLAN tag", { .udp = true, .payload_len = 22, .vlans = 1 }, IPV4_ALL | TX_UDP },
	{ "two VLAN tags", { .payload_len = 22, .vlans = 2, .ipv6 = true }, TX6 | TX_TCP },
	{ "tun", { .payload_len = 22, .l3_only = true }, IPV4_ALL | TX_TCP },
	{ "tun, IPv6", { .payload_len = 22, .l3_only = true, .ipv6 = true }, TX6 | TX_TCP },
	{ "TSO that fits in a segment", { .gso_size = 1000, .payload_len = 1000 },
	  IPV4_ALL | TX_TSO },
	{ "TSO of one byte, IPv6", { .gso_size = 1000, .payload_len = 1, .ipv6 = true },
	  TX6 | TX_TSO },
	{ "UDP segmentation that fits in a segment",
	  { .gso_size = 1000, .payload_len = 999, .udp = true }, IPV4_ALL | TX_USO },
};

/* Headers in one mbuf, cut at every byte, and in mbufs of one byte each. */
static void
checksums_asked_for_come_out_right(void **state)
{
	struct tapbatch_frame frame;
	size_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(requests); i++) {
		const struct request *r = &requests[i];
		bool all = (r->flags & (RTE_MBUF_F_TX_L4_MASK | TX_TSO | TX_USO)) != 0;
		bool seg = (r->flags & (TX_TSO | TX_USO)) != 0;
		uint32_t whole, len;

		sf = r->frame;
		sf.tcp_flags = 0x18;
		superframe_build(&sf, (uint32_t)i);
		memcpy(expected, sf.data, sf.len);
		superframe_headers(&sf, expected, sf.payload_len, sf.ip_id, sf.seq, sf.tcp_flags,
				   !all);
		/* Whatever the application left in the fields that are asked for. */
		if (all)
			put16(sf.data + sf.l4 + (sf.udp ? 6 : 16), 0xdead);
		if (!sf.ipv6 && (seg || (r->flags & TX_IP)))
			put16(sf.data + sf.l3 + 10, 0xbeef);
		if (seg) {
			put16(sf.data + sf.l3 + (sf.ipv6 ? 4 : 2), 0x1111);
			if (sf.udp)
				put16(sf.data + sf.l4 + 4, 0x2222);
		}
		for (whole = 0; whole <= (uint32_t)sf.hdr_len + 2; whole++) {
			struct rte_mbuf *m;
			int ret;

			/* Whole 0: one-byte segments. */
			m = make_packet(sf.data, sf.len, whole == 0 ? 1 : whole, whole == 0);
			set_lens(m, &sf);
			m->ol_flags |= r->flags;
			ret = from_mbuf(m, &frame);
			if (ret != 0) {
				print_error("%s, cut at %u: expected 0, got %d\n", r->name, whole,
					    ret);
				fail();
			}
			assert_int_equal(frame.vnet.gso_type, TAPBATCH_VNET_GSO_NONE);
			assert_int_equal(frame.vnet.gso_size, 0);
			len = on_the_wire(&frame, m);
			complete(&frame.vnet, wire, len);
			assert_bytes(r->name, expected, wire, len);
			rte_pktmbuf_free(m);
		}
	}
}

static const struct request superframes[] = {
	{ "TSO over IPv4", { .gso_size = 1448, .payload_len = 20000, .tcp_opts = 12 },
	  IPV4_ALL | TX_TSO },
	{ "TSO without the IPv4 checksum flag", { .gso_size = 1448, .payload_len = 20000 },
	  TX4 | TX_TSO },
	{ "TSO over IPv4, all options",
	  { .gso_size = 1400, .payload_len = 1401, .ip_opts = 40, .tcp_opts = 40, .vlans = 2 },
	  IPV4_ALL | TX_TSO },
	{ "TSO with CWR", { .gso_size = 100, .payload_len = 200, .tcp_flags = 0x90 },
	  IPV4_ALL | TX_TSO },
	{ "TSO over IPv6", { .ipv6 = true, .gso_size = 1428, .payload_len = 60000 }, TX6 | TX_TSO },
	{ "TSO over IPv6 with extension headers",
	  { .ipv6 = true, .gso_size = 1400, .payload_len = 6000, .ext_hdrs = 2 }, TX6 | TX_TSO },
	{ "UDP segmentation over IPv4", { .udp = true, .gso_size = 22, .payload_len = 64 * 22 },
	  IPV4_ALL | TX_USO },
	{ "UDP segmentation over IPv6",
	  { .udp = true, .ipv6 = true, .gso_size = 1232, .payload_len = 12321 }, TX6 | TX_USO },
	{ "VLAN tag", { .gso_size = 1448, .payload_len = 2000, .vlans = 1 }, IPV4_ALL | TX_TSO },
	{ "tun", { .gso_size = 1448, .payload_len = 2000, .l3_only = true }, IPV4_ALL | TX_TSO },
	{ "the longest IPv4 packet", { .gso_size = 1448, .payload_len = 65535 - 40 },
	  IPV4_ALL | TX_TSO },
};

static void
segmentation_asked_for_becomes_a_superframe(void **state)
{
	struct tapbatch_frame frame;
	size_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(superframes); i++) {
		const struct request *r = &superframes[i];
		uint32_t whole;

		sf = r->frame;
		sf.tcp_flags |= 0x18;
		superframe_build(&sf, (uint32_t)i);
		memcpy(expected, sf.data, sf.len);
		put16(sf.data + sf.l4 + (sf.udp ? 6 : 16), 0xdead);
		put16(sf.data + sf.l3 + (sf.ipv6 ? 4 : 2), 0);
		if (sf.udp)
			put16(sf.data + sf.l4 + 4, 0);
		if (!sf.ipv6)
			put16(sf.data + sf.l3 + 10, 0);
		for (whole = 1; whole <= (uint32_t)sf.hdr_len + 2; whole++) {
			struct rte_mbuf *m = make_packet(sf.data, sf.len, whole, 0);
			int ret;

			set_lens(m, &sf);
			m->ol_flags |= r->flags;
			ret = from_mbuf(m, &frame);
			if (ret != 0) {
				print_error("%s, cut at %u: expected 0, got %d\n", r->name, whole,
					    ret);
				fail();
			}
			assert_vnet(r->name, &sf.vnet, &frame.vnet);
			assert_bytes(r->name, expected, wire, on_the_wire(&frame, m));
			rte_pktmbuf_free(m);
		}
	}
}

static void
packets_without_flags_stay_as_they_are(void **state)
{
	static const uint64_t flags[] = {
		0, TX4, TX6, RTE_MBUF_F_RX_L4_CKSUM_GOOD, RTE_MBUF_F_RX_L4_CKSUM_BAD,
		RTE_MBUF_F_RX_IP_CKSUM_GOOD, RTE_MBUF_F_RX_IP_CKSUM_BAD, RTE_MBUF_F_RX_RSS_HASH,
		RTE_MBUF_F_RX_VLAN, RTE_MBUF_F_RX_LRO, /* no tso_segsz */
	};
	static const struct tapbatch_vnet_hdr none;
	struct tapbatch_frame frame;
	size_t i;

	(void)state;
	sf = (struct superframe){ .payload_len = 100 };
	superframe_build(&sf, 1);
	for (i = 0; i < RTE_DIM(flags); i++) {
		struct rte_mbuf *m = make_packet(sf.data, sf.len, sf.len, 0);

		m->ol_flags |= flags[i];
		assert_int_equal(from_mbuf(m, &frame), 0);
		assert_vnet("no flags", &none, &frame.vnet);
		assert_int_equal(frame.hdr_len, 0);
		rte_pktmbuf_free(m);
	}
}

static void
padding_is_not_summed(void **state)
{
	static const uint64_t flags[] = { IPV4_ALL | TX_UDP, RTE_MBUF_F_RX_L4_CKSUM_NONE };
	struct tapbatch_frame frame;
	struct rte_mbuf *m;
	uint32_t whole;
	size_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(flags); i++) {
		for (whole = 1; whole < 60; whole++) {
			sf = (struct superframe){ .udp = true, .payload_len = 3 };
			superframe_build(&sf, 1);
			memset(sf.data + sf.len, 0x77, 60 - sf.len);
			memcpy(expected, sf.data, 60);
			superframe_headers(&sf, expected, 3, 0, 0, 0, false);
			m = make_packet(sf.data, 60, whole, 0);
			set_lens(m, &sf);
			m->ol_flags |= flags[i];
			assert_int_equal(from_mbuf(m, &frame), 0);
			complete(&frame.vnet, wire, on_the_wire(&frame, m));
			assert_bytes("padding", expected, wire, 60);
			rte_pktmbuf_free(m);
		}
	}
}

static void
udp_without_a_checksum_keeps_none(void **state)
{
	static const struct tapbatch_vnet_hdr none;
	struct tapbatch_frame frame;
	struct rte_mbuf *m;

	(void)state;
	/* net_tap marks such packets so. */
	sf = (struct superframe){ .udp = true, .payload_len = 30 };
	superframe_build(&sf, 1);
	put16(sf.data + sf.l4 + 6, 0);
	m = make_packet(sf.data, sf.len, sf.len, 0);
	m->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_NONE;
	assert_int_equal(from_mbuf(m, &frame), 0);
	assert_vnet("no checksum", &none, &frame.vnet);
	assert_int_equal(frame.hdr_len, 0);
	rte_pktmbuf_free(m);
}

static void
contradicting_requests_are_refused(void **state)
{
	enum { L2 = 1, L3 = 2, L4 = 4, SEGSZ = 8 };
	static const struct {
		const char *name;
		struct superframe frame;
		uint64_t flags;
		int expected;
		int set;          /* which of the lengths to replace */
		int value;
		uint16_t at;      /* byte of the packet to replace */
		uint8_t byte;
		uint32_t cut;     /* length of the packet, 0: all */
	} bad[] = {
		{ "SCTP checksum", { .payload_len = 99 }, TX4 | RTE_MBUF_F_TX_SCTP_CKSUM, -ENOTSUP,
		  0, 0, 0, 0, 0 },
		{ "tunnel", { .payload_len = 99 },
		  TX4 | TX_TCP | RTE_MBUF_F_TX_TUNNEL_VXLAN | RTE_MBUF_F_TX_OUTER_IPV4, -ENOTSUP,
		  0, 0, 0, 0, 0 },
		{ "outer checksum", { .payload_len = 99 }, RTE_MBUF_F_TX_OUTER_IP_CKSUM, -ENOTSUP,
		  0, 0, 0, 0, 0 },
		{ "VLAN insertion", { .payload_len = 99 }, RTE_MBUF_F_TX_VLAN, -ENOTSUP, 0, 0, 0, 0,
		  0 },
		{ "both segmentations", { .payload_len = 99 }, TX4 | TX_TSO | TX_USO, -EINVAL, 0, 0,
		  0, 0, 0 },
		{ "TSO, segment size 0", { .payload_len = 99 }, TX4 | TX_TSO, -EINVAL, SEGSZ, 0, 0,
		  0, 0 },
		{ "TSO of UDP", { .udp = true, .gso_size = 9, .payload_len = 99 }, TX4 | TX_TSO,
		  -EINVAL, 0, 0, 0, 0, 0 },
		{ "UDP segmentation of TCP", { .gso_size = 9, .payload_len = 99 }, TX4 | TX_USO,
		  -EINVAL, 0, 0, 0, 0, 0 },
		{ "TSO, wrong l2_len", { .gso_size = 9, .payload_len = 99 }, TX4 | TX_TSO, -EINVAL,
		  L2, 18, 0, 0, 0 },
		{ "TSO, l2_len 0", { .gso_size = 9, .payload_len = 99 }, TX4 | TX_TSO, -EINVAL, L2, 0,
		  0, 0, 0 },
		{ "TSO, l3_len too long", { .gso_size = 9, .payload_len = 99 }, TX4 | TX_TSO, -EINVAL,
		  L3, 24, 0, 0, 0 },
		{ "TSO, l3_len too short", { .gso_size = 9, .payload_len = 99 }, TX4 | TX_TSO,
		  -EINVAL, L3, 16, 0, 0, 0 },
		{ "TSO, l4_len too long", { .gso_size = 9, .payload_len = 99 }, TX4 | TX_TSO, -EINVAL,
		  L4, 24, 0, 0, 0 },
		{ "TSO, l4_len 0", { .gso_size = 9, .payload_len = 99 }, TX4 | TX_TSO, -EINVAL, L4, 0,
		  0, 0, 0 },
		{ "TSO, l3_len beyond the data", { .gso_size = 9, .payload_len = 9 }, TX4 | TX_TSO,
		  -EINVAL, L3, 500, 0, 0, 0 },
		{ "TSO, headers cut", { .gso_size = 9, .payload_len = 9 }, TX4 | TX_TSO, -EINVAL, 0,
		  0, 0, 0, 50 },
		{ "TSO, IPv6 flag on IPv4", { .gso_size = 9, .payload_len = 99 }, TX6 | TX_TSO,
		  -EINVAL, 0, 0, 0, 0, 0 },
		{ "TSO, longer than IP can say", { .gso_size = 1000, .payload_len = 65535 - 39 },
		  TX4 | TX_TSO, -EINVAL, 0, 0, 0, 0, 0 },
		{ "TSO, much longer than IP can say", { .gso_size = 1000, .payload_len = 65536 + 26 },
		  TX4 | TX_TSO, -EINVAL, 0, 0, 0, 0, 0 },
		{ "TSO of a fragment", { .gso_size = 9, .payload_len = 99 }, TX4 | TX_TSO, -EINVAL,
		  0, 0, 20, 0x20, 0 },
		{ "TSO, headers longer than we edit",
		  { .ipv6 = true, .gso_size = 9, .payload_len = 99, .ext_hdrs = 10 }, TX6 | TX_TSO,
		  -ENOTSUP, 0, 0, 0, 0, 0 },
		{ "TCP checksum on UDP", { .udp = true, .payload_len = 99 }, TX4 | TX_TCP, -EINVAL,
		  0, 0, 0, 0, 0 },
		{ "UDP checksum on TCP", { .payload_len = 99 }, TX4 | TX_UDP, -EINVAL, 0, 0, 0, 0,
		  0 },
		{ "TCP checksum, l2_len 0", { .payload_len = 99 }, TX4 | TX_TCP, -EINVAL, L2, 0, 0, 0,
		  0 },
		{ "TCP checksum, wrong l3_len", { .payload_len = 99 }, TX4 | TX_TCP, -EINVAL, L3, 24,
		  0, 0, 0 },
		{ "TCP checksum of a fragment", { .payload_len = 99 }, TX4 | TX_TCP, -EINVAL, 0, 0,
		  21, 0x10, 0 },
		{ "TCP checksum, header cut", { .payload_len = 9 }, TX4 | TX_TCP, -EINVAL, 0, 0, 0, 0,
		  50 },
		{ "UDP length beyond IP's", { .udp = true, .payload_len = 99 }, TX4 | TX_UDP,
		  -EINVAL, 0, 0, 38, 0xff, 0 },
		{ "IPv4 checksum on IPv6", { .ipv6 = true, .payload_len = 99 }, TX_IP, -EINVAL, 0, 0,
		  0, 0, 0 },
		{ "IPv4 checksum, wrong l3_len", { .payload_len = 99 }, TX4 | TX_IP, -EINVAL, L3, 24,
		  0, 0, 0 },
		{ "IPv4 checksum, header cut", { .payload_len = 99 }, TX4 | TX_IP, -EINVAL, 0, 0, 0,
		  0, 33 },
		{ "IPv4 checksum, an empty packet", { .payload_len = 99 }, TX4 | TX_IP, -EINVAL, 0, 0,
		  0, 0, UINT32_MAX },
		{ "LRO of UDP with a length of its own",
		  { .udp = true, .gso_size = 9, .payload_len = 99 }, RTE_MBUF_F_RX_LRO, -EINVAL, 0,
		  0, 39, 50, 0 },
		{ "LRO of what is neither TCP nor UDP", { .gso_size = 9, .payload_len = 99 },
		  RTE_MBUF_F_RX_LRO, -EINVAL, 0, 0, 23, 1, 0 },
	};
	static const struct tapbatch_vnet_hdr none;
	struct tapbatch_frame frame;
	size_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(bad); i++) {
		struct rte_mbuf *m;
		uint32_t len;
		int ret;

		sf = bad[i].frame;
		superframe_build(&sf, 1);
		if (bad[i].at != 0)
			sf.data[bad[i].at] = bad[i].byte;
		len = bad[i].cut == UINT32_MAX ? 0 : bad[i].cut != 0 ? bad[i].cut : sf.len;
		m = make_packet(sf.data, len, len, 0);
		set_lens(m, &sf);
		m->ol_flags |= bad[i].flags;
		if (bad[i].set & L2)
			m->l2_len = bad[i].value;
		if (bad[i].set & L3)
			m->l3_len = bad[i].value;
		if (bad[i].set & L4)
			m->l4_len = bad[i].value;
		if (bad[i].set & SEGSZ)
			m->tso_segsz = bad[i].value;
		ret = from_mbuf(m, &frame);
		if (ret != bad[i].expected) {
			print_error("%s: expected %d, got %d\n", bad[i].name, bad[i].expected, ret);
			fail();
		}
		assert_vnet(bad[i].name, &none, &frame.vnet);
		assert_int_equal(frame.hdr_len, 0);
		rte_pktmbuf_free(m);
	}
}

/* A received packet: its flags, and its bytes if they change. */
static const struct received {
	const char *name;
	struct superframe frame;
	bool open;            /* checksum open, and virtio header says so */
	uint8_t vnet_flags;   /* in addition */
	uint16_t at;          /* byte to change before */
	uint8_t xor;
	uint32_t wants;
	uint64_t expected;    /* ol_flags */
	bool completed;       /* an open checksum was completed */
} received[] = {
	{ "open checksum, wanted in flags", { .payload_len = 99 }, true, 0, 0, 0,
	  TAPBATCH_RX_L4_CKSUM, RTE_MBUF_F_RX_L4_CKSUM_NONE, false },
	{ "open checksum, not wanted in flags", { .payload_len = 99 }, true, 0, 0, 0, 0, 0, true },
	{ "open checksum, IPv6 UDP", { .ipv6 = true, .udp = true, .payload_len = 98 }, true, 0, 0, 0,
	  TAPBATCH_RX_PTYPE, 0, true },
	{ "open checksum behind extension headers",
	  { .ipv6 = true, .payload_len = 98, .ext_hdrs = 2 }, true, 0, 0, 0, TAPBATCH_RX_L4_CKSUM,
	  RTE_MBUF_F_RX_L4_CKSUM_NONE, false },
	{ "checksum verified by the kernel", { .payload_len = 99 }, false,
	  TAPBATCH_VNET_F_DATA_VALID, 70, 0xff, TAPBATCH_RX_L4_CKSUM, RTE_MBUF_F_RX_L4_CKSUM_GOOD,
	  false },
	{ "nothing said, right", { .payload_len = 99 }, false, 0, 0, 0, TAPBATCH_RX_L4_CKSUM,
	  RTE_MBUF_F_RX_L4_CKSUM_GOOD, false },
	{ "nothing said, right, UDP over IPv6, tags",
	  { .payload_len = 1001, .udp = true, .ipv6 = true, .vlans = 2 }, false, 0, 0, 0,
	  TAPBATCH_RX_L4_CKSUM, RTE_MBUF_F_RX_L4_CKSUM_GOOD, false },
	{ "nothing said, wrong", { .payload_len = 99 }, false, 0, 70, 1, TAPBATCH_RX_L4_CKSUM,
	  RTE_MBUF_F_RX_L4_CKSUM_BAD, false },
	{ "nothing said, a fragment", { .payload_len = 99 }, false, 0, 20, 0x20,
	  TAPBATCH_RX_L4_CKSUM, 0, false },
	{ "IPv4 checksum right", { .payload_len = 99, .ip_opts = 8 }, false, 0, 0, 0,
	  TAPBATCH_RX_IPV4_CKSUM, RTE_MBUF_F_RX_IP_CKSUM_GOOD, false },
	{ "IPv4 checksum wrong", { .payload_len = 99 }, false, 0, 22, 1, TAPBATCH_RX_IPV4_CKSUM,
	  RTE_MBUF_F_RX_IP_CKSUM_BAD, false },
	{ "IPv4 checksum on tun, both wanted", { .payload_len = 99, .l3_only = true }, false, 0, 0,
	  0, TAPBATCH_RX_IPV4_CKSUM | TAPBATCH_RX_L4_CKSUM,
	  RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD, false },
	{ "IPv4 checksum of IPv6", { .ipv6 = true, .payload_len = 99 }, false, 0, 0, 0,
	  TAPBATCH_RX_IPV4_CKSUM, 0, false },
	{ "nothing wanted", { .payload_len = 99 }, false, 0, 0, 0, 0, 0, false },
};

static void
received_packets_are_told_apart(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(received); i++) {
		const struct received *r = &received[i];
		struct tapbatch_vnet_hdr vnet;
		uint32_t whole;

		sf = r->frame;
		sf.tcp_flags = 0x10;
		superframe_build(&sf, (uint32_t)i);
		if (!r->open)
			superframe_headers(&sf, sf.data, sf.payload_len, 0, 0, sf.tcp_flags, false);
		sf.data[r->at] ^= r->xor;
		memset(&vnet, 0, sizeof(vnet));
		vnet.flags = r->vnet_flags | (r->open ? TAPBATCH_VNET_F_NEEDS_CSUM : 0);
		vnet.csum_start = sf.vnet.csum_start;
		vnet.csum_offset = sf.vnet.csum_offset;
		memcpy(expected, sf.data, sf.len);
		if (r->completed)
			complete(&vnet, expected, sf.len);
		for (whole = 1; whole <= (uint32_t)sf.hdr_len + 2; whole++) {
			struct rte_mbuf *m = make_packet(sf.data, sf.len, whole, whole % 3);
			uint32_t wants = r->wants | (sf.l3_only ? TAPBATCH_RX_L3_ONLY : 0);
			const uint8_t *data;

			if (tapbatch_vnet_to_mbuf(&vnet, m, wants) != 0) {
				print_error("%s, cut at %u: refused\n", r->name, whole);
				fail();
			}
			if (m->ol_flags != r->expected) {
				print_error("%s, cut at %u: expected flags %#" PRIx64 ", got %#"
					    PRIx64 "\n", r->name, whole, r->expected, m->ol_flags);
				fail();
			}
			data = rte_pktmbuf_read(m, 0, sf.len, wire);
			assert_bytes(r->name, expected, data, sf.len);
			rte_pktmbuf_free(m);
		}
	}
}

static void
received_udp_without_a_checksum(void **state)
{
	static const struct tapbatch_vnet_hdr none;
	struct rte_mbuf *m;

	(void)state;
	sf = (struct superframe){ .udp = true, .payload_len = 30 };
	superframe_build(&sf, 1);
	put16(sf.data + sf.l4 + 6, 0);
	m = make_packet(sf.data, sf.len, sf.len, 0);
	assert_int_equal(tapbatch_vnet_to_mbuf(&none, m, TAPBATCH_RX_L4_CKSUM), 0);
	assert_int_equal(m->ol_flags, RTE_MBUF_F_RX_L4_CKSUM_GOOD);
	rte_pktmbuf_free(m);

	/* IPv6 forbids it. */
	sf = (struct superframe){ .udp = true, .ipv6 = true, .payload_len = 30 };
	superframe_build(&sf, 1);
	put16(sf.data + sf.l4 + 6, 0);
	m = make_packet(sf.data, sf.len, sf.len, 0);
	assert_int_equal(tapbatch_vnet_to_mbuf(&none, m, TAPBATCH_RX_L4_CKSUM), 0);
	assert_int_equal(m->ol_flags, RTE_MBUF_F_RX_L4_CKSUM_BAD);
	rte_pktmbuf_free(m);
}

static void
an_open_checksum_elsewhere_is_completed(void **state)
{
	struct tapbatch_vnet_hdr vnet = { .flags = TAPBATCH_VNET_F_NEEDS_CSUM };
	struct rte_mbuf *m;

	(void)state;
	/* Of an inner packet, say: no flag could tell the application where. */
	sf = (struct superframe){ .udp = true, .payload_len = 60 };
	superframe_build(&sf, 1);
	for (vnet.csum_offset = 6; vnet.csum_offset <= 7; vnet.csum_offset++) {
		vnet.csum_start = 60;
		memcpy(expected, sf.data, sf.len);
		complete(&vnet, expected, sf.len);
		m = make_packet(sf.data, sf.len, 67, 1);
		assert_int_equal(tapbatch_vnet_to_mbuf(&vnet, m, TAPBATCH_RX_L4_CKSUM), 0);
		assert_int_equal(m->ol_flags, 0);
		assert_bytes("inner checksum", expected, rte_pktmbuf_read(m, 0, sf.len, wire),
			     sf.len);
		rte_pktmbuf_free(m);
	}
}

/* From the kernel to the application with LRO, and as it is back to the kernel. */
static void
superframes_pass_whole(void **state)
{
	static const uint32_t wants[] = { 0, TAPBATCH_RX_L4_CKSUM,
		TAPBATCH_RX_IPV4_CKSUM | TAPBATCH_RX_L4_CKSUM | TAPBATCH_RX_PTYPE };
	struct tapbatch_frame frame;
	struct rte_mbuf *m;
	size_t i, j;

	(void)state;
	for (i = 0; i < RTE_DIM(superframes); i++) {
		for (j = 0; j < RTE_DIM(wants); j++) {
			uint32_t want = wants[j];
			uint64_t flags = RTE_MBUF_F_RX_LRO | RTE_MBUF_F_RX_L4_CKSUM_NONE;

			sf = superframes[i].frame;
			sf.tcp_flags |= 0x10;
			superframe_build(&sf, (uint32_t)i);
			if (sf.l3_only)
				want |= TAPBATCH_RX_L3_ONLY;
			if (want & TAPBATCH_RX_IPV4_CKSUM && !sf.ipv6)
				flags |= RTE_MBUF_F_RX_IP_CKSUM_GOOD;
			m = make_packet(sf.data, sf.len, 1900, 0);
			assert_int_equal(tapbatch_vnet_to_mbuf(&sf.vnet, m, want), 0);
			assert_int_equal(m->ol_flags, flags);
			assert_int_equal(m->tso_segsz, sf.gso_size);

			assert_int_equal(from_mbuf(m, &frame), 0);
			assert_vnet(superframes[i].name, &sf.vnet, &frame.vnet);
			/* Nothing to edit: it goes out of the mbufs alone. */
			assert_int_equal(frame.hdr_len, 0);
			assert_bytes(superframes[i].name, sf.data, wire, on_the_wire(&frame, m));
			rte_pktmbuf_free(m);
		}
	}

	/* Without NEEDS_CSUM the sum is made good for the way back. */
	sf = (struct superframe){ .gso_size = 1000, .payload_len = 3000 };
	superframe_build(&sf, 3);
	memcpy(expected, sf.data, sf.len);
	put16(sf.data + sf.l4 + 16, 0x4711);
	frame.vnet = sf.vnet;
	frame.vnet.flags = 0;
	frame.vnet.csum_start = 0;
	frame.vnet.csum_offset = 0;
	m = make_packet(sf.data, sf.len, 51, 0);
	assert_int_equal(tapbatch_vnet_to_mbuf(&frame.vnet, m, 0), 0);
	assert_int_equal(m->ol_flags, RTE_MBUF_F_RX_LRO | RTE_MBUF_F_RX_L4_CKSUM_NONE);
	assert_bytes("no NEEDS_CSUM", expected, rte_pktmbuf_read(m, 0, sf.len, wire), sf.len);
	rte_pktmbuf_free(m);

	/* One that has a single segment is a packet as others are. */
	sf = (struct superframe){ .gso_size = 1000, .payload_len = 1000 };
	superframe_build(&sf, 3);
	memcpy(expected, sf.data, sf.len);
	superframe_headers(&sf, expected, 1000, 0, 0, 0, false);
	m = make_packet(sf.data, sf.len, 51, 0);
	assert_int_equal(tapbatch_vnet_to_mbuf(&sf.vnet, m, 0), 0);
	assert_int_equal(m->ol_flags, 0);
	assert_bytes("single segment", expected, rte_pktmbuf_read(m, 0, sf.len, wire), sf.len);
	rte_pktmbuf_free(m);
}

static void
a_forwarded_packet_keeps_its_open_checksum(void **state)
{
	struct tapbatch_vnet_hdr vnet = { .flags = TAPBATCH_VNET_F_NEEDS_CSUM };
	struct tapbatch_frame frame;
	struct rte_mbuf *m;

	(void)state;
	sf = (struct superframe){ .udp = true, .payload_len = 60 };
	superframe_build(&sf, 1);
	vnet.csum_start = sf.l4;
	vnet.csum_offset = 6;
	m = make_packet(sf.data, sf.len, sf.len, 0);
	assert_int_equal(tapbatch_vnet_to_mbuf(&vnet, m, TAPBATCH_RX_L4_CKSUM), 0);
	assert_int_equal(from_mbuf(m, &frame), 0);
	assert_vnet("forwarded", &vnet, &frame.vnet);
	assert_int_equal(frame.hdr_len, 0);

	/* An address changed on the way, and nothing else: the sum follows. */
	rte_pktmbuf_mtod(m, uint8_t *)[sf.l3 + 19] ^= 0x55;
	memcpy(expected, rte_pktmbuf_mtod(m, uint8_t *), sf.len);
	assert_int_equal(from_mbuf(m, &frame), 0);
	put16(expected + sf.l4 + 6, plain_pseudo_sum(expected + sf.l3, false, IPPROTO_UDP,
						     sf.payload_len + 8));
	assert_bytes("address changed", expected, wire, on_the_wire(&frame, m));
	rte_pktmbuf_free(m);
}

/* A router that lowers the TTL asks for the IPv4 checksum, and knows nothing of the rest. */
static void
ipv4_alone_asked_for_leaves_what_was_received(void **state)
{
	struct tapbatch_vnet_hdr vnet = { .flags = TAPBATCH_VNET_F_NEEDS_CSUM };
	struct tapbatch_frame frame;
	struct rte_mbuf *m;

	(void)state;
	sf = (struct superframe){ .payload_len = 60 };
	superframe_build(&sf, 1);
	vnet.csum_start = sf.l4;
	vnet.csum_offset = 16;
	m = make_packet(sf.data, sf.len, sf.len, 0);
	assert_int_equal(tapbatch_vnet_to_mbuf(&vnet, m, TAPBATCH_RX_L4_CKSUM), 0);
	set_lens(m, &sf);
	m->ol_flags |= TX4 | TX_IP;
	assert_int_equal(from_mbuf(m, &frame), 0);
	assert_vnet("forwarded", &vnet, &frame.vnet);
	rte_pktmbuf_free(m);

	sf = (struct superframe){ .payload_len = 3000, .gso_size = 1000, .tcp_flags = 0x10 };
	superframe_build(&sf, 1);
	m = make_packet(sf.data, sf.len, sf.len, 0);
	assert_int_equal(tapbatch_vnet_to_mbuf(&sf.vnet, m, TAPBATCH_RX_L4_CKSUM), 0);
	set_lens(m, &sf);
	m->ol_flags |= TX4 | TX_IP;
	assert_int_equal(from_mbuf(m, &frame), 0);
	assert_vnet("a superframe", &sf.vnet, &frame.vnet);
	rte_pktmbuf_free(m);
}

/* The pseudo-header's address is the last one on the way (RFC 8200, 8.1), so only whoever made
 * the packet has summed it.
 */
static void
a_routed_packet_keeps_the_sum_it_has(void **state)
{
	static const struct tapbatch_vnet_hdr none;
	struct tapbatch_vnet_hdr vnet = { .flags = TAPBATCH_VNET_F_NEEDS_CSUM };
	struct tapbatch_frame frame;
	struct rte_mbuf *m;
	uint8_t *routing;

	(void)state;
	sf = (struct superframe){ .udp = true, .ipv6 = true, .ext_hdrs = 2, .payload_len = 60 };
	superframe_build(&sf, 1);
	sf.data[sf.l3 + 40] = IPPROTO_ROUTING;
	routing = &sf.data[sf.l3 + 48];
	routing[2] = 4;
	routing[3] = 1;
	put16(sf.data + sf.l4 + 6, 0x1234);
	vnet.csum_start = sf.l4;
	vnet.csum_offset = 6;

	m = make_packet(sf.data, sf.len, sf.len, 0);
	assert_int_equal(tapbatch_vnet_to_mbuf(&none, m, TAPBATCH_RX_L4_CKSUM), 0);
	assert_int_equal(m->ol_flags, RTE_MBUF_F_RX_L4_CKSUM_UNKNOWN);
	rte_pktmbuf_free(m);

	m = make_packet(sf.data, sf.len, sf.len, 0);
	assert_int_equal(tapbatch_vnet_to_mbuf(&vnet, m, TAPBATCH_RX_L4_CKSUM), 0);
	assert_int_equal(m->ol_flags, RTE_MBUF_F_RX_L4_CKSUM_NONE);
	assert_int_equal(from_mbuf(m, &frame), 0);
	assert_vnet("forwarded", &vnet, &frame.vnet);
	assert_bytes("forwarded", sf.data, wire, on_the_wire(&frame, m));

	set_lens(m, &sf);
	m->ol_flags = TX6 | TX_UDP;
	assert_int_equal(from_mbuf(m, &frame), 0);
	assert_vnet("asked for", &vnet, &frame.vnet);
	assert_bytes("asked for", sf.data, wire, on_the_wire(&frame, m));
	m->ol_flags = TX6 | TX_USO;
	m->tso_segsz = 20;
	assert_int_equal(from_mbuf(m, &frame), -ENOTSUP);
	rte_pktmbuf_free(m);

	/* At its end it is an ordinary one. */
	routing[3] = 0;
	m = make_packet(sf.data, sf.len, sf.len, 0);
	assert_int_equal(tapbatch_vnet_to_mbuf(&none, m, TAPBATCH_RX_L4_CKSUM), 0);
	assert_int_equal(m->ol_flags, RTE_MBUF_F_RX_L4_CKSUM_BAD);
	rte_pktmbuf_free(m);
}

/* Also of packets cut short anywhere, and with any byte of their headers changed. */
static void
packet_types_are_those_of_dpdk(void **state)
{
	static const struct tapbatch_vnet_hdr none;
	size_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(requests); i++) {
		uint32_t len, at;

		sf = requests[i].frame;
		superframe_build(&sf, 1);
		if (sf.l3_only)
			continue;
		for (len = sf.hdr_len + 1u; len > 0; len--) {
			for (at = len <= sf.hdr_len ? len : 0; at <= len; at++) {
				static const uint8_t flips[] = { 0x01, 0x04, 0x10, 0x17, 0x20 };
				struct rte_mbuf *m;
				uint8_t *data;
				uint32_t ptype;

				m = make_packet(sf.data, len, len, 0);
				data = rte_pktmbuf_mtod(m, uint8_t *);
				if (at < len)
					data[at] ^= flips[at % RTE_DIM(flips)];
				assert_int_equal(tapbatch_vnet_to_mbuf(&none, m,
								       TAPBATCH_RX_PTYPE), 0);
				ptype = rte_net_get_ptype(m, NULL, RTE_PTYPE_ALL_MASK);
				if (m->packet_type != ptype) {
					print_error("%s, %u bytes, byte %u changed: expected "
						    "packet_type %#x, got %#x\n",
						    requests[i].name, len, at, ptype,
						    m->packet_type);
					fail();
				}
				rte_pktmbuf_free(m);
			}
		}
	}
}

static void
packet_types_on_tun_are_those_behind_ethernet(void **state)
{
	static const struct tapbatch_vnet_hdr none;
	size_t i;

	(void)state;
	for (i = 0; i < RTE_DIM(requests); i++) {
		struct rte_mbuf *m;
		uint32_t ptype;

		sf = requests[i].frame;
		sf.vlans = 0;
		sf.l3_only = false;
		superframe_build(&sf, 1);
		m = make_packet(sf.data, sf.len, sf.len, 0);
		ptype = rte_net_get_ptype(m, NULL, RTE_PTYPE_ALL_MASK) & ~RTE_PTYPE_L2_MASK;
		rte_pktmbuf_adj(m, RTE_ETHER_HDR_LEN);
		assert_int_equal(tapbatch_vnet_to_mbuf(&none, m, TAPBATCH_RX_PTYPE |
						       TAPBATCH_RX_L3_ONLY), 0);
		if (m->packet_type != ptype) {
			print_error("%s: expected packet_type %#x, got %#x\n", requests[i].name,
				    ptype, m->packet_type);
			fail();
		}
		rte_pktmbuf_free(m);
	}
}

static void
contradicting_virtio_headers_are_refused(void **state)
{
	static const struct {
		const char *name;
		struct tapbatch_vnet_hdr vnet;
	} bad[] = {
		{ "csum_start beyond the packet",
		  { .flags = TAPBATCH_VNET_F_NEEDS_CSUM, .csum_start = 2000 } },
		{ "csum field beyond the packet",
		  { .flags = TAPBATCH_VNET_F_NEEDS_CSUM, .csum_start = 34, .csum_offset = 119 } },
		{ "csum field far beyond the packet",
		  { .flags = TAPBATCH_VNET_F_NEEDS_CSUM, .csum_start = 34, .csum_offset = 65535 } },
		{ "kind unknown", { .gso_type = 77, .gso_size = 10 } },
		{ "UFO", { .gso_type = TAPBATCH_VNET_GSO_UDP, .gso_size = 10 } },
		{ "ECN alone", { .gso_type = TAPBATCH_VNET_GSO_ECN, .gso_size = 10 } },
		{ "gso_size 0", { .gso_type = TAPBATCH_VNET_GSO_TCPV4 } },
		{ "IPv6 on IPv4", { .gso_type = TAPBATCH_VNET_GSO_TCPV6, .gso_size = 10 } },
		{ "UDP on TCP",
		  { .flags = TAPBATCH_VNET_F_NEEDS_CSUM, .gso_type = TAPBATCH_VNET_GSO_UDP_L4,
		    .gso_size = 10, .csum_start = 34, .csum_offset = 6 } },
		{ "GSO with the checksum elsewhere",
		  { .flags = TAPBATCH_VNET_F_NEEDS_CSUM, .gso_type = TAPBATCH_VNET_GSO_TCPV4,
		    .gso_size = 10, .csum_start = 30, .csum_offset = 16 } },
		{ "GSO with the checksum field elsewhere",
		  { .flags = TAPBATCH_VNET_F_NEEDS_CSUM, .gso_type = TAPBATCH_VNET_GSO_TCPV4,
		    .gso_size = 10, .csum_start = 34, .csum_offset = 6 } },
	};
	size_t i;

	(void)state;
	sf = (struct superframe){ .payload_len = 99 };
	superframe_build(&sf, 1);
	assert_int_equal(sf.len, 153);
	for (i = 0; i < RTE_DIM(bad); i++) {
		struct rte_mbuf *m = make_packet(sf.data, sf.len, sf.len, 0);
		int ret = tapbatch_vnet_to_mbuf(&bad[i].vnet, m, 0);

		if (ret != -EINVAL) {
			print_error("%s: expected %d, got %d\n", bad[i].name, -EINVAL, ret);
			fail();
		}
		rte_pktmbuf_free(m);
	}
}

static int
start(void **state)
{
	(void)state;
	pool = rte_pktmbuf_pool_create("rooms", POOL_SIZE, 0, 0, RTE_PKTMBUF_HEADROOM + 2048,
				       SOCKET_ID_ANY);
	return pool == NULL ? -1 : 0;
}

static int
stop(void **state)
{
	(void)state;
	if (rte_mempool_avail_count(pool) == POOL_SIZE)
		return 0;
	print_error("expected %d mbufs in the pool, got %u\n", POOL_SIZE,
		    rte_mempool_avail_count(pool));
	return -1;
}

int
main(void)
{
	char *eal[] = { "vnet_test", "--no-huge", "--no-shconf", "--no-pci", "-m", "64",
			"--no-telemetry", "--log-level", "lib.eal:error", NULL };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_without_flags_stay_as_they_are),
		cmocka_unit_test(checksums_asked_for_come_out_right),
		cmocka_unit_test(segmentation_asked_for_becomes_a_superframe),
		cmocka_unit_test(padding_is_not_summed),
		cmocka_unit_test(udp_without_a_checksum_keeps_none),
		cmocka_unit_test(contradicting_requests_are_refused),
		cmocka_unit_test(received_packets_are_told_apart),
		cmocka_unit_test(received_udp_without_a_checksum),
		cmocka_unit_test(an_open_checksum_elsewhere_is_completed),
		cmocka_unit_test(superframes_pass_whole),
		cmocka_unit_test(a_forwarded_packet_keeps_its_open_checksum),
		cmocka_unit_test(ipv4_alone_asked_for_leaves_what_was_received),
		cmocka_unit_test(a_routed_packet_keeps_the_sum_it_has),
		cmocka_unit_test(packet_types_are_those_of_dpdk),
		cmocka_unit_test(packet_types_on_tun_are_those_behind_ethernet),
		cmocka_unit_test(contradicting_virtio_headers_are_refused),
	};
	int ret;

	if (rte_eal_init(RTE_DIM(eal) - 1, eal) < 0)
		return EXIT_FAILURE;
	ret = cmocka_run_group_tests(tests, start, stop);
	rte_eal_cleanup();
	return ret;
}
