/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The bridge's pure parts: offloads for each combination of a guest's features, the
 * splitting of superframes, and the table of addresses. What a guest would get is
 * checked as the guest would: flags, lengths, sums, and the bytes of the stream.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_net.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "bridge.h"
#include "fdb.h"
#include "segment.h"

int vb_logtype;

#define SEQ 0x11223344u
#define ID 0xfffe /* wraps in the third segment */
#define SEGSZ 1000

static struct rte_mempool *pool;

enum kind { TCP4, TCP6, UDP4, UDP6, KINDS };
static const bool is_tcp[] = { true, true, false, false };
static const bool is_ipv6[] = { false, true, false, true };

static uint8_t
payload_byte(uint32_t i)
{
	return (uint8_t)(i * 7 + i / 251);
}

/* Headers in the first mbuf, payload in as many as it takes. Checksums are left open,
 * as the kernel does: the field holds anything.
 */
static struct rte_mbuf *
make_frame(enum kind kind, uint32_t payload, uint8_t tcp_flags)
{
	uint16_t l3 = is_ipv6[kind] ? sizeof(struct rte_ipv6_hdr) : sizeof(struct rte_ipv4_hdr);
	uint16_t l4 = is_tcp[kind] ? 32 : sizeof(struct rte_udp_hdr);
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	struct rte_mbuf *last = m;
	uint8_t *p = (uint8_t *)rte_pktmbuf_append(m, RTE_ETHER_HDR_LEN + l3 + l4);
	uint32_t done = 0;

	memset(p, 0, RTE_ETHER_HDR_LEN + l3 + l4);
	p[12] = is_ipv6[kind] ? 0x86 : 0x08;
	p[13] = is_ipv6[kind] ? 0xdd : 0x00;
	if (is_ipv6[kind]) {
		struct rte_ipv6_hdr *ip = (void *)(p + RTE_ETHER_HDR_LEN);

		ip->vtc_flow = rte_cpu_to_be_32(6u << 28);
		ip->payload_len = rte_cpu_to_be_16((uint16_t)(l4 + payload));
		ip->proto = is_tcp[kind] ? IPPROTO_TCP : IPPROTO_UDP;
		ip->hop_limits = 64;
		ip->src_addr[15] = 1;
		ip->dst_addr[15] = 2;
	} else {
		struct rte_ipv4_hdr *ip = (void *)(p + RTE_ETHER_HDR_LEN);

		ip->version_ihl = 0x45;
		ip->total_length = rte_cpu_to_be_16((uint16_t)(l3 + l4 + payload));
		ip->packet_id = rte_cpu_to_be_16(ID);
		ip->next_proto_id = is_tcp[kind] ? IPPROTO_TCP : IPPROTO_UDP;
		ip->time_to_live = 64;
		ip->src_addr = rte_cpu_to_be_32(0x0a000001);
		ip->dst_addr = rte_cpu_to_be_32(0x0a000002);
		ip->hdr_checksum = rte_ipv4_cksum(ip);
	}
	if (is_tcp[kind]) {
		struct rte_tcp_hdr *tcp = (void *)(p + RTE_ETHER_HDR_LEN + l3);

		tcp->sent_seq = rte_cpu_to_be_32(SEQ);
		tcp->data_off = 8 << 4;
		tcp->tcp_flags = tcp_flags;
		memset(tcp + 1, 1, 12); /* options: no operation */
		tcp->cksum = 0x1234;
	} else {
		struct rte_udp_hdr *udp = (void *)(p + RTE_ETHER_HDR_LEN + l3);

		udp->dgram_len = rte_cpu_to_be_16((uint16_t)(sizeof(*udp) + payload));
		udp->dgram_cksum = 0x1234;
	}
	while (done < payload) {
		uint16_t part = (uint16_t)RTE_MIN(payload - done, rte_pktmbuf_tailroom(last));
		uint16_t i;

		if (part == 0) {
			last->next = rte_pktmbuf_alloc(pool);
			assert_non_null(last->next);
			last = last->next;
			m->nb_segs++;
			continue;
		}
		for (i = 0; i < part; i++)
			*(rte_pktmbuf_mtod(last, uint8_t *) + last->data_len + i) =
				payload_byte(done + i);
		last->data_len += part;
		m->pkt_len += part;
		done += part;
	}
	m->ol_flags = RTE_MBUF_F_RX_L4_CKSUM_NONE;
	return m;
}

