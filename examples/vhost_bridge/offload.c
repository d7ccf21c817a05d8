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

static bool
parse(const struct rte_mbuf *m, struct vb_headers *headers)
{
	struct rte_net_hdr_lens lens;
	uint32_t ptype = rte_net_get_ptype(m, &lens,
					   RTE_PTYPE_L2_MASK | RTE_PTYPE_L3_MASK |
						   RTE_PTYPE_L4_MASK);
	uint32_t hdr_len;
	uint32_t l3_end;

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

static rte_be16_t *
l4_cksum(struct rte_mbuf *m, const struct vb_headers *headers)
{
	return rte_pktmbuf_mtod_offset(m, rte_be16_t *,
				       headers->l2 + headers->l3 +
					       (headers->tcp ?
							offsetof(struct rte_tcp_hdr, cksum) :
							offsetof(struct rte_udp_hdr, dgram_cksum)));
}

/* Of the whole L4 length, also in a superframe, as virtio wants it. */
static rte_be16_t
pseudo_sum(struct rte_mbuf *m, const struct vb_headers *headers)
{
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

int
vb_offload_cksum(struct rte_mbuf *m, const struct vb_headers *headers, bool complete)
{
	uint32_t l4 = headers->l2 + headers->l3;
	uint16_t sum;

	m->ol_flags &= KEEP_FLAGS;
	if (!complete) {
		m->l2_len = headers->l2;
		m->l3_len = headers->l3;
		m->l4_len = headers->l4;
		m->ol_flags |= headers->ipv6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4;
		m->ol_flags |= headers->tcp ? RTE_MBUF_F_TX_TCP_CKSUM : RTE_MBUF_F_TX_UDP_CKSUM;
		return 0;
	}
	*l4_cksum(m, headers) = pseudo_sum(m, headers);
	if (rte_raw_cksum_mbuf(m, l4, headers->end - l4, &sum) < 0)
		return -1;
	sum = (uint16_t)~sum;
	/* UDP: zero would say that there is none (RFC 768). */
	*l4_cksum(m, headers) = sum == 0 && !headers->tcp ? UINT16_MAX : sum;
	return 0;
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
	*l4_cksum(body, headers) = pseudo_sum(body, headers);
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
	if ((m->ol_flags & RTE_MBUF_F_RX_LRO) == 0)
		return vb_offload_cksum(m, headers, (features & VB_F_GUEST_CSUM) == 0) < 0 ?
			       VB_BAD :
			       VB_READY;

	if (m->tso_segsz == 0)
		return VB_BAD;
	/* UDP segmentation is unknown to this vhost library. */
	if (!headers->tcp)
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
	if (!parse(m, &headers) || (lro && m->tso_segsz == 0) ||
	    vb_offload_cksum(m, &headers, false) < 0)
		return VB_BAD;
	if (lro)
		m->ol_flags |= (headers.tcp ? RTE_MBUF_F_TX_TCP_SEG : RTE_MBUF_F_TX_UDP_SEG) |
			       (headers.ipv6 ? 0 : RTE_MBUF_F_TX_IP_CKSUM);
	return VB_READY;
}
