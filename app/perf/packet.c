/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Templates of the packets that are sent, and the superframes that are written
 * by hand. The part that runs for each packet is in the header.
 */

#include <stdio.h>

#include "packet.h"

/* Headers and payload, whole: what the template's constant sum is taken from. */
struct whole {
	struct rte_ether_hdr eth;
	struct rte_ipv4_hdr ip;
	uint8_t rest[PACKET_MAX_SIZE];
} __rte_packed __rte_aligned(2);

static uint8_t
filler(uint32_t offset)
{
	return (uint8_t)(offset * 31 + 7);
}

void
packet_fill(uint8_t *data, uint16_t max_size)
{
	for (uint32_t i = 0; i < max_size; i++)
		data[i] = filler(i);
}

static uint32_t
sum16(const uint8_t *data, uint32_t len)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i + 1 < len; i += 2)
		sum += (uint32_t)data[i] << 8 | data[i + 1];
	if (len & 1)
		sum += (uint32_t)data[len - 1] << 8;
	return sum;
}

static void
headers(struct whole *p, const struct traffic *t, uint16_t size)
{
	uint16_t l3_len = (uint16_t)(size - sizeof(p->eth));
	uint16_t l4_len = (uint16_t)(l3_len - sizeof(p->ip));

	rte_ether_unformat_addr(PACKET_DST_MAC, &p->eth.dst_addr);
	rte_ether_unformat_addr(PACKET_SRC_MAC, &p->eth.src_addr);
	p->eth.ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
	p->ip = (struct rte_ipv4_hdr){
		.version_ihl = RTE_IPV4_VHL_DEF,
		.total_length = rte_cpu_to_be_16(l3_len),
		.fragment_offset = RTE_BE16(RTE_IPV4_HDR_DF_FLAG),
		.time_to_live = 64,
		.next_proto_id = t->tcp ? IPPROTO_TCP : IPPROTO_UDP,
		.src_addr = RTE_BE32(PACKET_SRC_IP),
		.dst_addr = RTE_BE32(PACKET_DST_IP),
	};
	p->ip.hdr_checksum = rte_ipv4_cksum(&p->ip);
	if (t->tcp) {
		struct rte_tcp_hdr tcp = {
			.dst_port = RTE_BE16(PACKET_DST_PORT),
			.recv_ack = RTE_BE32(1),
			.data_off = sizeof(tcp) / 4 << 4,
			.tcp_flags = RTE_TCP_ACK_FLAG,
			.rx_win = RTE_BE16(0xffff),
		};

		memcpy(p->rest, &tcp, sizeof(tcp));
	} else {
		struct rte_udp_hdr udp = {
			.dst_port = RTE_BE16(PACKET_DST_PORT),
			.dgram_len = rte_cpu_to_be_16(l4_len),
		};

		memcpy(p->rest, &udp, sizeof(udp));
	}
}

static void
template_init(struct packet_template *template, const struct traffic *t, uint16_t size)
{
	static struct whole p;
	uint16_t tag = traffic_header(t);
	uint16_t l4_len = (uint16_t)(size - sizeof(p.eth) - sizeof(p.ip));
	uint32_t sum;

	packet_fill((uint8_t *)&p, size);
	headers(&p, t, size);
	memset((uint8_t *)&p + tag, 0, 8);
	*(unaligned_uint16_t *)((uint8_t *)&p + tag) = rte_cpu_to_be_16(t->mark);
	sum = sum16((const uint8_t *)&p.ip.src_addr, 8) + p.ip.next_proto_id + l4_len;
	sum += sum16(p.rest, l4_len);
	while (sum >> 16)
		sum = (sum >> 16) + (sum & 0xffff);
	template->sum = sum;
	template->size = size;
	memcpy(template->head, &p, sizeof(template->head));
}

const char *
generator_init(struct generator *g, const struct traffic *t)
{
	*g = (struct generator){
		.tcp = t->tcp,
		.tag = traffic_header(t),
		.mark = t->mark,
		.end = t->flows,
		.tcp_seq = 1,
	};
	if (t->flows == 0 || t->flows > JOB_MAX_FLOWS)
		return "number of flows out of range";
	for (int i = 0; i < t->nb_sizes; i++) {
		if (t->size[i] < PACKET_TEMPLATE || t->size[i] > PACKET_MAX_SIZE)
			return "packet size out of range";
		template_init(&g->template[i], t, t -> size[i]);
		g->max_size = RTE_MAX(g->max_size, t->size[i]);
	}
	/* Sizes are mixed, not sent in blocks: the largest share goes round most often. */
	for (int round = 0; g->nb_cycle < sizeof(g->cycle); round++) {
		bool any = false;

		for (int i = 0; i < t->nb_sizes; i++) {
			if (round < t->share[i] && g->nb_cycle < sizeof(g->cycle)) {
				g->cycle[g->nb_cycle++] = (uint8_t)i;
				any = true;
			}
		}
		if (!any)
			break;
	}
	return g->nb_cycle == 0 ? "no packet sizes" : NULL;
}

void
generator_share(struct generator *g, uint32_t i, uint32_t n)
{
	uint32_t flows = g->end;

	g->first = flows * i / n;
	g->end = flows * (i + 1) / n;
	g->flow = g->first;
}

void
checker_init(struct checker *c, const struct traffic *t)
{
	*c = (struct checker){
		.tag = traffic_header(t),
		.mark = t->mark,
		.size = t->nb_sizes == 1 ? t->size[0] : 0,
		.flows = t->flows,
	};
}

uint32_t
generator_superframe(struct generator *g, uint8_t *data, uint16_t segments)
{
	const struct packet_template *t = &g->template[0];
	uint16_t payload = (uint16_t)(t->size - g->tag);
	uint32_t len = g->tag + (uint32_t)segments * payload;
	uint32_t sum;

	memcpy(data, t->head, PACKET_TEMPLATE);
	*(unaligned_uint16_t *)(data +
				34) = rte_cpu_to_be_16((uint16_t)(PACKET_SRC_PORT + g->flow));
	if (g->tcp)
		*(unaligned_uint32_t *)(data + 38) = rte_cpu_to_be_32(g->tcp_seq);
	else
		*(unaligned_uint16_t *)(data + 38) = rte_cpu_to_be_16((uint16_t)(len - 34));
	*(unaligned_uint16_t *)(data + 16) = rte_cpu_to_be_16((uint16_t)(len - 14));
	*(unaligned_uint16_t *)(data + 24) = 0;
	*(unaligned_uint16_t *)(data + 24) = rte_ipv4_cksum((const void *)(data + 14));
	/* CHECKSUM_PARTIAL: the field holds the sum of the pseudo header. */
	sum = sum16(data + 26, 8) + data[23] + (len - 34);
	while (sum >> 16)
		sum = (sum >> 16) + (sum & 0xffff);
	*(unaligned_uint16_t *)(data + (g->tcp ? 50 : 40)) = rte_cpu_to_be_16((uint16_t)sum);
	for (uint32_t i = 0; i < segments; i++)
		*(unaligned_uint64_t *)(data + g->tag + i * payload) = rte_cpu_to_be_64(
			packet_tag(g->mark, g->flow, g->number + i));
	/* A whole superframe belongs to one flow: numbers go on within it. */
	g->number += segments;
	g->tcp_seq += segments * payload;
	return len;
}