static const uint8_t *
flat(const struct rte_mbuf *m)
{
	static uint8_t buf[70000];
	const uint8_t *p = rte_pktmbuf_read(m, 0, m->pkt_len, buf);

	assert_non_null(p);
	if (p != buf)
		memcpy(buf, p, m->pkt_len);
	return buf;
}

/* Sum of the L4 part with a pseudo-header of the given length: 0xffff if right. */
static uint16_t
l4_sum(const uint8_t *frame, uint32_t len, enum kind kind)
{
	const void *ip = frame + RTE_ETHER_HDR_LEN;
	uint32_t l4 = RTE_ETHER_HDR_LEN + (is_ipv6[kind] ? 40 : 20);
	uint32_t sum = rte_raw_cksum(frame + l4, len - l4);

	sum += is_ipv6[kind] ? rte_ipv6_phdr_cksum(ip, 0) : rte_ipv4_phdr_cksum(ip, 0);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

static uint16_t
l4_field(const uint8_t *frame, enum kind kind)
{
	uint16_t field;

	memcpy(&field, frame + RTE_ETHER_HDR_LEN + (is_ipv6[kind] ? 40 : 20) +
	       (is_tcp[kind] ? 16 : 6), sizeof(field));
	return field;
}

/* What DPDK's vhost does to a packet before the guest sees it; then what is in it. */
static void
check_sum_for_guest(struct rte_mbuf *m, enum kind kind, bool csum)
{
	const void *ip;
	const uint8_t *frame;
	uint16_t pseudo;

	if ((m->ol_flags & (RTE_MBUF_F_TX_L4_MASK | RTE_MBUF_F_TX_TCP_SEG)) == 0) {
		frame = flat(m);
		assert_int_equal(l4_sum(frame, m->pkt_len, kind), 0xffff);
		return;
	}
	assert_true(csum);
	rte_net_intel_cksum_prepare(m);
	frame = flat(m);
	ip = frame + RTE_ETHER_HDR_LEN;
	pseudo = is_ipv6[kind] ? rte_ipv6_phdr_cksum(ip, 0) : rte_ipv4_phdr_cksum(ip, 0);
	assert_int_equal(l4_field(frame, kind), pseudo);
	assert_int_equal(m->l2_len, RTE_ETHER_HDR_LEN);
	assert_int_equal(m->l3_len, is_ipv6[kind] ? 40 : 20);
	assert_int_equal((m->ol_flags & RTE_MBUF_F_TX_IPV6) != 0, is_ipv6[kind]);
}

static uint64_t
features_of(unsigned int bits)
{
	/* TSO needs checksums: virtio 1.2, 5.1.3.1. */
	return (bits & 1 ? VB_F_GUEST_CSUM : 0) |
		((bits & 3) == 3 ? VB_F_GUEST_TSO4 : 0) | ((bits & 5) == 5 ? VB_F_GUEST_TSO6 : 0);
}

static void
open_checksums_are_asked_for_or_completed(void **state)
{
	struct vb_headers headers;
	unsigned int bits;
	unsigned int kind;

	(void)state;
	for (bits = 0; bits < 8; bits++)
		for (kind = 0; kind < KINDS; kind++) {
			struct rte_mbuf *m = make_frame(kind, 999, 0);
			uint64_t features = features_of(bits);

			assert_int_equal(vb_offload_to_guest(&m, features, &headers), VB_READY);
			if ((features & VB_F_GUEST_CSUM) == 0)
				assert_int_equal(m->ol_flags & RTE_MBUF_F_TX_L4_MASK, 0);
			check_sum_for_guest(m, kind, (features & VB_F_GUEST_CSUM) != 0);
			rte_pktmbuf_free(m);
		}
}

static void
check_segments(struct rte_mbuf **out, int n, enum kind kind, uint32_t payload, uint16_t segsz,
	       bool csum)
{
	uint32_t hdr = RTE_ETHER_HDR_LEN + (is_ipv6[kind] ? 40 : 20) + (is_tcp[kind] ? 32 : 8);
	uint32_t done = 0;
	int i;

	for (i = 0; i < n; i++) {
		uint32_t len = RTE_MIN((uint32_t)segsz, payload - done);
		const uint8_t *frame = flat(out[i]);
		uint32_t b;

		assert_int_equal(out[i]->pkt_len, hdr + len);
		for (b = 0; b < len; b++)
			assert_int_equal(frame[hdr + b], payload_byte(done + b));
		if (!is_ipv6[kind]) {
			const struct rte_ipv4_hdr *ip = (const void *)(frame + RTE_ETHER_HDR_LEN);

			assert_int_equal(rte_raw_cksum(ip, sizeof(*ip)), 0xffff);
			assert_int_equal(rte_be_to_cpu_16(ip->packet_id), (uint16_t)(ID + i));
			assert_int_equal(rte_be_to_cpu_16(ip->total_length),
					 out[i]->pkt_len - RTE_ETHER_HDR_LEN);
		}
		if (is_tcp[kind]) {
			const struct rte_tcp_hdr *tcp = (const void *)(frame + hdr - 32);

			assert_int_equal(rte_be_to_cpu_32(tcp->sent_seq), SEQ + done);
			assert_int_equal((tcp->tcp_flags & RTE_TCP_PSH_FLAG) != 0, i == n - 1);
			assert_int_equal((tcp->tcp_flags & RTE_TCP_FIN_FLAG) != 0, i == n - 1);
			assert_int_equal((tcp->tcp_flags & RTE_TCP_CWR_FLAG) != 0, i == 0);
			assert_true(tcp->tcp_flags & RTE_TCP_ACK_FLAG);
		}
		check_sum_for_guest(out[i], kind, csum);
		done += len;
	}
	assert_int_equal(done, payload);
}

static void
superframes_pass_whole_or_are_split(void **state)
{
	static const uint32_t payloads[] = { 1001, 2000, 2001, 9999, 65000 };
	struct rte_mbuf *out[VB_MAX_SEGMENTS];
	struct vb_headers headers;
	unsigned int before = rte_mempool_avail_count(pool);
	unsigned int bits;
	unsigned int kind;
	unsigned int p;

	(void)state;
	for (bits = 0; bits < 8; bits++)
		for (kind = 0; kind < KINDS; kind++)
			for (p = 0; p < RTE_DIM(payloads); p++) {
				uint64_t features = features_of(bits);
				bool csum = (features & VB_F_GUEST_CSUM) != 0;
				uint64_t tso = is_ipv6[kind] ? VB_F_GUEST_TSO6 : VB_F_GUEST_TSO4;
				bool whole = is_tcp[kind] && (features & tso);
				uint8_t cwr = whole ? 0 : RTE_TCP_CWR_FLAG;
				struct rte_mbuf *m = make_frame(kind, payloads[p], cwr |
					RTE_TCP_PSH_FLAG | RTE_TCP_ACK_FLAG | RTE_TCP_FIN_FLAG);
				uint32_t len = m->pkt_len;
				enum vb_ready ready;
				int n;

				m->ol_flags |= RTE_MBUF_F_RX_LRO;
				m->tso_segsz = SEGSZ;
				ready = vb_offload_to_guest(&m, features, &headers);
				if (whole) {
					assert_int_equal(ready, VB_READY);
					assert_true(m->ol_flags & RTE_MBUF_F_TX_TCP_SEG);
					assert_int_equal(m->tso_segsz, SEGSZ);
					assert_int_equal(m->l4_len, 32);
					assert_int_equal(m->pkt_len, len);
					check_sum_for_guest(m, kind, true);
					rte_pktmbuf_free(m);
					continue;
				}
				assert_int_equal(ready, VB_SEGMENT);
				n = vb_segment(m, &headers, !csum, out, VB_MAX_SEGMENTS);
				assert_int_equal(n, (payloads[p] + SEGSZ - 1) / SEGSZ);
				check_segments(out, n, kind, payloads[p], SEGSZ, csum);
				rte_pktmbuf_free_bulk(out, n);
			}
	assert_int_equal(rte_mempool_avail_count(pool), before);
}

/* Then payload lies in pieces that begin and end at odd bytes. */
static void
segments_of_odd_size_have_right_checksums(void **state)
{
	static const uint16_t sizes[] = { 1001, 537, 1399, 89 };
	struct rte_mbuf *out[VB_MAX_SEGMENTS];
	struct vb_headers headers;
	unsigned int kind;
	unsigned int s;

	(void)state;
	for (kind = 0; kind < KINDS; kind++)
		for (s = 0; s < RTE_DIM(sizes); s++) {
			struct rte_mbuf *m = make_frame(kind, 20001, RTE_TCP_CWR_FLAG |
				RTE_TCP_PSH_FLAG | RTE_TCP_ACK_FLAG | RTE_TCP_FIN_FLAG);
			int n;

			m->ol_flags |= RTE_MBUF_F_RX_LRO;
			m->tso_segsz = sizes[s];
			assert_int_equal(vb_offload_to_guest(&m, 0, &headers), VB_SEGMENT);
			n = vb_segment(m, &headers, true, out, VB_MAX_SEGMENTS);
			assert_int_equal(n, (20001 + sizes[s] - 1) / sizes[s]);
			check_segments(out, n, kind, 20001, sizes[s], false);
			rte_pktmbuf_free_bulk(out, n);
		}
}

/* Puts n destination options between the IPv6 header and what follows it. */
static void
add_extensions(struct rte_mbuf *m, unsigned int n)
{
	uint8_t *p = (uint8_t *)rte_pktmbuf_prepend(m, (uint16_t)(8 * n));
	struct rte_ipv6_hdr *ip = (void *)(p + RTE_ETHER_HDR_LEN);
	uint8_t *ext = (uint8_t *)(ip + 1);
	unsigned int i;

	if (p == NULL) {
		fail_msg("no headroom for %u extension headers", n);
		return;
	}
	memmove(p, p + 8 * n, RTE_ETHER_HDR_LEN + sizeof(*ip));
	for (i = 0; i < n; i++) {
		static const uint8_t option[8] = { IPPROTO_DSTOPTS, 0, 1, 4 }; /* PadN */

		memcpy(ext + 8 * i, option, sizeof(option));
	}
	ext[8 * (n - 1)] = ip->proto;
	ip->proto = IPPROTO_DSTOPTS;
	ip->payload_len = rte_cpu_to_be_16((uint16_t)(rte_be_to_cpu_16(ip->payload_len) + 8 * n));
}

/* The pseudo-header's sum of what stands behind n extension headers (RFC 8200, 8.1). */
static uint16_t
pseudo_behind(const uint8_t *frame, uint32_t len, unsigned int n, enum kind kind)
{
	struct rte_ipv6_hdr ip;

	memcpy(&ip, frame + RTE_ETHER_HDR_LEN, sizeof(ip));
	ip.proto = is_tcp[kind] ? IPPROTO_TCP : IPPROTO_UDP;
	ip.payload_len = rte_cpu_to_be_16((uint16_t)(len - RTE_ETHER_HDR_LEN - 40 - 8 * n));
	return rte_ipv6_phdr_cksum(&ip, 0);
}

static void
checksums_behind_ipv6_extension_headers_are_completed(void **state)
{
	static const unsigned int counts[] = { 1, 2, 4, 5, 9 };
	static const enum kind kinds[] = { TCP6, UDP6 };
	struct rte_mbuf *out[64];
	struct vb_headers headers;
	unsigned int bits;
	unsigned int c;
	unsigned int k;

	(void)state;
	for (bits = 0; bits < 8; bits++)
		for (c = 0; c < RTE_DIM(counts); c++)
			for (k = 0; k < RTE_DIM(kinds) * 2; k++) {
				enum kind kind = kinds[k / 2];
				bool super = k % 2;
				uint32_t l4 = RTE_ETHER_HDR_LEN + 40 + 8 * counts[c];
				struct rte_mbuf *m = make_frame(kind, super ? 3000 : 999, 0);
				enum vb_ready ready;
				int n = 1;
				int i;

				add_extensions(m, counts[c]);
				if (super) {
					m->ol_flags |= RTE_MBUF_F_RX_LRO;
					m->tso_segsz = SEGSZ;
				}
				ready = vb_offload_to_guest(&m, features_of(bits), &headers);
				out[0] = m;
				if (super && is_tcp[kind] && (bits & 5) == 5) {
					uint16_t field;

					/* Whole: it can't be complete, the guest makes it so. */
					assert_int_equal(ready, VB_READY);
					assert_int_equal(m->l2_len + m->l3_len, l4);
					memcpy(&field, flat(m) + l4 + 16, sizeof(field));
					assert_int_equal(field, pseudo_behind(flat(m), m->pkt_len,
									      counts[c], kind));
					rte_pktmbuf_free(m);
					continue;
				}
				if (super) {
					assert_int_equal(ready, VB_SEGMENT);
					n = vb_segment(m, &headers, (bits & 1) == 0, out,
						       RTE_DIM(out));
					assert_int_equal(n, 3);
				} else {
					assert_int_equal(ready, VB_READY);
				}
				for (i = 0; i < n; i++) {
					const uint8_t *frame = flat(out[i]);
					uint32_t len = out[i]->pkt_len;
					uint32_t sum = rte_raw_cksum(frame + l4, len - l4);

					assert_int_equal(out[i]->ol_flags & RTE_MBUF_F_TX_L4_MASK,
							 0);
					sum += pseudo_behind(frame, len, counts[c], kind);
					assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff);
				}
				rte_pktmbuf_free_bulk(out, n);
			}
}

