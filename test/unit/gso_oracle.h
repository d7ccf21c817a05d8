/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * What Linux makes of a frame on the tun queue, in user space: the checks of
 * virtio_net_hdr_to_skb(), then TCP or UDP segmentation. And the judgement of a
 * whole coalesced batch: everything in it expanded is what went in. Written apart
 * from the driver, in terms of bytes; shared by unit test and fuzzer.
 */

#ifndef GSO_ORACLE_H
#define GSO_ORACLE_H

#include <stdio.h>

#include "tapbatch_coalesce.h"
#include "mkpkt.h"

/* Why a judgement failed; the text is valid until the next one. */
static inline const char *
oracle_fail(const char *what, long expected, long got)
{
	static char text[160];

	snprintf(text, sizeof(text), "%s: expected %ld, got %ld", what, expected, got);
	return text;
}

#define ORACLE_SAME(what, expected, got) do { \
	long expected_ = (long)(expected), got_ = (long)(got); \
	if (expected_ != got_) \
		return oracle_fail(what, expected_, got_); \
} while (0)

#define ORACLE_TRUE(what, condition) ORACLE_SAME(what, 1, !!(condition))

/*
 * Segment number `index` of a superframe, as the kernel writes it, to out.
 *
 * @param s     its bytes, headers and payload
 * @param last  index of the last segment
 * @return length of the segment
 */
static inline size_t
oracle_segment(const struct tapbatch_vnet_hdr *vnet, const uint8_t *s, size_t len, bool l3_only,
	       unsigned int index, unsigned int last, uint8_t *out)
{
	size_t l3 = (size_t)mkl3(s, len, l3_only);
	size_t l4 = vnet->csum_start;
	bool tcp = vnet->gso_type != TAPBATCH_VNET_GSO_UDP_L4;
	size_t hdr = l4 + (tcp ? (s[l4 + 12] >> 4) * 4u : 8u);
	size_t from = hdr + (size_t)index * vnet->gso_size;
	size_t payload = index == last ? len - from : vnet->gso_size;
	size_t l4_len = hdr - l4 + payload;
	size_t at = l4 + vnet->csum_offset;
	uint16_t full = (uint16_t)(len - l4);
	uint32_t check;

	memcpy(out, s, hdr);
	memcpy(out + hdr, s + from, payload);
	if (out[l3] >> 4 == 4) {
		mk16(out + l3 + 2, (uint16_t)(l4 - l3 + l4_len));
		mk16(out + l3 + 4, (uint16_t)(mkget16(s + l3 + 4) + index));
		mk16(out + l3 + 10, mkip_cksum(out + l3));
	} else {
		mk16(out + l3 + 4, (uint16_t)l4_len);
	}
	if (tcp) {
		mk32(out + l4 + 4, mkget32(s + l4 + 4) + index * vnet->gso_size);
		if (index != last)
			out[l4 + 13] &= (uint8_t)~0x09; /* PSH, FIN */
		if (index != 0)
			out[l4 + 13] &= (uint8_t)~0x80; /* CWR */
	} else {
		/* UDP goes by its own length, not by that of the frame. */
		full = mkget16(s + l4 + 4);
		mk16(out + l4 + 4, (uint16_t)l4_len);
	}
	/* From the sum in the superframe, with its length taken out and the segment's put in. */
	check = (uint32_t)mkget16(s + at) + (uint16_t)~full + (uint32_t)l4_len;
	check = (check & 0xffff) + (check >> 16);
	check = (check & 0xffff) + (check >> 16);
	mk16(out + at, (uint16_t)check);
	check = (uint16_t)~mksum(0, out + l4, l4_len);
	if (check == 0 && !tcp)
		check = 0xffff;
	mk16(out + at, (uint16_t)check);
	return hdr + payload;
}

