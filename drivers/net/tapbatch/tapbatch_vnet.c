/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Between the virtio header and an mbuf's offload flags. Both sides are foreign: the
 * application's lengths and the header's offsets count only if the bytes agree.
 */

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_net.h>

#include "tapbatch_cksum.h"
#include "tapbatch_vnet.h"

#define TCP_CKSUM_OFFSET offsetof(struct rte_tcp_hdr, cksum)
#define UDP_CKSUM_OFFSET offsetof(struct rte_udp_hdr, dgram_cksum)

/* More tags than this the kernel's segmentation does not look through either. */
#define MAX_TAGS 8

static uint16_t
cksum_offset(uint8_t proto)
{
	return proto == IPPROTO_TCP ? TCP_CKSUM_OFFSET : UDP_CKSUM_OFFSET;
}

/*
 * Offset of the L3 header, behind Ethernet and its tags; *type is the EtherType there, 0
 * when the bytes end before it.
 */
static uint32_t
find_l3(const uint8_t *data, uint32_t avail, bool l3_only, uint16_t *type)
{
	uint32_t l3 = RTE_ETHER_HDR_LEN;
	unsigned int tags;

	*type = 0;
	if (l3_only) {
		if (avail > 0)
			*type = (data[0] >> 4) == 4 ? RTE_ETHER_TYPE_IPV4 :
				(data[0] >> 4) == 6 ? RTE_ETHER_TYPE_IPV6 :
						      0;
		return 0;
	}
	for (tags = 0; tags <= MAX_TAGS && l3 <= avail; tags++, l3 += 4) {
		uint16_t t = (uint16_t)(data[l3 - 2] << 8 | data[l3 - 1]);

		if (t != RTE_ETHER_TYPE_VLAN && t != RTE_ETHER_TYPE_QINQ) {
			*type = t;
			break;
		}
	}
	return l3;
}

/*
 * Steps over IPv6 extension headers.
 *
 * @param l4  offset of the first header behind the IPv6 header
 * @return the offset of the header of type *proto, which is none of those that can be
 *         stepped over; more than avail when the bytes end before
 */
static uint32_t
skip_extensions(const uint8_t *data, uint32_t avail, uint32_t l4, uint8_t *proto)
{
	while (*proto == IPPROTO_HOPOPTS || *proto == IPPROTO_ROUTING ||
	       *proto == IPPROTO_DSTOPTS) {
		if (l4 + 8 > avail)
			return avail + 1;
		*proto = data[l4];
		l4 += 8 + 8 * data[l4 + 1];
	}
	return l4;
}

/* Whether a packet that parse() went through has a routing header with segments left: the
 * pseudo-header is that of the last address then (RFC 8200, 8.1), not of the one it is on its
 * way to.
 */
static bool
is_routed(const uint8_t *data, const struct tapbatch_layout *layout)
{
	uint32_t at = layout->l3 + sizeof(struct rte_ipv6_hdr);
	uint8_t proto;

	if (likely(!layout->ipv6 || at == layout->l4))
		return false;
	proto = data[layout->l3 + offsetof(struct rte_ipv6_hdr, proto)];
	while (at < layout->l4) {
		if (proto == IPPROTO_ROUTING && data[at + 3] != 0)
			return true;
		proto = data[at];
		at += 8 + 8 * data[at + 1];
	}
	return false;
}

/* tapbatch_parse(), but through IPv6 extension headers. */
static enum tapbatch_parsed
parse(const uint8_t *data, uint32_t avail, uint32_t frame, bool l3_only,
      struct tapbatch_layout *layout)
{
	enum tapbatch_parsed parsed = tapbatch_parse(data, avail, frame, l3_only, layout);
	const struct rte_ipv6_hdr *ip;
	const struct rte_tcp_hdr *tcp;
	uint32_t l3, l4, payload, l3_end;
	uint16_t type;
	uint8_t proto;

	if (likely(parsed != TAPBATCH_PARSED_EXTENSION))
		return parsed;