/* To an address that only the sum in the checksum's field tells. */
static void
checksums_of_routed_packets_follow_the_sum_they_have(void **state)
{
	static const enum kind kinds[] = { TCP6, UDP6 };
	struct rte_mbuf *out[64];
	struct vb_headers headers;
	unsigned int k;

	(void)state;
	for (k = 0; k < RTE_DIM(kinds) * 2; k++) {
		enum kind kind = kinds[k / 2];
		bool super = k % 2;
		uint32_t l4 = RTE_ETHER_HDR_LEN + 40 + 16;
		struct rte_mbuf *m = make_frame(kind, super ? 3000 : 999, 0);
		uint8_t next[16], last[16] = { 0xfd, 1, 2, 3, [15] = 9 };
		uint8_t *frame;
		uint16_t open;
		int n = 1;
		int i;

		add_extensions(m, 2);
		frame = rte_pktmbuf_mtod(m, uint8_t *);
		frame[RTE_ETHER_HDR_LEN + 40] = IPPROTO_ROUTING;
		frame[l4 - 8 + 2] = 4;
		frame[l4 - 8 + 3] = 1; /* segments left */
		memcpy(next, &frame[RTE_ETHER_HDR_LEN + 24], 16);
		memcpy(&frame[RTE_ETHER_HDR_LEN + 24], last, 16);
		open = pseudo_behind(frame, m->pkt_len, 2, kind);
		memcpy(&frame[RTE_ETHER_HDR_LEN + 24], next, 16);
		memcpy(&frame[l4 + (is_tcp[kind] ? 16 : 6)], &open, sizeof(open));
		if (super) {
			m->ol_flags |= RTE_MBUF_F_RX_LRO;
			m->tso_segsz = SEGSZ;
			assert_int_equal(vb_offload_to_guest(&m, 0, &headers), VB_SEGMENT);
			n = vb_segment(m, &headers, true, out, RTE_DIM(out));
			assert_int_equal(n, 3);
		} else {
			assert_int_equal(vb_offload_to_guest(&m, 0, &headers), VB_READY);
			out[0] = m;
		}
		for (i = 0; i < n; i++) {
			uint8_t got[2048];
			uint32_t len = out[i]->pkt_len;
			uint32_t sum;

			memcpy(got, flat(out[i]), len);
			memcpy(got + RTE_ETHER_HDR_LEN + 24, last, 16);
			sum = rte_raw_cksum(got + l4, len - l4);
			sum += pseudo_behind(got, len, 2, kind);
			assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff);
		}
		rte_pktmbuf_free_bulk(out, n);
	}
}

