/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Packets for tests: bytes from a description, and mbufs around bytes in any
 * layout. Each mbuf segment has heap memory of exactly its length, so that
 * AddressSanitizer sees a read too far; no EAL, no pool. Sums are done the slow,
 * plain way, for the driver's to be held against.
 */

#ifndef MKPKT_H
#define MKPKT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <netinet/in.h>

#include <rte_mbuf.h>

#define MKPKT_MAX 65600

struct mkpkt {
	bool l3_only;
	bool ipv6;
	uint8_t vlans;
	uint8_t vlan_low;   /* low byte of the tags */
	uint8_t mac_low;    /* last byte of the destination */
	uint8_t proto;      /* IPPROTO_TCP, IPPROTO_UDP, or another without a header */
	uint8_t tos;
	uint8_t ttl;
	uint16_t frag;      /* flags and offset of IPv4 */
	uint16_t id;
	uint8_t ip_options; /* bytes, a multiple of 4 */
	uint8_t host;       /* last byte of the source address */
	uint16_t sport;
	uint16_t dport;
	uint32_t seq;
	uint32_t ack;
	uint8_t reserved;   /* low half of the byte of TCP's data offset */
	uint8_t tcp_flags;
	uint16_t window;
	uint16_t urgent;
	uint8_t tcp_options; /* bytes, a multiple of 4 */
	uint8_t option_value;
	uint16_t payload;
	uint8_t fill;        /* first byte of the payload, counted up */
	uint16_t padding;    /* bytes behind the IP packet */
};

static inline void
mk16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline void
mk32(uint8_t *p, uint32_t v)
{
	mk16(p, (uint16_t)(v >> 16));
	mk16(p + 2, (uint16_t)v);
}

static inline uint16_t
mkget16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t
mkget32(const uint8_t *p)
{
	return (uint32_t)mkget16(p) << 16 | mkget16(p + 2);
}