	l3 = find_l3(data, avail, l3_only, &type);
	ip = (const void *)(data + l3);
	l3_end = l3 + sizeof(*ip) + rte_be_to_cpu_16(ip->payload_len);
	proto = ip->proto;
	l4 = skip_extensions(data, RTE_MIN(avail, l3_end), l3 + sizeof(*ip), &proto);
	if (proto == IPPROTO_FRAGMENT)
		return TAPBATCH_PARSED_FRAGMENT;
	if (proto == IPPROTO_TCP) {
		tcp = (const void *)(data + l4);
		if (l4 + sizeof(*tcp) > avail)
			return TAPBATCH_PARSED_MALFORMED;
		payload = l4 + (tcp->data_off >> 4) * 4;
		if (payload < l4 + sizeof(*tcp))
			return TAPBATCH_PARSED_MALFORMED;
	} else if (proto == IPPROTO_UDP) {
		payload = l4 + sizeof(struct rte_udp_hdr);
	} else {
		return TAPBATCH_PARSED_OTHER;
	}
	if (payload > avail || payload > l3_end)
		return TAPBATCH_PARSED_MALFORMED;

	layout->l3 = (uint16_t)l3;
	layout->l4 = (uint16_t)l4;
	layout->payload = (uint16_t)payload;
	layout->proto = proto;
	layout->ipv6 = true;
	layout->l3_end = l3_end;
	return TAPBATCH_PARSED_L4;
}

/*
 * Bytes that the L4 checksum covers: all that IP has, or what UDP says.
 *
 * @return 0 when UDP's length contradicts IP's
 */
static uint32_t
covered(const uint8_t *data, const struct tapbatch_layout *layout)
{
	uint32_t l4_len = layout->l3_end - layout->l4;
	const struct rte_udp_hdr *udp;
	uint32_t udp_len;

	if (layout->proto == IPPROTO_TCP)
		return l4_len;
	udp = (const void *)(data + layout->l4);
	udp_len = rte_be_to_cpu_16(udp->dgram_len);
	return udp_len >= sizeof(*udp) && udp_len <= l4_len ? udp_len : 0;
}

/* The first bytes of a packet in one piece, copied to buf only if they are not. */
static const uint8_t *
headers(const struct rte_mbuf *m, uint8_t *buf, uint32_t *avail)
{
	if (likely(m->data_len >= RTE_MIN(m->pkt_len, (uint32_t)TAPBATCH_VNET_MAX_HDR))) {
		*avail = RTE_MIN(m->data_len, m->pkt_len);
		return rte_pktmbuf_mtod(m, const uint8_t *);
	}
	*avail = RTE_MIN(m->pkt_len, (uint32_t)TAPBATCH_VNET_MAX_HDR);
	return rte_pktmbuf_read(m, 0, *avail, buf);
}

/* Makes frame->hdr a copy of the packet's first len bytes at least. */
static int
edit(struct tapbatch_frame *frame, const uint8_t *data, uint32_t len)
{
	if (len > TAPBATCH_MAX_HDR)
		return -ENOTSUP;
	if (len > frame->hdr_len) {
		memcpy(frame->hdr + frame->hdr_len, data + frame->hdr_len, len - frame->hdr_len);
		frame->hdr_len = (uint16_t)len;
	}
	return 0;
}

static int
edit_ipv4_cksum(struct tapbatch_frame *frame, const uint8_t *data, uint32_t l3, uint32_t l3_len)
{
	struct rte_ipv4_hdr *ip;
	int ret = edit(frame, data, l3 + l3_len);

	if (ret < 0)
		return ret;
	ip = (struct rte_ipv4_hdr *)(frame->hdr + l3);
	ip->hdr_checksum = 0;
	ip->hdr_checksum = tapbatch_cksum_finish(tapbatch_cksum(ip, l3_len));
	return 0;
}

/*
 * Leaves the L4 checksum to the kernel: the pseudo-header's sum goes in the field, edited
 * only if it is not there already, or whoever made the packet alone can know it. With bytes behind what the checksum covers (padding) all
 * of it is computed here, as the kernel sums to the end of the frame.
 */