static void
extension_headers_that_lie_are_found(void **state)
{
	struct vb_headers headers;
	struct rte_mbuf *m = make_frame(TCP6, 999, 0);
	uint8_t *ext;

	(void)state;
	add_extensions(m, 2);
	ext = rte_pktmbuf_mtod_offset(m, uint8_t *, RTE_ETHER_HDR_LEN + 40);
	ext[1] = 255; /* beyond the segment */
	assert_int_equal(vb_offload_to_guest(&m, 0, &headers), VB_BAD);
	ext[1] = 0;
	ext[8] = IPPROTO_DSTOPTS; /* the next one is TCP's header */
	assert_int_equal(vb_offload_to_guest(&m, 0, &headers), VB_BAD);
	rte_pktmbuf_free(m);
	/* As long as the frame has bytes, but too long for an mbuf's field: not whole. */
	m = make_frame(TCP6, 9000, 0);
	add_extensions(m, 1);
	ext = rte_pktmbuf_mtod_offset(m, uint8_t *, RTE_ETHER_HDR_LEN + 40);
	ext[1] = 59; /* 480 bytes */
	memset(ext + 480, 0, 32);
	ext[480 + 12] = 0x50; /* TCP's data offset */
	m->ol_flags |= RTE_MBUF_F_RX_LRO;
	m->tso_segsz = SEGSZ;
	assert_int_equal(vb_offload_to_guest(&m, features_of(7), &headers), VB_SEGMENT);
	rte_pktmbuf_free(m);
}