/* Adds big-endian 16-bit words, the last padded with 0. */
static inline uint32_t
mksum(uint32_t sum, const uint8_t *p, size_t len)
{
	size_t i;

	for (i = 0; i + 1 < len; i += 2)
		sum += mkget16(p + i);
	if (len & 1)
		sum += (uint32_t)p[len - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* Offset of the IP header, or -1. */
static inline int
mkl3(const uint8_t *p, size_t len, bool l3_only)
{
	size_t off = 14;

	if (l3_only)
		return 0;
	while (len >= off && (mkget16(p + off - 2) == 0x8100 || mkget16(p + off - 2) == 0x88a8))
		off += 4;
	return len >= off ? (int)off : -1;
}

/* Checksum of the IPv4 header at p, as it should stand there. */
static inline uint16_t
mkip_cksum(const uint8_t *p)
{
	size_t len = (p[0] & 15) * 4u;
	uint32_t sum = mksum(0, p, 10);

	return (uint16_t)~mksum(sum, p + 12, len - 12);
}

/* Sum of the pseudo header of the IP packet at p, not complemented. */
static inline uint16_t
mkpseudo(const uint8_t *p, uint8_t proto, uint32_t l4_len)
{
	uint32_t sum = p[0] >> 4 == 6 ? mksum(0, p + 8, 32) : mksum(0, p + 12, 8);
	uint8_t tail[4] = { 0, proto };

	mk16(tail + 2, (uint16_t)l4_len);
	return (uint16_t)mksum(sum, tail, 4);
}

/* Checksum of TCP or UDP at l4, of the IP packet at l3, as it should stand there. */
static inline uint16_t
mkl4_cksum(const uint8_t *l3, const uint8_t *l4, uint8_t proto, uint32_t l4_len)
{
	size_t at = proto == IPPROTO_TCP ? 16 : 6;
	uint32_t sum = mksum(mkpseudo(l3, proto, l4_len), l4, at);

	sum = mksum(sum, l4 + at + 2, l4_len - at - 2);
	sum = (uint16_t)~sum;
	return sum == 0 && proto == IPPROTO_UDP ? 0xffff : (uint16_t)sum;
}

/* Writes a packet with right lengths and checksums; returns its length. */
static inline size_t
mkpkt(const struct mkpkt *s, uint8_t *p)
{
	static const uint8_t macs[12] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2 };
	size_t l4_hdr = s->proto == IPPROTO_TCP ? 20u + s->tcp_options :
			s->proto == IPPROTO_UDP ? 8 : 0;
	size_t l4_len = l4_hdr + s->payload;
	size_t off = 0;
	uint8_t *l3;
	uint8_t *l4;
	size_t i;

	if (!s->l3_only) {
		memcpy(p, macs, 12);
		p[5] = s->mac_low;
		off = 12;
		for (i = 0; i < s->vlans; i++) {
			mk16(p + off, i + 1 < s->vlans ? 0x88a8 : 0x8100);
			mk16(p + off + 2, (uint16_t)(0x2000 | s->vlan_low));
			off += 4;
		}
		mk16(p + off, s->ipv6 ? 0x86dd : 0x0800);
		off += 2;
	}
	l3 = p + off;
	if (s->ipv6) {
		memset(l3, 0, 40);
		mk32(l3, 0x60012345 | (uint32_t)s->tos << 20);
		mk16(l3 + 4, (uint16_t)l4_len);
		l3[6] = s->proto;
		l3[7] = s->ttl;
		l3[8] = 0xfd;
		l3[23] = s->host;
		l3[24] = 0xfd;
		l3[39] = 2;
		l4 = l3 + 40;
	} else {
		size_t ihl = 20u + s->ip_options;

		memset(l3, 1, ihl); /* options: no operation */
		l3[0] = (uint8_t)(0x40 | ihl / 4);
		l3[1] = s->tos;
		mk16(l3 + 2, (uint16_t)(ihl + l4_len));
		mk16(l3 + 4, s->id);
		mk16(l3 + 6, s->frag);
		l3[8] = s->ttl;
		l3[9] = s->proto;
		mk32(l3 + 12, 0x0a000000u | s->host);
		mk32(l3 + 16, 0x0a000102u);
		mk16(l3 + 10, mkip_cksum(l3));
		l4 = l3 + ihl;
	}
	for (i = 0; i < s->payload; i++)
		l4[l4_hdr + i] = (uint8_t)(s->fill + i * 7);
	if (s->proto == IPPROTO_TCP) {
		mk16(l4, s->sport);
		mk16(l4 + 2, s->dport);
		mk32(l4 + 4, s->seq);
		mk32(l4 + 8, s->ack);
		l4[12] = (uint8_t)(l4_hdr / 4 << 4 | s->reserved);
		l4[13] = s->tcp_flags;
		mk16(l4 + 14, s->window);
		mk16(l4 + 18, s->urgent);
		memset(l4 + 20, s->option_value, s->tcp_options);
		mk16(l4 + 16, mkl4_cksum(l3, l4, s->proto, (uint32_t)l4_len));
	} else if (s->proto == IPPROTO_UDP) {
		mk16(l4, s->sport);
		mk16(l4 + 2, s->dport);
		mk16(l4 + 4, (uint16_t)l4_len);
		mk16(l4 + 6, mkl4_cksum(l3, l4, s->proto, (uint32_t)l4_len));
	}
	memset(l4 + l4_len, 0xee, s->padding);
	return (size_t)(l4 - p) + l4_len + s->padding;
}

/* Writes right checksums into a packet of TCP or UDP whose lengths are right. */
static inline void
mkrepair(uint8_t *p, size_t len, bool l3_only)
{
	uint8_t *l3 = p + mkl3(p, len, l3_only);
	bool ipv6 = l3[0] >> 4 == 6;
	uint8_t *l4 = l3 + (ipv6 ? 40 : (l3[0] & 15) * 4);
	uint8_t proto = ipv6 ? l3[6] : l3[9];

	if (!ipv6)
		mk16(l3 + 10, mkip_cksum(l3));
	mk16(l4 + (proto == IPPROTO_TCP ? 16 : 6),
	     mkl4_cksum(l3, l4, proto, (uint32_t)(len - (size_t)(l4 - p))));
}

/*
 * An mbuf around a copy of the bytes, cut at the given offsets (rising; equal ones
 * give empty segments). Freed with mkfree().
 */
static inline struct rte_mbuf *
mkmbuf(const uint8_t *bytes, size_t len, const uint16_t *cuts, unsigned int nb_cuts)
{
	struct rte_mbuf *head = NULL;
	struct rte_mbuf **link = &head;
	size_t from = 0;
	unsigned int i;

	for (i = 0; i <= nb_cuts; i++) {
		size_t to = i < nb_cuts ? cuts[i] : len;
		/* An mbuf is aligned to a cache line. */
		struct rte_mbuf *m = aligned_alloc(64, sizeof(*m));

		if (to > len)
			to = len;
		if (to < from)
			to = from;
		memset(m, 0, sizeof(*m));
		m->buf_addr = malloc(to - from);
		memcpy(m->buf_addr, bytes + from, to - from);
		m->buf_len = (uint16_t)(to - from);
		m->data_len = m->buf_len;
		*link = m;
		link = &m->next;
		from = to;
	}
	head->pkt_len = (uint32_t)len;
	head->nb_segs = (uint16_t)(nb_cuts + 1);
	return head;
}

static inline void
mkfree(struct rte_mbuf *m)
{
	while (m != NULL) {
		struct rte_mbuf *next = m->next;

		free(m->buf_addr);
		free(m);
		m = next;
	}
}

/* The bytes of an mbuf in one piece; returns their number. */
static inline size_t
mkbytes(const struct rte_mbuf *m, uint8_t *out)
{
	size_t len = 0;

	for (; m != NULL; m = m->next) {
		memcpy(out + len, rte_pktmbuf_mtod(m, const void *), m->data_len);
		len += m->data_len;
	}
	return len;
}

#endif /* MKPKT_H */