static int
open_l4_cksum(const struct rte_mbuf *m, struct tapbatch_frame *frame, const uint8_t *data,
	      const struct tapbatch_layout *layout)
{
	uint16_t offset = layout->l4 + cksum_offset(layout->proto);
	uint32_t l4_len = covered(data, layout);
	uint64_t sum = tapbatch_cksum_pseudo(data + layout->l3, layout->ipv6, layout->proto,
					     l4_len);
	uint16_t field;
	uint16_t old;
	int ret;

	if (l4_len == 0)
		return -EINVAL;
	memcpy(&old, data + offset, sizeof(old));
	if (unlikely(is_routed(data, layout)))
		sum = old;
	if (unlikely(layout->l4 + l4_len < m->pkt_len)) {
		sum += tapbatch_cksum_mbuf(m, layout->l4, l4_len);
		sum = tapbatch_cksum_sub(sum, old);
		field = layout->proto == IPPROTO_UDP ? tapbatch_cksum_finish_udp(sum) :
						       tapbatch_cksum_finish(sum);
	} else {
		field = tapbatch_cksum_fold(sum);
		frame->vnet.flags = TAPBATCH_VNET_F_NEEDS_CSUM;
		frame->vnet.csum_start = layout->l4;
		frame->vnet.csum_offset = cksum_offset(layout->proto);
	}
	if (field == old)
		return 0;
	ret = edit(frame, data, offset + sizeof(field));
	if (ret == 0)
		memcpy(frame->hdr + offset, &field, sizeof(field));
	return ret;
}

/* The virtio header of a superframe; its checksum is open already. */
static void
set_gso(struct tapbatch_frame *frame, const uint8_t *data, const struct tapbatch_layout *layout,
	uint16_t gso_size)
{
	const struct rte_tcp_hdr *tcp = (const void *)(data + layout->l4);

	if (layout->proto == IPPROTO_UDP)
		frame->vnet.gso_type = TAPBATCH_VNET_GSO_UDP_L4;
	else
		frame->vnet.gso_type = (layout->ipv6 ? TAPBATCH_VNET_GSO_TCPV6 :
						       TAPBATCH_VNET_GSO_TCPV4) |
				       (tcp->tcp_flags & RTE_TCP_CWR_FLAG ? TAPBATCH_VNET_GSO_ECN :
									    0);
	frame->vnet.gso_size = gso_size;
	frame->vnet.hdr_len = layout->payload;
}

/* RTE_MBUF_F_TX_TCP_SEG and _UDP_SEG. */
static int
from_tx_seg(const struct rte_mbuf *m, bool l3_only, struct tapbatch_frame *frame,
	    const uint8_t *data, uint32_t avail)
{
	uint8_t proto = m->ol_flags & RTE_MBUF_F_TX_TCP_SEG ? IPPROTO_TCP : IPPROTO_UDP;
	uint32_t l3 = m->l2_len;
	uint32_t l4 = l3 + m->l3_len;
	uint32_t hdr_len = l4 + m->l4_len;
	uint32_t l3_size = m->pkt_len - l3;
	struct tapbatch_layout layout;
	bool ipv6;
	int ret;

	if (m->tso_segsz == 0 || m->tso_segsz == UINT16_MAX || hdr_len > m->pkt_len ||
	    hdr_len > avail || m->l3_len < sizeof(struct rte_ipv4_hdr) ||
	    m->l4_len < (proto == IPPROTO_TCP ? sizeof(struct rte_tcp_hdr) :
						sizeof(struct rte_udp_hdr)))
		return -EINVAL;
	ipv6 = data[l3] >> 4 == 6;
	if (ipv6) {
		l3_size -= sizeof(struct rte_ipv6_hdr);
		if (m->l3_len < sizeof(struct rte_ipv6_hdr))
			return -EINVAL;
	}
	if (l3_size > UINT16_MAX)
		return -EINVAL;

	/* Length fields may hold anything, so they are written before they are read. */
	ret = edit(frame, data, hdr_len);
	if (ret < 0)
		return ret;
	data = frame->hdr;
	if (ipv6) {
		struct rte_ipv6_hdr *ip = (struct rte_ipv6_hdr *)(frame->hdr + l3);

		ip->payload_len = rte_cpu_to_be_16((uint16_t)l3_size);
	} else {
		struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(frame->hdr + l3);

		ip->total_length = rte_cpu_to_be_16((uint16_t)l3_size);
	}
	if (proto == IPPROTO_UDP) {
		struct rte_udp_hdr *udp = (struct rte_udp_hdr *)(frame->hdr + l4);

		udp->dgram_len = rte_cpu_to_be_16((uint16_t)(m->pkt_len - l4));
	}

	if (parse(data, hdr_len, m->pkt_len, l3_only, &layout) != TAPBATCH_PARSED_L4 ||
	    layout.l3 != l3 || layout.l4 != l4 || layout.payload != hdr_len ||
	    layout.proto != proto)
		return -EINVAL;
	if (is_routed(data, &layout))
		return -ENOTSUP;
	if (!ipv6) {
		ret = edit_ipv4_cksum(frame, data, l3, m->l3_len);
		if (ret < 0)
			return ret;
	}
	ret = open_l4_cksum(m, frame, data, &layout);
	if (ret == 0 && m->pkt_len - hdr_len > m->tso_segsz)
		set_gso(frame, data, &layout, m->tso_segsz);
	return ret;
}

