/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Rx flags to Tx flags. A guest that can take an open checksum or a superframe
 * is given it; else it is completed here, or split by segment.c.
 */

#include "offload.h"

#include <stddef.h>

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

/* These say whose memory the data is; all other flags are replaced. */
#define KEEP_FLAGS (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL)
/* What the field l3_len of an mbuf can hold. */
#define MAX_L3_LEN 511

/* More of them than rte_net_get_ptype() follows are allowed, as Linux allows them.
 * Returns the offset of TCP or UDP, 0 if neither comes within the first segment.
 */
static uint32_t
skip_extensions(const struct rte_mbuf *m, uint32_t ip, uint8_t *proto, bool *routed)
{
	uint32_t off = ip + sizeof(struct rte_ipv6_hdr);

	if (m->data_len < off)
		return 0;
	*proto = rte_pktmbuf_mtod_offset(m, const struct rte_ipv6_hdr *, ip)->proto;
	while (*proto == IPPROTO_HOPOPTS || *proto == IPPROTO_ROUTING ||
	       *proto == IPPROTO_DSTOPTS) {
		const uint8_t *ext = rte_pktmbuf_mtod_offset(m, const uint8_t *, off);

		/* RFC 8200, 4.2: next header, length in 8 bytes beyond the first 8. */
		if (off + 4 > m->data_len)
			return 0;
		*routed |= *proto == IPPROTO_ROUTING && ext[3] != 0;
		*proto = ext[0];
		off += (ext[1] + 1u) * 8;
	}
	return off < m->data_len ? off : 0;
}

/* The same for IPv6 with extension headers as rte_net_get_ptype() does without. */
static uint32_t
parse_extensions(const struct rte_mbuf *m, struct rte_net_hdr_lens *lens, bool *routed)
{
	uint8_t proto;
	uint32_t off = skip_extensions(m, lens->l2_len, &proto, routed);

	if (off == 0)
		return 0;
	lens->l3_len = (uint16_t)(off - lens->l2_len);
	if (proto == IPPROTO_UDP) {
		lens->l4_len = sizeof(struct rte_udp_hdr);
		return RTE_PTYPE_L4_UDP;
	}
	if (proto != IPPROTO_TCP || off + sizeof(struct rte_tcp_hdr) > m->data_len)
		return 0;
	lens->l4_len = rte_pktmbuf_mtod_offset(m, const struct rte_tcp_hdr *, off)->data_off >>
		       4 << 2;
	return RTE_PTYPE_L4_TCP;
}

static bool
parse(const struct rte_mbuf *m, struct vb_headers *headers)
{
	struct rte_net_hdr_lens lens;
	uint32_t ptype = rte_net_get_ptype(m, &lens,
					   RTE_PTYPE_L2_MASK | RTE_PTYPE_L3_MASK |
						   RTE_PTYPE_L4_MASK);
	uint32_t hdr_len;
	uint32_t l3_end;

	headers->routed = false;
	if ((ptype & RTE_PTYPE_L3_MASK) == RTE_PTYPE_L3_IPV6_EXT)
		ptype = (ptype & ~RTE_PTYPE_L4_MASK) | parse_extensions(m, &lens, &headers->routed);
	headers->tcp = (ptype & RTE_PTYPE_L4_MASK) == RTE_PTYPE_L4_TCP;
	if (!headers->tcp && (ptype & RTE_PTYPE_L4_MASK) != RTE_PTYPE_L4_UDP)
		return false;
	headers->l2 = lens.l2_len;
	headers->l3 = lens.l3_len;
	headers->l4 = lens.l4_len;
	headers->ipv6 = (RTE_ETH_IS_IPV6_HDR(ptype) != 0);
	if (headers->l4 < (headers->tcp ? sizeof(struct rte_tcp_hdr) : sizeof(struct rte_udp_hdr)))
		return false;
	hdr_len = (uint32_t)headers->l2 + headers->l3 + headers->l4;
	if (m->data_len < hdr_len)
		return false;
	if (headers->ipv6) {
		const struct rte_ipv6_hdr *ip = rte_pktmbuf_mtod_offset(m,
									const struct rte_ipv6_hdr *,
									headers->l2);

		l3_end = headers->l2 + sizeof(*ip) + rte_be_to_cpu_16(ip->payload_len);
	} else {
		const struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(m,
									const struct rte_ipv4_hdr *,
									headers->l2);

		l3_end = headers->l2 + rte_be_to_cpu_16(ip->total_length);
	}
	headers->end = l3_end;
	return l3_end <= m->pkt_len && l3_end >= hdr_len;
}