static void
a_superframe_with_cwr_is_split(void **state)
{
	struct vb_headers headers;
	struct rte_mbuf *m = make_frame(TCP4, 3000, RTE_TCP_CWR_FLAG);

	(void)state;
	m->ol_flags |= RTE_MBUF_F_RX_LRO;
	m->tso_segsz = SEGSZ;
	assert_int_equal(vb_offload_to_guest(&m, features_of(7), &headers), VB_SEGMENT);
	rte_pktmbuf_free(m);
}

static void
lies_are_found(void **state)
{
	struct rte_mbuf *out[8];
	struct vb_headers headers;
	struct rte_mbuf *m = make_frame(TCP4, 3000, 0);

	(void)state;
	m->ol_flags |= RTE_MBUF_F_RX_LRO;
	m->tso_segsz = 0;
	assert_int_equal(vb_offload_to_guest(&m, features_of(7), &headers), VB_BAD);
	m->tso_segsz = 1;
	assert_int_equal(vb_offload_to_guest(&m, 0, &headers), VB_SEGMENT);
	/* More than there is room for: nothing is changed, nothing lost. */
	assert_int_equal(vb_segment(m, &headers, true, out, RTE_DIM(out)), -EINVAL);
	/* An IP length beyond the frame. */
	rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, RTE_ETHER_HDR_LEN)->total_length = 0xffff;
	assert_int_equal(vb_offload_to_guest(&m, 0, &headers), VB_BAD);
	/* Not IP at all. */
	rte_pktmbuf_mtod(m, uint8_t *)[12] = 0x88;
	assert_int_equal(vb_offload_to_guest(&m, 0, &headers), VB_BAD);
	rte_pktmbuf_free(m);
}