/* The L4 checksum of a packet that some driver received, and that the application sends on,
 * and its segmentation.
 */
static int
from_rx_l4(const struct rte_mbuf *m, bool l3_only, struct tapbatch_frame *frame,
	   const uint8_t *data, uint32_t avail)
{
	bool open = (m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_NONE;
	bool lro = m->ol_flags & RTE_MBUF_F_RX_LRO && m->tso_segsz != 0;
	struct tapbatch_layout layout;
	uint16_t old;
	int ret;

	if (!open && !lro)
		return 0;

	if (parse(data, avail, m->pkt_len, l3_only, &layout) != TAPBATCH_PARSED_L4) {
		/* Nothing that has a checksum to complete goes as it is. */
		return lro ? -EINVAL : 0;
	}
	lro = lro && layout.l3_end - layout.payload > m->tso_segsz;
	if (lro && (layout.l4 + covered(data, &layout) != m->pkt_len || m->tso_segsz == UINT16_MAX))
		return -EINVAL;

	memcpy(&old, data + layout.l4 + cksum_offset(layout.proto), sizeof(old));
	if (!lro && (!open || (old == 0 && layout.proto == IPPROTO_UDP && !layout.ipv6))) {
		/* UDP without a checksum keeps none: net_tap marks such packets as open,
		 * and no pseudo-header sums to 0.
		 */
		return 0;
	}
	if (!lro && covered(data, &layout) == 0)
		return 0;
	ret = open_l4_cksum(m, frame, data, &layout);
	if (ret == 0 && lro)
		set_gso(frame, data, &layout, m->tso_segsz);
	return ret;
}

/* RTE_MBUF_F_TX_IP_CKSUM, _TCP_CKSUM and _UDP_CKSUM. */
static int
from_tx_cksum(const struct rte_mbuf *m, bool l3_only, struct tapbatch_frame *frame,
	      const uint8_t *data, uint32_t avail)
{
	uint64_t l4_flag = m->ol_flags & RTE_MBUF_F_TX_L4_MASK;
	struct tapbatch_layout layout;
	uint16_t type;
	int ret;

	if (find_l3(data, avail, l3_only, &type) != m->l2_len ||
	    (uint32_t)m->l2_len + m->l3_len > avail)
		return -EINVAL;

	if (m->ol_flags & RTE_MBUF_F_TX_IP_CKSUM) {
		/* l3_len is a word of the bytes' too, before it says how much to sum. */
		if (type != RTE_ETHER_TYPE_IPV4 || m->l3_len < sizeof(struct rte_ipv4_hdr) ||
		    data[m->l2_len] >> 4 != 4 || (data[m->l2_len] & 0xf) * 4 != m->l3_len)
			return -EINVAL;
		ret = edit_ipv4_cksum(frame, data, m->l2_len, m->l3_len);
		if (ret < 0)
			return ret;
	}
	/* Whoever asks for IPv4's alone has changed no more than that. */
	if (l4_flag == 0)
		return from_rx_l4(m, l3_only, frame, data, avail);

	if (parse(data, avail, m->pkt_len, l3_only, &layout) != TAPBATCH_PARSED_L4 ||
	    layout.l3 != m->l2_len || layout.l4 != m->l2_len + m->l3_len ||
	    layout.proto != (l4_flag == RTE_MBUF_F_TX_TCP_CKSUM ? IPPROTO_TCP : IPPROTO_UDP))
		return -EINVAL;
	return open_l4_cksum(m, frame, data, &layout);
}

static int
from_tx_flags(const struct rte_mbuf *m, bool l3_only, struct tapbatch_frame *frame,
	      const uint8_t *data, uint32_t avail)
{
	uint64_t flags = m->ol_flags;
	uint64_t seg = flags & (RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_UDP_SEG);

	if (flags & (TAPBATCH_VNET_TX_UNSERVED | RTE_MBUF_F_TX_TUNNEL_MASK))
		return -ENOTSUP;
	if (m->l2_len < avail && (((flags & RTE_MBUF_F_TX_IPV4) && data[m->l2_len] >> 4 != 4) ||
				  ((flags & RTE_MBUF_F_TX_IPV6) && data[m->l2_len] >> 4 != 6)))
		return -EINVAL;
	if (seg != 0) {
		if (seg == (RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_UDP_SEG))
			return -EINVAL;
		return from_tx_seg(m, l3_only, frame, data, avail);
	}
	if ((flags & RTE_MBUF_F_TX_L4_MASK) == RTE_MBUF_F_TX_SCTP_CKSUM)
		return -ENOTSUP;
	return from_tx_cksum(m, l3_only, frame, data, avail);
}

/* A packet that some driver received, and that the application sends on. */
static int
from_rx_flags(const struct rte_mbuf *m, bool l3_only, struct tapbatch_frame *frame,
	      const uint8_t *data, uint32_t avail)
{
	int ret;

	if ((m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) == RTE_MBUF_F_RX_IP_CKSUM_NONE) {
		uint16_t type;
		uint32_t l3 = find_l3(data, avail, l3_only, &type);

		if (type == RTE_ETHER_TYPE_IPV4 && l3 + sizeof(struct rte_ipv4_hdr) <= avail &&
		    data[l3] >> 4 == 4) {
			uint32_t l3_len = (data[l3] & 0xf) * 4;

			if (l3_len < sizeof(struct rte_ipv4_hdr) || l3 + l3_len > avail)
				return -EINVAL;
			ret = edit_ipv4_cksum(frame, data, l3, l3_len);
			if (ret < 0)
				return ret;
		}
	}
	return from_rx_l4(m, l3_only, frame, data, avail);
}

int
tapbatch_vnet_from_mbuf_flags(const struct rte_mbuf *m, bool l3_only, struct tapbatch_frame *frame)
{
	uint8_t buf[TAPBATCH_VNET_MAX_HDR];
	uint32_t avail;
	const uint8_t *data = headers(m, buf, &avail);
	int ret;

	if (m->ol_flags & TAPBATCH_VNET_TX_REQUESTS)
		ret = from_tx_flags(m, l3_only, frame, data, avail);
	else
		ret = from_rx_flags(m, l3_only, frame, data, avail);
	if (unlikely(ret < 0)) {
		memset(&frame->vnet, 0, sizeof(frame->vnet));
		frame->hdr_len = 0;
	}
	return ret;
}

int
tapbatch_vnet_superframe(const struct tapbatch_vnet_hdr *vnet, const uint8_t *data, uint32_t avail,
			 uint32_t frame, bool l3_only, struct tapbatch_layout *layout)
{
	uint8_t kind = vnet->gso_type & ~TAPBATCH_VNET_GSO_ECN;
	uint32_t l3, l4, payload;
	uint16_t type;
	uint8_t proto;

	if (vnet->gso_size == 0 || vnet->gso_size == UINT16_MAX || avail > frame)
		return -EINVAL;
	l3 = find_l3(data, avail, l3_only, &type);
	if (type == RTE_ETHER_TYPE_IPV4) {
		const struct rte_ipv4_hdr *ip = (const void *)(data + l3);
		uint32_t ihl;

		if (l3 + sizeof(*ip) > avail || kind == TAPBATCH_VNET_GSO_TCPV6)
			return -EINVAL;
		ihl = (ip->version_ihl & 0xf) * 4;
		if (ip->version_ihl >> 4 != 4 || ihl < sizeof(*ip))
			return -EINVAL;
		l4 = l3 + ihl;
		proto = ip->next_proto_id;
	} else if (type == RTE_ETHER_TYPE_IPV6) {
		const struct rte_ipv6_hdr *ip = (const void *)(data + l3);

		if (l3 + sizeof(*ip) > avail || kind == TAPBATCH_VNET_GSO_TCPV4 ||
		    data[l3] >> 4 != 6)
			return -EINVAL;
		proto = ip->proto;
		l4 = skip_extensions(data, avail, l3 + sizeof(*ip), &proto);
	} else {
		return -EINVAL;
	}

	switch (kind) {
	case TAPBATCH_VNET_GSO_TCPV4:
	case TAPBATCH_VNET_GSO_TCPV6: {
		const struct rte_tcp_hdr *tcp = (const void *)(data + l4);

		if (proto != IPPROTO_TCP || l4 + sizeof(*tcp) > avail)
			return -EINVAL;
		payload = l4 + (tcp->data_off >> 4) * 4;
		if (payload < l4 + sizeof(*tcp))
			return -EINVAL;
		break;
	}
	case TAPBATCH_VNET_GSO_UDP_L4:
		if (proto != IPPROTO_UDP || !(vnet->flags & TAPBATCH_VNET_F_NEEDS_CSUM) ||
		    (vnet->gso_type & TAPBATCH_VNET_GSO_ECN))
			return -EINVAL;
		payload = l4 + sizeof(struct rte_udp_hdr);
		break;
	default:
		return -EINVAL;
	}
	if (payload > avail || payload > UINT16_MAX)
		return -EINVAL;
	if ((vnet->flags & TAPBATCH_VNET_F_NEEDS_CSUM) &&
	    (vnet->csum_start != l4 || vnet->csum_offset != cksum_offset(proto)))
		return -EINVAL;

	layout->l3 = (uint16_t)l3;
	layout->l4 = (uint16_t)l4;
	layout->payload = (uint16_t)payload;
	layout->proto = proto;
	layout->ipv6 = type == RTE_ETHER_TYPE_IPV6;
	layout->l3_end = frame;
	return 0;
}

/* Writes a 16-bit field that may lie across two segments. */
static void
write_field(struct rte_mbuf *m, uint32_t offset, uint16_t field)
{
	uint8_t bytes[2];
	unsigned int i;

	memcpy(bytes, &field, sizeof(bytes));
	for (i = 0; i < 2; offset++, i++) {
		while (offset >= m->data_len) {
			offset -= m->data_len;
			m = m->next;
		}
		*rte_pktmbuf_mtod_offset(m, uint8_t *, offset) = bytes[i];
	}
}

/* Completes an open checksum in the packet: the kernel's skb_checksum_help(). */
static int
complete_cksum(struct rte_mbuf *m, uint32_t start, uint32_t offset)
{
	uint64_t sum;

	if (start + offset + 2 > m->pkt_len)
		return -EINVAL;
	sum = tapbatch_cksum_mbuf(m, start, m->pkt_len - start);
	/* 0 in this field would mean "no checksum" to UDP, and equals 0xffff to TCP. */
	write_field(m, start + offset, tapbatch_cksum_finish_udp(sum));
	return 0;
}

static uint64_t
verify_l4(const struct rte_mbuf *m, const uint8_t *data, const struct tapbatch_layout *layout)
{
	uint32_t l4_len = covered(data, layout);
	uint64_t sum;

	if (l4_len == 0)
		return RTE_MBUF_F_RX_L4_CKSUM_BAD;
	if (unlikely(is_routed(data, layout)))
		return RTE_MBUF_F_RX_L4_CKSUM_UNKNOWN;
	if (layout->proto == IPPROTO_UDP) {
		const struct rte_udp_hdr *udp = (const void *)(data + layout->l4);

		if (udp->dgram_cksum == 0)
			return layout->ipv6 ? RTE_MBUF_F_RX_L4_CKSUM_BAD :
					      RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	}
	sum = tapbatch_cksum_pseudo(data + layout->l3, layout->ipv6, layout->proto, l4_len) +
	      tapbatch_cksum_mbuf(m, layout->l4, l4_len);
	return tapbatch_cksum_fold(sum) == 0xffff ? RTE_MBUF_F_RX_L4_CKSUM_GOOD :
						    RTE_MBUF_F_RX_L4_CKSUM_BAD;
}

static uint64_t
verify_ipv4(const uint8_t *data, uint32_t avail, bool l3_only)
{
	uint16_t type;
	uint32_t l3 = find_l3(data, avail, l3_only, &type);
	uint32_t ihl;

	if (type != RTE_ETHER_TYPE_IPV4 || l3 + sizeof(struct rte_ipv4_hdr) > avail)
		return 0;
	ihl = (data[l3] & 0xf) * 4;
	if (data[l3] >> 4 != 4 || ihl < sizeof(struct rte_ipv4_hdr) || l3 + ihl > avail)
		return RTE_MBUF_F_RX_IP_CKSUM_BAD;
	return tapbatch_cksum_fold(tapbatch_cksum(data + l3, ihl)) == 0xffff ?
		       RTE_MBUF_F_RX_IP_CKSUM_GOOD :
		       RTE_MBUF_F_RX_IP_CKSUM_BAD;
}

static uint32_t
l4_ptype(uint8_t proto)
{
	switch (proto) {
	case IPPROTO_TCP:
		return RTE_PTYPE_L4_TCP;
	case IPPROTO_UDP:
		return RTE_PTYPE_L4_UDP;
	case IPPROTO_SCTP:
		return RTE_PTYPE_L4_SCTP;
	default:
		return 0;
	}
}

/* packet_type of a packet that starts with IP. */
static uint32_t
l3_ptype(const uint8_t *data, uint32_t avail)
{
	if (avail >= sizeof(struct rte_ipv4_hdr) && data[0] >> 4 == 4) {
		const struct rte_ipv4_hdr *ip = (const void *)data;
		uint32_t ptype = (data[0] & 0xf) > 5 ? RTE_PTYPE_L3_IPV4_EXT : RTE_PTYPE_L3_IPV4;

		if (ip->fragment_offset &
		    rte_cpu_to_be_16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK))
			return ptype | RTE_PTYPE_L4_FRAG;
		return ptype | l4_ptype(ip->next_proto_id);
	}
	if (avail >= sizeof(struct rte_ipv6_hdr) && data[0] >> 4 == 6) {
		const struct rte_ipv6_hdr *ip = (const void *)data;
		uint8_t proto = ip->proto;
		uint32_t l4 = skip_extensions(data, avail, sizeof(*ip), &proto);

		if (proto == IPPROTO_FRAGMENT)
			return RTE_PTYPE_L3_IPV6_EXT | RTE_PTYPE_L4_FRAG;
		return (l4 > sizeof(*ip) ? RTE_PTYPE_L3_IPV6_EXT : RTE_PTYPE_L3_IPV6) |
		       (l4 <= avail ? l4_ptype(proto) : 0);
	}
	return 0;
}