rte_be16_t *
vb_offload_l4_cksum(struct rte_mbuf *m, const struct vb_headers *headers)
{
	return rte_pktmbuf_mtod_offset(m, rte_be16_t *,
				       headers->l2 + headers->l3 +
					       (headers->tcp ?
							offsetof(struct rte_tcp_hdr, cksum) :
							offsetof(struct rte_udp_hdr, dgram_cksum)));
}

/* Of the whole L4 length, also in a superframe, as virtio wants it. That of a packet which is
 * routed on has the last address, not the next (RFC 8200, 8.1): whoever left the checksum open
 * has summed it.
 */
static rte_be16_t
pseudo_sum(struct rte_mbuf *m, const struct vb_headers *headers)
{
	if (headers->routed)
		return *vb_offload_l4_cksum(m, headers);
	if (headers->ipv6) {
		/* Of what follows the extension headers, if there are any. */
		const struct rte_ipv6_hdr *ip = rte_pktmbuf_mtod_offset(m,
									const struct rte_ipv6_hdr *,
									headers->l2);
		struct rte_ipv6_hdr plain = *ip;

		plain.proto = headers->tcp ? IPPROTO_TCP : IPPROTO_UDP;
		plain.payload_len = rte_cpu_to_be_16(
			(uint16_t)(headers->end - headers->l2 - headers->l3));
		return rte_ipv6_phdr_cksum(&plain, 0);
	}
	return rte_ipv4_phdr_cksum(rte_pktmbuf_mtod_offset(m, const struct rte_ipv4_hdr *,
							   headers->l2),
				   0);
}