static void
an_empty_pool_changes_nothing(void **state)
{
	static struct rte_mbuf *all[8192];
	struct rte_mbuf *out[64];
	struct vb_headers headers;
	struct rte_mbuf *m = make_frame(TCP4, 9000, 0);
	struct rte_mbuf *same = m;
	unsigned int n = 0;

	(void)state;
	m->ol_flags |= RTE_MBUF_F_RX_LRO;
	m->tso_segsz = SEGSZ;
	assert_int_equal(vb_offload_to_guest(&m, 0, &headers), VB_SEGMENT);
	while ((all[n] = rte_pktmbuf_alloc(pool)) != NULL)
		n++;
	rte_pktmbuf_free_bulk(all + n - 5, 5);
	assert_int_equal(vb_segment(m, &headers, true, out, RTE_DIM(out)), -ENOMEM);
	rte_pktmbuf_free_bulk(all, n - 5);
	assert_int_equal(vb_segment(m, &headers, true, out, RTE_DIM(out)), 9);
	rte_pktmbuf_free_bulk(out, 9);
	m = make_frame(TCP4, 9000, 0);
	m->ol_flags |= RTE_MBUF_F_RX_LRO;
	m->tso_segsz = SEGSZ;
	same = m;
	for (n = 0; (all[n] = rte_pktmbuf_alloc(pool)) != NULL; n++)
		;
	assert_int_equal(vb_offload_to_guest(&m, features_of(7), &headers), VB_NO_MBUF);
	assert_ptr_equal(m, same);
	rte_pktmbuf_free_bulk(all, n);
	assert_int_equal(vb_offload_to_guest(&m, features_of(7), &headers), VB_READY);
	rte_pktmbuf_free(m);
}