/*
 * packet_type of what is most of all traffic, without tags, options and fragments; 0 for
 * the rest. Halves what a packet costs here when only its type is wanted (3 ns, with
 * rte_net_get_ptype() 6.5 ns).
 */
#define PTYPE_LAYERS (RTE_PTYPE_L2_MASK | RTE_PTYPE_L3_MASK | RTE_PTYPE_L4_MASK)

static inline uint32_t
common_ptype(const struct rte_mbuf *m)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	const uint8_t *l3 = data + RTE_ETHER_HDR_LEN;
	uint32_t ptype;
	uint32_t l4;
	uint16_t type;
	uint8_t proto;

	if (m->data_len < RTE_ETHER_HDR_LEN + sizeof(struct rte_ipv4_hdr))
		return 0;
	memcpy(&type, data + 12, sizeof(type));
	if (type == RTE_BE16(RTE_ETHER_TYPE_IPV4)) {
		uint16_t fragment;

		memcpy(&fragment, l3 + offsetof(struct rte_ipv4_hdr, fragment_offset),
		       sizeof(fragment));
		if (l3[0] != 0x45 ||
		    fragment & RTE_BE16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK))
			return 0;
		ptype = RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4;
		proto = l3[offsetof(struct rte_ipv4_hdr, next_proto_id)];
		l4 = RTE_ETHER_HDR_LEN + sizeof(struct rte_ipv4_hdr);
	} else if (type == RTE_BE16(RTE_ETHER_TYPE_IPV6)) {
		ptype = RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV6;
		proto = l3[offsetof(struct rte_ipv6_hdr, proto)];
		l4 = RTE_ETHER_HDR_LEN + sizeof(struct rte_ipv6_hdr);
	} else {
		return 0;
	}
	if (proto == IPPROTO_TCP && m->data_len >= l4 + sizeof(struct rte_tcp_hdr))
		return ptype | RTE_PTYPE_L4_TCP;
	if (proto == IPPROTO_UDP && m->data_len >= l4 + sizeof(struct rte_udp_hdr))
		return ptype | RTE_PTYPE_L4_UDP;
	return 0;
}