/* The sum of all bytes from off to end, folded but not inverted. */
static uint16_t
sum_range(const struct rte_mbuf *m, uint32_t off, uint32_t end)
{
	uint32_t sum = 0;
	uint32_t done = 0;
	uint32_t at = 0;

	for (; m != NULL && at < end; at += m->data_len, m = m->next) {
		uint32_t first = RTE_MAX(off, at);
		uint32_t last = RTE_MIN(end, at + m->data_len);
		uint16_t part;

		if (first >= last)
			continue;
		part = rte_raw_cksum(rte_pktmbuf_mtod_offset(m, const void *, first - at),
				     last - first);
		/* After an odd number of bytes high and low change places. */
		sum += done & 1 ? rte_bswap16(part) : part;
		done += last - first;
	}
	/* Of 65535 segments at most, so it did not overflow. */
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

static void
ask_for_cksum(struct rte_mbuf *m, const struct vb_headers *headers)
{
	m->l2_len = headers->l2;
	m->l3_len = headers->l3;
	m->l4_len = headers->l4;
	m->ol_flags |= headers->ipv6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4;
	m->ol_flags |= headers->tcp ? RTE_MBUF_F_TX_TCP_CKSUM : RTE_MBUF_F_TX_UDP_CKSUM;
}

/*
 * With extension headers it can't be asked for: DPDK's library makes the
 * pseudo-header's sum of the first header, whose length and protocol are others.
 */
void
vb_offload_cksum(struct rte_mbuf *m, const struct vb_headers *headers, bool complete)
{
	uint16_t sum;

	m->ol_flags &= KEEP_FLAGS;
	if (!complete && !(headers->ipv6 && headers->l3 != sizeof(struct rte_ipv6_hdr))) {
		ask_for_cksum(m, headers);
		return;
	}
	*vb_offload_l4_cksum(m, headers) = pseudo_sum(m, headers);
	sum = (uint16_t)~sum_range(m, headers->l2 + headers->l3, headers->end);
	/* UDP: zero would say that there is none (RFC 768). */
	*vb_offload_l4_cksum(m, headers) = sum == 0 && !headers->tcp ? UINT16_MAX : sum;
}

/*
 * A superframe that goes to the guest whole. DPDK's vhost library writes the
 * pseudo-header sum of a packet with Tx flags, and for TSO leaves the length out
 * of it, as NICs want it. Virtio wants it in (1.2, 5.1.6.2, and Linux's GSO counts
 * on it: a guest that routes would send wrong checksums). The library does not
 * touch a packet whose headers do not lie in its first segment; so ours end one
 * byte before.
 */
static enum vb_ready
whole(struct rte_mbuf **m, const struct vb_headers *headers)
{
	uint16_t first = headers->l2 + headers->l3 + headers->l4 - 1;
	struct rte_mbuf *body = *m;
	struct rte_mbuf *head = rte_pktmbuf_alloc(body->pool);

	if (head == NULL)
		return VB_NO_MBUF;
	*vb_offload_l4_cksum(body, headers) = pseudo_sum(body, headers);
	rte_memcpy(rte_pktmbuf_mtod(head, void *), rte_pktmbuf_mtod(body, void *), first);
	head->data_len = first;
	head->pkt_len = body->pkt_len;
	head->nb_segs = body->nb_segs + 1;
	head->next = body;
	head->port = body->port;
	head->tso_segsz = body->tso_segsz;
	head->l2_len = headers->l2;
	head->l3_len = headers->l3;
	head->l4_len = headers->l4;
	head->ol_flags = RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_TCP_CKSUM |
			 (headers->ipv6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4);
	body->data_off += first;
	body->data_len -= first;
	body->nb_segs = 1;
	body->ol_flags &= KEEP_FLAGS;
	*m = head;
	return VB_READY;
}

enum vb_ready
vb_offload_to_guest(struct rte_mbuf **mp, uint64_t features, struct vb_headers *headers)
{
	struct rte_mbuf *m = *mp;
	const struct rte_tcp_hdr *tcp;

	if ((m->ol_flags & RTE_MBUF_F_RX_LRO) == 0 &&
	    (m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) != RTE_MBUF_F_RX_L4_CKSUM_NONE) {
		m->ol_flags &= KEEP_FLAGS;
		return VB_READY;
	}
	if (!parse(m, headers))
		return VB_BAD;
	if ((m->ol_flags & RTE_MBUF_F_RX_LRO) == 0) {
		vb_offload_cksum(m, headers, (features & VB_F_GUEST_CSUM) == 0);
		return VB_READY;
	}
	if (m->tso_segsz == 0)
		return VB_BAD;
	/* UDP segmentation is unknown to this vhost library. */
	if (!headers->tcp)
		return VB_SEGMENT;
	/* The length has nine bits in an mbuf. */
	if (headers->l3 > MAX_L3_LEN)
		return VB_SEGMENT;
	if ((features & (headers->ipv6 ? VB_F_GUEST_TSO6 : VB_F_GUEST_TSO4)) == 0)
		return VB_SEGMENT;
	/* CWR stands in the first segment only; the library can't say so (GSO_ECN). */
	tcp = rte_pktmbuf_mtod_offset(m, const struct rte_tcp_hdr *, headers->l2 + headers->l3);
	if (tcp->tcp_flags & RTE_TCP_CWR_FLAG)
		return VB_SEGMENT;
	return whole(mp, headers);
}

enum vb_ready
vb_offload_to_port(struct rte_mbuf *m)
{
	struct vb_headers headers;
	bool lro = (m->ol_flags & RTE_MBUF_F_RX_LRO) != 0;

	if (!lro && (m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) != RTE_MBUF_F_RX_L4_CKSUM_NONE) {
		m->ol_flags &= KEEP_FLAGS;
		return VB_READY;
	}
	if (!parse(m, &headers) || (lro && (m->tso_segsz == 0 || headers.l3 > MAX_L3_LEN)))
		return VB_BAD;
	if (!lro) {
		vb_offload_cksum(m, &headers, false);
		return VB_READY;
	}
	m->ol_flags &= KEEP_FLAGS;
	ask_for_cksum(m, &headers);
	m->ol_flags |= (headers.tcp ? RTE_MBUF_F_TX_TCP_SEG : RTE_MBUF_F_TX_UDP_SEG) |
		       (headers.ipv6 ? 0 : RTE_MBUF_F_TX_IP_CKSUM);
	return VB_READY;
}