static void
addresses_are_learned_move_and_age(void **state)
{
	struct vb_fdb *fdb = vb_fdb_create(10, SOCKET_ID_ANY);
	struct rte_ether_addr addr = { { 2, 0, 0, 0, 0, 1 } };
	struct rte_ether_addr group = { { 3, 0, 0, 0, 0, 1 } };
	uint64_t hz = rte_get_tsc_hz();
	uint64_t now = 100 * hz;

	(void)state;
	assert_int_equal(vb_fdb_find(fdb, &addr, now), VB_SLOT_UNKNOWN);
	vb_fdb_learn(fdb, &addr, 3, now, 10);
	assert_int_equal(vb_fdb_find(fdb, &addr, now), 3);
	assert_int_equal(vb_fdb_count(fdb, 3), 1);
	vb_fdb_learn(fdb, &addr, VB_SLOT_TAP, now, 10);
	assert_int_equal(vb_fdb_find(fdb, &addr, now), VB_SLOT_TAP);
	assert_int_equal(vb_fdb_count(fdb, 3), 0);
	assert_int_equal(vb_fdb_find(fdb, &addr, now + 9 * hz), VB_SLOT_TAP);
	assert_int_equal(vb_fdb_find(fdb, &addr, now + 11 * hz), VB_SLOT_UNKNOWN);
	vb_fdb_learn(fdb, &group, 1, now, 10);
	assert_int_equal(vb_fdb_find(fdb, &group, now), VB_SLOT_UNKNOWN);
	vb_fdb_free(fdb);
}

static void
a_flood_of_addresses_pushes_out_its_own(void **state)
{
	struct vb_fdb *fdb = vb_fdb_create(300, SOCKET_ID_ANY);
	struct rte_ether_addr good = { { 2, 0, 0, 0, 0, 1 } };
	uint64_t now = 1000 * rte_get_tsc_hz();
	uint32_t i;

	(void)state;
	vb_fdb_learn(fdb, &good, 0, now, 256);
	for (i = 0; i < 100000; i++) {
		struct rte_ether_addr made_up = { { 2, 1, (uint8_t)(i >> 24), (uint8_t)(i >> 16),
						    (uint8_t)(i >> 8), (uint8_t)i } };

		vb_fdb_learn(fdb, &made_up, 1, ++now, 256);
		assert_true(vb_fdb_count(fdb, 1) <= 256);
	}
	assert_int_equal(vb_fdb_find(fdb, &good, now), 0);
	vb_fdb_free(fdb);
}