/* Whether Linux takes the superframe, and as how many segments; else a reason. */
static inline const char *
oracle_accepts(const struct tapbatch_vnet_hdr *vnet, const uint8_t *s, size_t len, bool l3_only,
	       unsigned int *segments)
{
	int l3 = mkl3(s, len, l3_only);
	bool tcp = vnet->gso_type != TAPBATCH_VNET_GSO_UDP_L4;
	bool ipv6;
	size_t l4 = vnet->csum_start;
	size_t hdr;

	ORACLE_TRUE("superframe has an IP header", l3 >= 0 && len >= (size_t)l3 + 20);
	ipv6 = s[l3] >> 4 == 6;
	ORACLE_SAME("flags of the virtio header", TAPBATCH_VNET_F_NEEDS_CSUM, vnet->flags);
	ORACLE_SAME("csum_start", l3 + (ipv6 ? 40 : 20), l4);
	ORACLE_SAME("IP protocol", tcp ? IPPROTO_TCP : IPPROTO_UDP, s[l3 + (ipv6 ? 6 : 9)]);
	if (tcp)
		ORACLE_SAME("kind of TCP", ipv6 ? TAPBATCH_VNET_GSO_TCPV6 :
						  TAPBATCH_VNET_GSO_TCPV4, vnet->gso_type);
	ORACLE_SAME("csum_offset", tcp ? 16 : 6, vnet->csum_offset);
	ORACLE_TRUE("superframe has an L4 header", len >= l4 + (tcp ? 20 : 8));
	hdr = l4 + (tcp ? (s[l4 + 12] >> 4) * 4u : 8u);
	ORACLE_SAME("hdr_len of the virtio header", hdr, vnet->hdr_len);
	ORACLE_SAME("num_buffers", 0, vnet->num_buffers);
	ORACLE_TRUE("gso_size", vnet->gso_size > 0 && vnet->gso_size != 0xffff);
	ORACLE_TRUE("more than one segment", len > hdr + vnet->gso_size);
	ORACLE_TRUE("64 KiB", len <= 65535);
	ORACLE_SAME("IP length", len - (size_t)l3 - (ipv6 ? 40 : 0),
		    mkget16(s + l3 + (ipv6 ? 4 : 2)));
	if (!ipv6) {
		ORACLE_SAME("IPv4 header length", 0x45, s[l3]);
		ORACLE_SAME("IPv4 fragment", 0, mkget16(s + l3 + 6) & 0xbfff);
		ORACLE_SAME("IPv4 checksum", mkip_cksum(s + l3), mkget16(s + l3 + 10));
	}
	ORACLE_SAME("pseudo-header sum",
		    mkpseudo(s + l3, tcp ? IPPROTO_TCP : IPPROTO_UDP, (uint32_t)(len - l4)),
		    mkget16(s + l4 + vnet->csum_offset));
	*segments = (unsigned int)((len - hdr + vnet->gso_size - 1) / vnet->gso_size);
	ORACLE_TRUE("64 segments", *segments <= 64);
	return NULL;
}

/* Holds a segment against the packet that the application sent. */
static inline const char *
oracle_compare(const struct rte_mbuf *m, bool l3_only, uint8_t *sent, uint8_t *got, size_t got_len)
{
	size_t len = mkbytes(m, sent);
	size_t l3;
	size_t l4;
	size_t at;
	size_t i;
	uint8_t proto;

	ORACLE_SAME("length of a segment", len, got_len);
	l3 = (size_t)mkl3(sent, len, l3_only);
	l4 = l3 + (sent[l3] >> 4 == 6 ? 40 : 20);
	proto = sent[l3] >> 4 == 6 ? sent[l3 + 6] : sent[l3 + 9];
	at = l4 + (proto == IPPROTO_TCP ? 16 : 6);
	/* Sums that the application left to the driver. */
	if ((m->ol_flags & RTE_MBUF_F_TX_L4_MASK) != 0 ||
	    (m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_NONE)
		mk16(sent + at, mkl4_cksum(sent + l3, sent + l4, proto, (uint32_t)(len - l4)));
	if (sent[l3] >> 4 == 4) {
		if (m->ol_flags & RTE_MBUF_F_TX_IP_CKSUM)
			mk16(sent + l3 + 10, mkip_cksum(sent + l3));
		/* The id of an atomic datagram has no meaning: RFC 6864, 4.1. */
		if ((sent[l3 + 6] & 0x40) != 0) {
			ORACLE_SAME("IPv4 checksum as sent", mkip_cksum(sent + l3),
				    mkget16(sent + l3 + 10));
			ORACLE_SAME("IPv4 checksum of the segment", mkip_cksum(got + l3),
				    mkget16(got + l3 + 10));
			memcpy(sent + l3 + 4, got + l3 + 4, 2);
			memcpy(sent + l3 + 10, got + l3 + 10, 2);
		}
	}
	for (i = 0; i < len; i++)
		if (sent[i] != got[i]) {
			static char what[80];

			snprintf(what, sizeof(what), "byte %zu of a packet of %zu", i, len);
			return oracle_fail(what, sent[i], got[i]);
		}
	return NULL;
}

/* The same flow, as the driver promises its order: by addresses, ports, protocol. */
static inline bool
oracle_same_flow(const struct rte_mbuf *a, const struct rte_mbuf *b, bool l3_only)
{
	const struct rte_mbuf *m[2] = { a, b };
	uint8_t key[2][48];
	static uint8_t bytes[MKPKT_MAX];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		size_t len = mkbytes(m[i], bytes);
		int l3 = mkl3(bytes, len, l3_only);
		size_t l4;

		memset(key[i], 0, sizeof(key[i]));
		/* Behind more than two VLAN tags the driver knows no flows. */
		if (l3 < 0 || l3 > 22 || len < (size_t)l3 + 24)
			return false;
		l4 = bytes[l3] >> 4 == 6 ? 40 : (bytes[l3] & 15) * 4u;
		if (len < (size_t)l3 + l4 + 4)
			return false;
		key[i][0] = bytes[l3] >> 4;
		if (l3 > 0 && mkget16(bytes + l3 - 2) != (key[i][0] == 6 ? 0x86dd : 0x0800))
			return false;
		if (key[i][0] == 6) {
			key[i][1] = bytes[l3 + 6];
			memcpy(key[i] + 2, bytes + l3 + 8, 32);
		} else {
			key[i][1] = bytes[l3 + 9];
			memcpy(key[i] + 2, bytes + l3 + 12, 8);
		}
		memcpy(key[i] + 34, bytes + l3 + l4, 4);
		if (key[i][1] != IPPROTO_TCP && key[i][1] != IPPROTO_UDP)
			return false;
	}
	return memcmp(key[0], key[1], sizeof(key[0])) == 0;
}

