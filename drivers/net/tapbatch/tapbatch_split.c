/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Splitting on receive. What differs between segments is known beforehand: IPv4 id and
 * checksum, lengths, TCP sequence number and flags, L4 checksum. All else is prepared
 * once, so that a segment costs a copy of the headers, six stores, and the copy of its
 * payload, which is summed on the way.
 *
 * The rules are those of the kernel's inet_gso_segment(), ipv6_gso_segment(),
 * tcp_gso_segment() and __udp_gso_segment().
 */

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_memcpy.h>

#include "tapbatch_cksum.h"
#include "tapbatch_split.h"

/* packet_type, the same for all segments. */
static uint32_t
segment_ptype(const uint8_t *data, uint32_t len, bool l3_only)
{
	struct rte_mbuf m;

	memset(&m, 0, sizeof(m));
	m.buf_addr = (void *)(uintptr_t)data;
	m.nb_segs = 1;
	m.data_len = (uint16_t)RTE_MIN(len, (uint32_t)UINT16_MAX);
	m.pkt_len = m.data_len;
	return tapbatch_vnet_ptype(&m, l3_only);
}

/* Prepares headers and sums: everything that all segments have in common. */
static void
prepare(struct tapbatch_split *s, const struct tapbatch_vnet_hdr *vnet, uint32_t frame_len)
{
	const struct tapbatch_layout *layout = &s->layout;
	uint32_t l4_len = frame_len - layout->l4;
	uint8_t *l3 = s->hdr + layout->l3;
	uint8_t *l4 = s->hdr + layout->l4;
	uint16_t old;

	if (layout->ipv6) {
		struct rte_ipv6_hdr *ip = (struct rte_ipv6_hdr *)l3;

		ip->payload_len = 0;
	} else {
		struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)l3;

		s->ip_id = rte_be_to_cpu_16(ip->packet_id);
		ip->packet_id = 0;
		ip->total_length = 0;
		ip->hdr_checksum = 0;
		s->ip_sum = tapbatch_cksum(l3, (ip->version_ihl & 0xf) * 4);
	}

	/* The kernel goes by the sum in the field, also if it is not that of the
	 * pseudo-header, and so do we: it corrects it by the difference in length.
	 */
	if (layout->proto == IPPROTO_TCP) {
		struct rte_tcp_hdr *tcp = (struct rte_tcp_hdr *)l4;

		if (vnet->flags & TAPBATCH_VNET_F_NEEDS_CSUM)
			s->pseudo_sum = (uint64_t)tcp->cksum + (uint32_t)~rte_cpu_to_be_32(l4_len);
		else
			s->pseudo_sum = tapbatch_cksum_pseudo(l3, layout->ipv6, IPPROTO_TCP, 0);
		s->tcp_seq = rte_be_to_cpu_32(tcp->sent_seq);
		s->tcp_flags = tcp->tcp_flags;
		tcp->sent_seq = 0;
		tcp->tcp_flags = 0;
		tcp->cksum = 0;
	} else {
		struct rte_udp_hdr *udp = (struct rte_udp_hdr *)l4;

		old = udp->dgram_len;
		s->pseudo_sum = tapbatch_cksum_sub(udp->dgram_cksum, old);
		udp->dgram_len = 0;
		udp->dgram_cksum = 0;
	}
	s->l4_sum = s->pseudo_sum + tapbatch_cksum(l4, layout->payload - layout->l4);
}

int
tapbatch_split_begin(struct tapbatch_split *s, const struct tapbatch_vnet_hdr *vnet,
		     const uint8_t *piece0, uint32_t len0, const uint8_t *piece1, uint32_t len1,
		     uint32_t wants)
{
	uint32_t avail = RTE_MIN(len0, (uint32_t)TAPBATCH_VNET_MAX_HDR);
	bool l3_only = wants & TAPBATCH_RX_L3_ONLY;
	uint32_t hdr_len;

	s->done = true;
	s->nb_left = 0;
	if (len0 > INT32_MAX || len1 > INT32_MAX - len0 ||
	    tapbatch_vnet_superframe(vnet, piece0, avail, len0 + len1, l3_only, &s->layout) < 0)
		return -EINVAL;

	hdr_len = s->layout.payload;
	if (RTE_MIN(len0 + len1 - hdr_len, vnet->gso_size) + hdr_len > UINT16_MAX)
		return -EINVAL;
	s->wants = wants;
	s->piece[0] = piece0;
	s->piece[1] = piece1;
	s->piece_len[0] = len0;
	s->piece_len[1] = len1;
	s->offset = hdr_len;
	s->left = len0 + len1 - hdr_len;
	s->gso_size = vnet->gso_size;
	s->ol_flags = 0;
	if (wants & TAPBATCH_RX_IPV4_CKSUM && !s->layout.ipv6)
		s->ol_flags |= RTE_MBUF_F_RX_IP_CKSUM_GOOD;
	if (wants & TAPBATCH_RX_L4_CKSUM)
		s->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_NONE;
	s->packet_type = wants & TAPBATCH_RX_PTYPE ? segment_ptype(piece0, avail, l3_only) : 0;
	memcpy(s->hdr, piece0, hdr_len);
	prepare(s, vnet, len0 + len1);

	/* A superframe without payload is a packet as any other. */
	s->nb_left = RTE_MAX((s->left + s->gso_size - 1) / s->gso_size, 1u);
	s->done = false;
	return (int)s->nb_left;
}