static struct rte_ether_addr
address(uint32_t n)
{
	return (struct rte_ether_addr){ { 2, 2, (uint8_t)(n >> 24), (uint8_t)(n >> 16),
					  (uint8_t)(n >> 8), (uint8_t)n } };
}

/* At the limit addresses that have aged make room for others, wherever they are. */
static void
aged_addresses_do_not_count(void **state)
{
	struct vb_fdb *fdb = vb_fdb_create(10, SOCKET_ID_ANY);
	uint64_t hz = rte_get_tsc_hz();
	uint64_t now = 100 * hz;
	struct rte_ether_addr addr;
	uint32_t i;

	(void)state;
	for (i = 0; i < 8; i++) {
		addr = address(i);
		vb_fdb_learn(fdb, &addr, 1, now, 8);
	}
	assert_int_equal(vb_fdb_count(fdb, 1), 8);
	now += 20 * hz;
	for (i = 100; i < 108; i++) {
		addr = address(i);
		vb_fdb_learn(fdb, &addr, 1, now, 8);
		assert_int_equal(vb_fdb_find(fdb, &addr, now), 1);
	}
	assert_int_equal(vb_fdb_count(fdb, 1), 8);
	vb_fdb_free(fdb);
}

static void
what_is_behind_a_slot_can_be_forgotten(void **state)
{
	struct vb_fdb *fdb = vb_fdb_create(10, SOCKET_ID_ANY);
	uint64_t now = 100 * rte_get_tsc_hz();
	struct rte_ether_addr addr;
	uint32_t i;

	(void)state;
	for (i = 0; i < 100; i++) {
		addr = address(i);
		vb_fdb_learn(fdb, &addr, (uint16_t)(1 + i % 2), now, 256);
	}
	vb_fdb_forget(fdb, 1);
	for (i = 0; i < 100; i++) {
		addr = address(i);
		assert_int_equal(vb_fdb_find(fdb, &addr, now), i % 2 ? 2 : VB_SLOT_UNKNOWN);
	}
	assert_int_equal(vb_fdb_count(fdb, 1), 0);
	assert_int_equal(vb_fdb_count(fdb, 2), 50);
	vb_fdb_free(fdb);
}

int
main(void)
{
	char *eal[] = { (char[]){ "bridge_parts" }, (char[]){ "--no-huge" },
		(char[]){ "--no-shconf" }, (char[]){ "--no-pci" }, (char[]){ "--no-telemetry" },
		(char[]){ "-m" }, (char[]){ "64" }, (char[]){ "--lcores=0" },
		(char[]){ "--log-level=error" }, NULL };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open_checksums_are_asked_for_or_completed),
		cmocka_unit_test(superframes_pass_whole_or_are_split),
		cmocka_unit_test(segments_of_odd_size_have_right_checksums),
		cmocka_unit_test(checksums_behind_ipv6_extension_headers_are_completed),
		cmocka_unit_test(checksums_of_routed_packets_follow_the_sum_they_have),
		cmocka_unit_test(extension_headers_that_lie_are_found),
		cmocka_unit_test(a_superframe_with_cwr_is_split),
		cmocka_unit_test(lies_are_found),
		cmocka_unit_test(an_empty_pool_changes_nothing),
		cmocka_unit_test(addresses_are_learned_move_and_age),
		cmocka_unit_test(a_flood_of_addresses_pushes_out_its_own),
		cmocka_unit_test(aged_addresses_do_not_count),
		cmocka_unit_test(what_is_behind_a_slot_can_be_forgotten),
	};

	if (rte_eal_init((int)RTE_DIM(eal) - 1, eal) < 0)
		return 1;
	pool = rte_pktmbuf_pool_create("parts", 2047, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
				       SOCKET_ID_ANY);
	if (pool == NULL)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