uint32_t
tapbatch_vnet_ptype(const struct rte_mbuf *m, bool l3_only)
{
	uint8_t buf[TAPBATCH_VNET_MAX_HDR];
	const uint8_t *data;
	uint32_t avail;
	uint32_t ptype;

	if (!l3_only) {
		ptype = common_ptype(m);
		return ptype != 0 ? ptype : rte_net_get_ptype(m, NULL, PTYPE_LAYERS);
	}
	data = headers(m, buf, &avail);
	return l3_ptype(data, avail);
}

/* A superframe that goes to the application whole (LRO). */
static int
to_lro(const struct tapbatch_vnet_hdr *vnet, struct rte_mbuf *m, uint32_t wants,
       const uint8_t *data, uint32_t avail)
{
	bool l3_only = wants & TAPBATCH_RX_L3_ONLY;
	struct tapbatch_layout layout;
	uint64_t sum;

	if (tapbatch_vnet_superframe(vnet, data, avail, m->pkt_len, l3_only, &layout) < 0)
		return -EINVAL;
	if (!(vnet->flags & TAPBATCH_VNET_F_NEEDS_CSUM)) {
		/* As the kernel's segmentation: what is in the field does not matter then. */
		sum = tapbatch_cksum_pseudo(data + layout.l3, layout.ipv6, layout.proto,
					    m->pkt_len - layout.l4);
		write_field(m, layout.l4 + cksum_offset(layout.proto), tapbatch_cksum_fold(sum));
	}
	m->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_NONE;
	if (m->pkt_len - layout.payload > vnet->gso_size) {
		m->ol_flags |= RTE_MBUF_F_RX_LRO;
		m->tso_segsz = vnet->gso_size;
	} else if (!(wants & TAPBATCH_RX_L4_CKSUM)) {
		/* Not really a superframe, the kernel says in such a case. */
		m->ol_flags &= ~RTE_MBUF_F_RX_L4_CKSUM_MASK;
		complete_cksum(m, layout.l4, cksum_offset(layout.proto));
	}
	if (wants & TAPBATCH_RX_IPV4_CKSUM)
		m->ol_flags |= verify_ipv4(data, avail, l3_only);
	if (wants & TAPBATCH_RX_PTYPE)
		m->packet_type = tapbatch_vnet_ptype(m, l3_only);
	return 0;
}

