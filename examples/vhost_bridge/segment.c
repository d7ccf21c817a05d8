/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * A superframe becomes the packets that segmentation offload would make of it.
 */

#include "segment.h"

#include <errno.h>

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

/* Where in the superframe the next payload byte lies. */
struct cursor {
	struct rte_mbuf *seg;
	uint16_t off;
};

static void
skip(struct cursor *c, uint32_t len)
{
	while (len > 0) {
		uint32_t here = c->seg->data_len - c->off;

		if (here > len) {
			c->off += (uint16_t)len;
			return;
		}
		len -= here;
		c->seg = c->seg->next;
		c->off = 0;
		if (c->seg == NULL)
			return;
	}
}

/* Appends mbufs to pkt that refer to the next len bytes. */
static int
refer(struct rte_mbuf *pkt, struct cursor *c, uint32_t len, struct rte_mempool *pool)
{
	struct rte_mbuf *last = pkt;

	while (len > 0) {
		uint32_t part = RTE_MIN(len, (uint32_t)c->seg->data_len - c->off);
		struct rte_mbuf *m;

		if (part > 0) {
			m = rte_pktmbuf_alloc(pool);
			if (m == NULL)
				return -ENOMEM;
			rte_pktmbuf_attach(m, c->seg);
			m->data_off = c->seg->data_off + c->off;
			m->data_len = (uint16_t)part;
			m->next = NULL;
			m->nb_segs = 1;
			last->next = m;
			last = m;
			pkt->nb_segs++;
			pkt->pkt_len += part;
		}
		skip(c, part);
		if (part == 0) {
			c->seg = c->seg->next;
			c->off = 0;
		}
		len -= part;
	}
	return 0;
}

/* The open checksum of one segment, where that of the superframe is known, but not what of. */
static void
edit_open_cksum(struct rte_mbuf *pkt, const struct vb_headers *headers, uint32_t len)
{
	rte_be16_t *field = vb_offload_l4_cksum(pkt, headers);
	uint32_t l4 = headers->l2 + headers->l3;
	uint32_t sum = *field;

	sum += (uint16_t)~rte_cpu_to_be_16((uint16_t)(headers->end - l4));
	sum += rte_cpu_to_be_16((uint16_t)(headers->l4 + len));
	sum = (sum & 0xffff) + (sum >> 16);
	*field = (rte_be16_t)((sum & 0xffff) + (sum >> 16));
}

static void
edit_headers(struct rte_mbuf *pkt, const struct vb_headers *headers, uint32_t index,
	     uint32_t offset, uint32_t len, bool last)
{
	void *l3 = rte_pktmbuf_mtod_offset(pkt, void *, headers->l2);
	void *l4 = rte_pktmbuf_mtod_offset(pkt, void *, headers->l2 + headers->l3);

	if (headers->ipv6) {
		struct rte_ipv6_hdr *ip = l3;

		ip->payload_len = rte_cpu_to_be_16(
			(uint16_t)(headers->l3 - sizeof(*ip) + headers->l4 + len));
	} else {
		struct rte_ipv4_hdr *ip = l3;

		ip->total_length = rte_cpu_to_be_16((uint16_t)(headers->l3 + headers->l4 + len));
		ip->packet_id = rte_cpu_to_be_16(
			(uint16_t)(rte_be_to_cpu_16(ip->packet_id) + index));
		ip->hdr_checksum = 0;
		ip->hdr_checksum = rte_ipv4_cksum(ip);
	}
	if (headers->routed)
		edit_open_cksum(pkt, headers, len);
	if (headers->tcp) {
		struct rte_tcp_hdr *tcp = l4;

		tcp->sent_seq = rte_cpu_to_be_32(rte_be_to_cpu_32(tcp->sent_seq) + offset);
		if (!last)
			tcp->tcp_flags &= (uint8_t) ~(RTE_TCP_FIN_FLAG | RTE_TCP_PSH_FLAG);
		if (index > 0)
			tcp->tcp_flags &= (uint8_t)~RTE_TCP_CWR_FLAG;
	} else {
		struct rte_udp_hdr *udp = l4;

		udp->dgram_len = rte_cpu_to_be_16((uint16_t)(sizeof(*udp) + len));
	}
}

int
vb_segment(struct rte_mbuf *m, const struct vb_headers *headers, bool complete,
	   struct rte_mbuf **out, unsigned int max)
{
	uint32_t hdr_len = headers->l2 + headers->l3 + headers->l4;
	uint32_t payload = headers->end - hdr_len;
	uint32_t segsz = m->tso_segsz;
	struct cursor cursor = { .seg = m, .off = 0 };
	uint32_t n = payload <= segsz ? 1 : (payload + segsz - 1) / segsz;
	uint32_t offset = 0;
	uint32_t i;

	if (n > max)
		return -EINVAL;
	skip(&cursor, hdr_len);
	for (i = 0; i < n; i++) {
		uint32_t len = RTE_MIN(segsz, payload - offset);
		struct vb_headers own = *headers;
		struct rte_mbuf *pkt = rte_pktmbuf_alloc(m->pool);

		if (pkt == NULL)
			goto no_mbuf;
		out[i] = pkt;
		if (rte_pktmbuf_tailroom(pkt) < hdr_len) {
			i++;
			goto invalid;
		}
		rte_memcpy(rte_pktmbuf_mtod(pkt, void *), rte_pktmbuf_mtod(m, void *), hdr_len);
		pkt->data_len = (uint16_t)hdr_len;
		pkt->pkt_len = hdr_len;
		pkt->port = m->port;
		if (refer(pkt, &cursor, len, m->pool) < 0) {
			i++;
			goto no_mbuf;
		}
		edit_headers(pkt, headers, i, offset, len, i + 1 == n);
		own.end = hdr_len + len;
		vb_offload_cksum(pkt, &own, complete);
		offset += len;
	}
	rte_pktmbuf_free(m);
	return (int)n;

no_mbuf:
	rte_pktmbuf_free_bulk(out, i);
	return -ENOMEM;
invalid:
	rte_pktmbuf_free_bulk(out, i);
	return -EINVAL;
}
