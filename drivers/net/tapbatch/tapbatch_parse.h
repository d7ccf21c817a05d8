/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Where the headers of a frame lie: Ethernet, VLAN tags, IP, TCP or UDP. Pure:
 * bytes in, offsets out, nothing read beyond what the caller says is there.
 */

#ifndef TAPBATCH_PARSE_H
#define TAPBATCH_PARSE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

/* 802.1Q and 802.1ad tags that are looked through. */
#define TAPBATCH_MAX_VLANS 2

/* Most bytes of headers that a frame we segment, or merge into, may have:
 * Ethernet 14 + 2 VLAN tags + IPv4 with options 60 + TCP with options 60.
 */
#define TAPBATCH_MAX_HDR (14 + 4 * TAPBATCH_MAX_VLANS + 60 + 60)

enum tapbatch_parsed {
	TAPBATCH_PARSED_L4,        /* TCP or UDP: every field of the layout is set */
	TAPBATCH_PARSED_OTHER,     /* not IP, or an IP protocol that is neither */
	TAPBATCH_PARSED_FRAGMENT,  /* of IPv4 or IPv6: ports may not be there */
	TAPBATCH_PARSED_EXTENSION, /* IPv6 with extension headers (not looked through) */
	TAPBATCH_PARSED_MALFORMED, /* headers cut short, or lengths that contradict */
};

struct tapbatch_layout {
	uint16_t l3;      /* offset of the IP header, 0 on a tun port */
	uint16_t l4;      /* offset of the TCP or UDP header */
	uint16_t payload; /* offset of the first byte behind that */
	uint8_t proto;    /* IPPROTO_TCP or IPPROTO_UDP */
	bool ipv6;
	uint32_t l3_end; /* offset where the IP packet ends, from its own length */
};

/*
 * Finds the headers of a frame.
 *
 * @param data     first byte of the frame (of the IP header if l3_only)
 * @param avail    bytes that may be read at data, contiguous
 * @param frame    bytes of the whole frame, avail or more
 * @param l3_only  the frame starts with IP (tun)
 * @param layout   set completely for TAPBATCH_PARSED_L4, else undefined
 *
 * An IPv4 header with options is L4: payload and l4 account for them. Checksums
 * are not looked at. l3_end is at most frame; less means padding. A superframe
 * whose IP length field is 0 (longer than it can say) is malformed here.
 */
static inline enum tapbatch_parsed
tapbatch_parse(const uint8_t *data, uint32_t avail, uint32_t frame, bool l3_only,
	       struct tapbatch_layout *layout)
{
	uint32_t l3 = 0;
	uint32_t l4;
	uint32_t l3_end;
	uint32_t l4_len;
	uint16_t type;

	if (l3_only) {
		if (avail < 1)
			return TAPBATCH_PARSED_MALFORMED;
		type = (data[0] >> 4) == 4 ? RTE_ETHER_TYPE_IPV4 :
		       (data[0] >> 4) == 6 ? RTE_ETHER_TYPE_IPV6 :
					     0;
	} else {
		unsigned int tags = 0;

		if (avail < RTE_ETHER_HDR_LEN)
			return TAPBATCH_PARSED_MALFORMED;
		type = (uint16_t)(data[12] << 8 | data[13]);
		l3 = RTE_ETHER_HDR_LEN;
		while (type == RTE_ETHER_TYPE_VLAN || type == RTE_ETHER_TYPE_QINQ) {
			if (++tags > TAPBATCH_MAX_VLANS)
				return TAPBATCH_PARSED_OTHER;
			if (avail < l3 + 4)
				return TAPBATCH_PARSED_MALFORMED;
			type = (uint16_t)(data[l3 + 2] << 8 | data[l3 + 3]);
			l3 += 4;
		}
	}

	if (type == RTE_ETHER_TYPE_IPV4) {
		const struct rte_ipv4_hdr *ip = (const void *)(data + l3);
		uint32_t ihl;

		if (avail < l3 + sizeof(*ip))
			return TAPBATCH_PARSED_MALFORMED;
		ihl = (ip->version_ihl & 0xf) * 4;
		l3_end = l3 + rte_be_to_cpu_16(ip->total_length);
		l4 = l3 + ihl;
		if (ip->version_ihl >> 4 != 4 || ihl < sizeof(*ip) || l4 > l3_end || l4 > avail)
			return TAPBATCH_PARSED_MALFORMED;
		if (ip->fragment_offset &
		    rte_cpu_to_be_16(RTE_IPV4_HDR_MF_FLAG | RTE_IPV4_HDR_OFFSET_MASK))
			return TAPBATCH_PARSED_FRAGMENT;
		layout->proto = ip->next_proto_id;
		layout->ipv6 = false;
	} else if (type == RTE_ETHER_TYPE_IPV6) {
		const struct rte_ipv6_hdr *ip = (const void *)(data + l3);

		if (avail < l3 + sizeof(*ip) || data[l3] >> 4 != 6)
			return TAPBATCH_PARSED_MALFORMED;
		l4 = l3 + sizeof(*ip);
		l3_end = l4 + rte_be_to_cpu_16(ip->payload_len);
		layout->proto = ip->proto;
		layout->ipv6 = true;
	} else {
		return TAPBATCH_PARSED_OTHER;
	}
	if (l3_end > frame)
		return TAPBATCH_PARSED_MALFORMED;

	switch (layout->proto) {
	case IPPROTO_TCP: {
		const struct rte_tcp_hdr *tcp = (const void *)(data + l4);

		if (avail < l4 + sizeof(*tcp))
			return TAPBATCH_PARSED_MALFORMED;
		l4_len = (tcp->data_off >> 4) * 4;
		if (l4_len < sizeof(*tcp))
			return TAPBATCH_PARSED_MALFORMED;
		break;
	}
	case IPPROTO_UDP:
		l4_len = sizeof(struct rte_udp_hdr);
		break;
	case IPPROTO_FRAGMENT:
		return layout->ipv6 ? TAPBATCH_PARSED_FRAGMENT : TAPBATCH_PARSED_OTHER;
	case IPPROTO_HOPOPTS:
	case IPPROTO_ROUTING:
	case IPPROTO_DSTOPTS:
		return layout->ipv6 ? TAPBATCH_PARSED_EXTENSION : TAPBATCH_PARSED_OTHER;
	default:
		return TAPBATCH_PARSED_OTHER;
	}
	if (l4 + l4_len > l3_end || l4 + l4_len > avail)
		return TAPBATCH_PARSED_MALFORMED;

	layout->l3 = (uint16_t)l3;
	layout->l4 = (uint16_t)l4;
	layout->payload = (uint16_t)(l4 + l4_len);
	layout->l3_end = l3_end;
	return TAPBATCH_PARSED_L4;
}

#endif /* TAPBATCH_PARSE_H */