/* Moves past the next segment. */
static inline void
advance(struct tapbatch_split *s, uint32_t seg_len)
{
	s->left -= seg_len;
	s->offset += seg_len;
	if (unlikely(s->offset >= s->piece_len[0] && s->piece_len[1] != 0)) {
		/* What is left lies in the second piece, which is the only one now. */
		s->offset -= s->piece_len[0];
		s->piece[0] = s->piece[1];
		s->piece_len[0] = s->piece_len[1];
		s->piece_len[1] = 0;
	}
	s->ip_id++;
	s->tcp_seq += seg_len;
	s->tcp_flags &= ~RTE_TCP_CWR_FLAG;
	s->nb_left--;
}

/*
 * Copies len bytes of payload, from bytes behind the next payload byte on.
 *
 * @return their sum, as if they started at an even offset, if sum is set
 */
static inline uint64_t
copy_payload(const struct tapbatch_split *s, uint8_t *to, uint32_t from, uint32_t len, bool sum)
{
	uint32_t offset = s->offset + from;
	uint32_t first;
	uint64_t low;
	uint64_t high;

	if (likely(offset + len <= s->piece_len[0])) {
		if (sum)
			return tapbatch_cksum_copy(to, s->piece[0] + offset, len);
		rte_memcpy(to, s->piece[0] + offset, len);
		return 0;
	}
	first = offset < s->piece_len[0] ? s->piece_len[0] - offset : 0;
	offset = offset < s->piece_len[0] ? 0 : offset - s->piece_len[0];
	low = tapbatch_cksum_copy(to, s->piece[0] + s->piece_len[0] - first, first);
	high = tapbatch_cksum_copy(to + first, s->piece[1] + offset, len - first);
	return low + (first & 1 ? tapbatch_cksum_swap(high) : high);
}

/* Headers of the next segment, payload bytes of it excepted; sum is theirs. */
static inline void
write_headers(const struct tapbatch_split *s, uint8_t *to, uint32_t seg_len, uint64_t sum,
	      bool open)
{
	const struct tapbatch_layout *layout = &s->layout;
	uint16_t l4_len = rte_cpu_to_be_16((uint16_t)(layout->payload - layout->l4 + seg_len));

	if (layout->ipv6) {
		struct rte_ipv6_hdr *ip = (struct rte_ipv6_hdr *)(to + layout->l3);

		ip->payload_len = rte_cpu_to_be_16(
			(uint16_t)(layout->payload - layout->l3 - sizeof(*ip) + seg_len));
	} else {
		struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(to + layout->l3);
		uint16_t id = rte_cpu_to_be_16(s->ip_id);
		uint16_t len = rte_cpu_to_be_16((uint16_t)(layout->payload - layout->l3 + seg_len));

		ip->packet_id = id;
		ip->total_length = len;
		ip->hdr_checksum = tapbatch_cksum_finish(s->ip_sum + id + len);
	}

	if (layout->proto == IPPROTO_TCP) {
		struct rte_tcp_hdr *tcp = (struct rte_tcp_hdr *)(to + layout->l4);
		uint32_t seq = rte_cpu_to_be_32(s->tcp_seq);
		uint8_t flags = s->nb_left == 1 ?
					s->tcp_flags :
					s->tcp_flags & ~(RTE_TCP_FIN_FLAG | RTE_TCP_PSH_FLAG);

		tcp->sent_seq = seq;
		tcp->tcp_flags = flags;
		/* The flags are the second byte of their word. */
		tcp->cksum = open ? tapbatch_cksum_fold(s->pseudo_sum + l4_len) :
				    tapbatch_cksum_finish(s->l4_sum + sum + seq + l4_len +
							  rte_cpu_to_be_16(flags));
	} else {
		struct rte_udp_hdr *udp = (struct rte_udp_hdr *)(to + layout->l4);

		udp->dgram_len = l4_len;
		/* The length counts twice, in the header and in the pseudo-header. */
		udp->dgram_cksum = open ? tapbatch_cksum_fold(s->pseudo_sum + l4_len) :
					  tapbatch_cksum_finish_udp(s->l4_sum + sum + 2u * l4_len);
	}
}

/* An mbuf fresh from the pool: refcnt 1, nb_segs 1 and no next (rte_mbuf_raw_alloc()). */
static inline void
init_mbuf(const struct tapbatch_split *s, struct rte_mbuf *m, uint16_t port, uint32_t len)
{
	m->data_off = RTE_PKTMBUF_HEADROOM;
	m->port = port;
	/* Pools with pinned external buffers mark their mbufs with a flag. */
	m->ol_flags = (m->ol_flags & RTE_MBUF_F_EXTERNAL) | s->ol_flags;
	m->packet_type = s->packet_type;
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	m->vlan_tci = 0;
}