int
tapbatch_vnet_to_mbuf_flags(const struct tapbatch_vnet_hdr *vnet, struct rte_mbuf *m,
			    uint32_t wants)
{
	bool needs_csum = vnet->flags & TAPBATCH_VNET_F_NEEDS_CSUM;
	bool l3_only = wants & TAPBATCH_RX_L3_ONLY;
	uint8_t buf[TAPBATCH_VNET_MAX_HDR];
	struct tapbatch_layout layout;
	enum tapbatch_parsed parsed = TAPBATCH_PARSED_OTHER;
	const uint8_t *data;
	uint32_t avail;

	if (vnet->gso_type != TAPBATCH_VNET_GSO_NONE) {
		data = headers(m, buf, &avail);
		return to_lro(vnet, m, wants, data, avail);
	}
	if (needs_csum &&
	    (uint32_t)vnet->csum_start + vnet->csum_offset + sizeof(uint16_t) > m->pkt_len)
		return -EINVAL;

	if (wants & (TAPBATCH_RX_L4_CKSUM | TAPBATCH_RX_IPV4_CKSUM)) {
		data = headers(m, buf, &avail);
		if (wants & TAPBATCH_RX_IPV4_CKSUM)
			m->ol_flags |= verify_ipv4(data, avail, l3_only);
		if (wants & TAPBATCH_RX_L4_CKSUM)
			parsed = parse(data, avail, m->pkt_len, l3_only, &layout);
	}
	if (wants & TAPBATCH_RX_L4_CKSUM) {
		if (needs_csum) {
			/* Left open only where everybody will look for it. */
			if (parsed == TAPBATCH_PARSED_L4 && vnet->csum_start == layout.l4 &&
			    vnet->csum_offset == cksum_offset(layout.proto) &&
			    layout.l4 + covered(data, &layout) == m->pkt_len) {
				m->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_NONE;
				needs_csum = false;
			}
		} else if (vnet->flags & TAPBATCH_VNET_F_DATA_VALID) {
			m->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_GOOD;
		} else if (parsed == TAPBATCH_PARSED_L4) {
			m->ol_flags |= verify_l4(m, data, &layout);
		}
	}
	if (needs_csum)
		complete_cksum(m, vnet->csum_start, vnet->csum_offset);
	if (wants & TAPBATCH_RX_PTYPE)
		m->packet_type = tapbatch_vnet_ptype(m, l3_only);
	return 0;
}