/*
 * Judges the result of tapbatch_coalesce_batch(). Superframes are cut as the kernel
 * does; single frames must be the mbufs' own bytes.
 *
 * @return NULL, or what is wrong
 */
static inline const char *
oracle_judge(const struct tapbatch_coalesce *c, struct rte_mbuf **pkts, unsigned int nb_pkts)
{
	static uint8_t frame_bytes[MKPKT_MAX];
	static uint8_t sent[MKPKT_MAX];
	static uint8_t got[MKPKT_MAX];
	static struct iovec iov[TAPBATCH_MAX_IOV];
	int frame_of[TAPBATCH_MAX_BATCH];
	unsigned int order[TAPBATCH_MAX_BATCH];
	unsigned int nb = 0;
	unsigned int f;
	unsigned int i;
	unsigned int j;

	for (i = 0; i < nb_pkts; i++)
		frame_of[i] = -1;
	for (f = 0; f < c->nb_frames; f++) {
		const struct tapbatch_frame *frame = &c->frames[f];
		unsigned int segments = 1;
		unsigned int at = frame->first;
		size_t len = 0;
		int n;

		if (f > 0)
			ORACLE_TRUE("frames in order of their first packets",
				    frame->first > c->frames[f - 1].first);
		ORACLE_TRUE("packets in a frame", frame->nb_pkts >= 1);
		/* One after the other, each only once. */
		for (i = 0; i < frame->nb_pkts; i++) {
			ORACLE_TRUE("index of a packet", at < nb_pkts);
			ORACLE_SAME("frame of a packet, before", -1, frame_of[at]);
			frame_of[at] = (int)f;
			order[at] = nb++;
			if (i + 1u == frame->nb_pkts)
				ORACLE_SAME("last packet of a frame", frame->last, at);
			else
				ORACLE_TRUE("packets rise in a frame", c->next[at] > at);
			at = c->next[at];
		}

		n = tapbatch_frame_iov(frame, c->next, pkts, iov, TAPBATCH_MAX_IOV);
		if (n < 0) {
			ORACLE_SAME("packets in a frame of too many iovecs", 1, frame->nb_pkts);
			continue;
		}
		for (i = 0; i < (unsigned int)n; i++) {
			size_t skip = i == 0 ? TAPBATCH_VNET_HDR_LEN : 0;

			ORACLE_TRUE("an iovec is not empty", iov[i].iov_len > 0);
			ORACLE_TRUE("64 KiB in iovecs",
				    len + iov[i].iov_len - skip <= sizeof(frame_bytes));
			memcpy(frame_bytes + len, (uint8_t *)iov[i].iov_base + skip,
			       iov[i].iov_len - skip);
			len += iov[i].iov_len - skip;
		}
		ORACLE_SAME("length of a frame", len, frame->len);
		if (frame->nb_pkts == 1) {
			ORACLE_SAME("hdr_len of a single packet", 0, frame->hdr_len);
			ORACLE_SAME("length of a single packet", mkbytes(pkts[frame->first], sent),
				    len);
			ORACLE_SAME("bytes of a single packet", 0, memcmp(sent, frame_bytes, len));
			continue;
		}

		const char *why = oracle_accepts(&frame->vnet, frame_bytes, len, c->l3_only,
						 &segments);

		if (why != NULL)
			return why;
		ORACLE_SAME("segments of a superframe", frame->nb_pkts, segments);
		for (i = 0, at = frame->first; i < segments; i++, at = c->next[at]) {
			size_t got_len = oracle_segment(&frame->vnet, frame_bytes, len, c->l3_only,
							i, segments - 1, got);

			why = oracle_compare(pkts[at], c->l3_only, sent, got, got_len);
			if (why != NULL)
				return why;
		}
	}
	ORACLE_SAME("packets in all frames", nb_pkts, nb);

	/* Where frames keep the packets' order nothing can be wrong; else compare flows. */
	for (i = 0; i < nb_pkts; i++)
		for (j = i + 1; j < nb_pkts; j++)
			if (order[j] < order[i])
				ORACLE_TRUE("order kept within a flow",
					    !oracle_same_flow(pkts[i], pkts[j], c->l3_only));
	return NULL;
}

#endif /* GSO_ORACLE_H */