/*
 * Fills a segment that fits in its mbuf: headers first, in whole blocks, whose last may
 * reach into the payload's place.
 */
static inline void
fill_segment(const struct tapbatch_split *s, struct rte_mbuf *m, uint16_t port, uint32_t seg_len,
	     bool open)
{
	uint32_t hdr_len = s->layout.payload;
	uint8_t *to;
	uint64_t sum;
	uint32_t i;

	init_mbuf(s, m, port, hdr_len + seg_len);
	to = rte_pktmbuf_mtod(m, uint8_t *);
	i = 0;
	do {
		memcpy(to + i, s->hdr + i, TAPBATCH_SPLIT_BLOCK);
		i += TAPBATCH_SPLIT_BLOCK;
	} while (unlikely(i < hdr_len));
	sum = copy_payload(s, to + hdr_len, 0, seg_len, !open);
	write_headers(s, to, seg_len, sum, open);
}

/*
 * Fills a segment over as many mbufs as it takes. The headers go in the first one: a
 * data room that is too small for them has been refused before.
 *
 * @param m  the first mbuf
 * @return false when the pool has no further mbufs; m is as it was then
 */
static bool
fill_chain(const struct tapbatch_split *s, struct rte_mempool *pool, struct rte_mbuf *m,
	   uint16_t port, uint32_t seg_len, uint32_t room, bool open)
{
	uint32_t hdr_len = s->layout.payload;
	uint32_t done = RTE_MIN(room - hdr_len, seg_len);
	struct rte_mbuf *tail = m;
	uint8_t *to;
	uint64_t sum;

	init_mbuf(s, m, port, hdr_len + done);
	to = rte_pktmbuf_mtod(m, uint8_t *);
	memcpy(to, s->hdr, hdr_len);
	sum = copy_payload(s, to + hdr_len, 0, done, !open);
	while (done < seg_len) {
		uint32_t n = RTE_MIN(room, seg_len - done);
		struct rte_mbuf *next = rte_mbuf_raw_alloc(pool);
		uint64_t part;

		if (next == NULL) {
			rte_pktmbuf_free(m->next);
			m->next = NULL;
			m->nb_segs = 1;
			return false;
		}
		init_mbuf(s, next, port, n);
		next->ol_flags &= RTE_MBUF_F_EXTERNAL;
		part = copy_payload(s, rte_pktmbuf_mtod(next, uint8_t *), done, n, !open);
		sum += done & 1 ? tapbatch_cksum_swap(part) : part;
		tail->next = next;
		tail = next;
		m->nb_segs++;
		m->pkt_len += n;
		done += n;
	}
	write_headers(s, to, seg_len, sum, open);
	return true;
}

/* Room for a segment's bytes in an mbuf of the pool. */
static uint32_t
mbuf_room(struct rte_mempool *pool)
{
	uint32_t room = rte_pktmbuf_data_room_size(pool);

	return room > RTE_PKTMBUF_HEADROOM ? room - RTE_PKTMBUF_HEADROOM : 0;
}

/* As many mbufs as the pool can give, nb_pkts at most. */
static uint16_t
take_mbufs(struct rte_mempool *pool, struct rte_mbuf **pkts, uint16_t nb_pkts)
{
	while (nb_pkts > 0 && rte_mempool_get_bulk(pool, (void **)pkts, nb_pkts) != 0)
		nb_pkts /= 2;
	return nb_pkts;
}

uint16_t
tapbatch_split_next(struct tapbatch_split *s, struct rte_mempool *pool, uint16_t port,
		    struct rte_mbuf **pkts, uint16_t nb_pkts)
{
	uint32_t hdr_len = s->layout.payload;
	uint32_t room = mbuf_room(pool);
	bool open = s->wants & TAPBATCH_RX_L4_CKSUM;
	bool scatter = s->wants & TAPBATCH_RX_SCATTER && room >= hdr_len;
	uint16_t taken = 0;
	uint16_t n = 0;

	while (n < nb_pkts && s->nb_left > 0) {
		uint32_t seg_len = RTE_MIN(s->left, s->gso_size);
		uint32_t len = RTE_MAX(hdr_len + seg_len,
				       RTE_ALIGN_CEIL(hdr_len, TAPBATCH_SPLIT_BLOCK));

		if (unlikely(hdr_len + seg_len > room && !scatter)) {
			s->dropped++;
			advance(s, seg_len);
			continue;
		}
		if (n == taken) {
			/* Heads of chains one by one, lest they leave nothing for the rest. */
			uint32_t need = len > room ? 1 :
						     RTE_MIN((uint32_t)(nb_pkts - n), s->nb_left);

			taken += take_mbufs(pool, pkts + n, (uint16_t)need);
			if (n == taken)
				break;
		}
		if (likely(len <= room))
			fill_segment(s, pkts[n], port, seg_len, open);
		else if (!fill_chain(s, pool, pkts[n], port, seg_len, room, open))
			break;
		advance(s, seg_len);
		n++;
	}
	if (taken > n)
		rte_mempool_put_bulk(pool, (void **)(pkts + n), taken - n);
	s->done = s->nb_left == 0;
	return n;
}
