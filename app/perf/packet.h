/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The packets that are sent and checked: IPv4 with UDP or TCP, all checksums
 * right, and a tag of eight bytes at the start of the payload that says run, flow
 * and number. Made from a template by a few stores, so that the generator costs
 * little beside what it measures.
 */

#ifndef PERF_PACKET_H
#define PERF_PACKET_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>

#include "job.h"

#define PACKET_MIN_SIZE 62 /* Ethernet, IPv4, TCP and the tag */
#define PACKET_MAX_SIZE 9018
#define PACKET_TEMPLATE 64 /* bytes that are copied for each packet */

#define PACKET_SRC_MAC "02:74:62:00:00:01"
#define PACKET_DST_MAC "02:74:62:00:00:02"
#define PACKET_SRC_IP RTE_IPV4(198, 18, 0, 1) /* RFC 2544's addresses for benchmarks */
#define PACKET_DST_IP RTE_IPV4(198, 18, 0, 2)
#define PACKET_SRC_PORT 20000 /* plus the flow */
#define PACKET_DST_PORT 9

struct packet_template {
	uint8_t head[PACKET_TEMPLATE] __rte_aligned(16);
	uint16_t size;
	uint32_t sum; /* of the L4 checksum: pseudo header, and all that never changes */
};

struct generator {
	struct packet_template template[JOB_MAX_SIZES];
	uint8_t cycle[32]; /* template of each packet of a cycle of sizes */
	uint8_t nb_cycle;
	uint8_t at; /* place in the cycle */
	bool tcp;
	uint16_t tag; /* offset of the tag */
	uint16_t mark;
	uint32_t flow; /* of the next packet, from first to end */
	uint32_t first, end;
	uint32_t number;  /* of the next packet, within its flow */
	uint32_t tcp_seq; /* its sequence number */
	uint16_t max_size;
};

struct checker {
	uint16_t tag;
	uint16_t mark;
	uint16_t size; /* of every packet, 0: they differ */
	uint32_t flows;
	uint64_t late;
	uint64_t misfit;
	uint64_t foreign;
	uint32_t next[JOB_MAX_FLOWS];
};

/* Fills a buffer of max_size bytes with the payload that all packets share. */
void packet_fill(uint8_t *data, uint16_t max_size);

/* @return NULL, or why such traffic cannot be made */
const char *generator_init(struct generator *g, const struct traffic *t);

/* Takes the i-th of n shares of the flows; none may be empty. */
void generator_share(struct generator *g, uint32_t i, uint32_t n);

void checker_init(struct checker *c, const struct traffic *t);

/*
 * Writes a superframe for the kernel to cut: headers once, payload of all
 * segments, tags in each. data has room for 64 KiB. The L4 checksum is left open,
 * as the virtio header's NEEDS_CSUM says.
 *
 * @return its length in bytes
 */
uint32_t generator_superframe(struct generator *g, uint8_t *data, uint16_t segments);

/* Length of the headers, Ethernet to L4. */
static inline uint16_t
traffic_header(const struct traffic *t)
{
	return (uint16_t)(RTE_ETHER_HDR_LEN + sizeof(struct rte_ipv4_hdr) +
			  (t->tcp ? sizeof(struct rte_tcp_hdr) : sizeof(struct rte_udp_hdr)));
}

static inline uint64_t
packet_tag(uint16_t mark, uint32_t flow, uint32_t number)
{
	return (uint64_t)mark << 48 | (uint64_t)(flow & 0xffff) << 32 | number;
}

/* Goes on to the next packet's flow and number. */
static inline void
generator_advance(struct generator *g, uint16_t payload)
{
	if (++g->flow == g->end) {
		g->flow = g->first;
		g->number++;
		g->tcp_seq += payload;
	}
}

/*
 * Makes the next packet in a buffer that packet_fill() has seen.
 *
 * @return its length in bytes
 */
static inline uint16_t
generator_next(struct generator *g, uint8_t *data)
{
	const struct packet_template *t = &g->template[g->cycle[g->at]];
	uint32_t sum = t->sum;
	uint16_t port;

	if (++g->at == g->nb_cycle)
		g->at = 0;
	memcpy(data, t->head, PACKET_TEMPLATE);
	port = (uint16_t)(PACKET_SRC_PORT + g->flow);
	sum += port + (g->flow & 0xffff) + (g->number >> 16) + (g->number & 0xffff);
	*(unaligned_uint16_t *)(data + 34) = rte_cpu_to_be_16(port);
	*(unaligned_uint64_t *)(data +
				g->tag) = rte_cpu_to_be_64(packet_tag(g->mark, g->flow, g->number));
	if (g->tcp) {
		*(unaligned_uint32_t *)(data + 38) = rte_cpu_to_be_32(g->tcp_seq);
		sum += (g->tcp_seq >> 16) + (g->tcp_seq & 0xffff);
	}
	sum = (sum >> 16) + (sum & 0xffff);
	sum += sum >> 16;
	sum = ~sum & 0xffff;
	if (g->tcp)
		*(unaligned_uint16_t *)(data + 50) = rte_cpu_to_be_16((uint16_t)sum);
	else
		*(unaligned_uint16_t *)(data +
					40) = rte_cpu_to_be_16((uint16_t)(sum == 0 ? 0xffff : sum));
	generator_advance(g, (uint16_t)(t->size - g->tag));
	return t->size;
}

/*
 * Takes note of a tag.
 *
 * @return true if the packet is ours
 */
static inline bool
checker_tag(struct checker *c, uint64_t tag, uint32_t len)
{
	uint32_t flow = (tag >> 32) & 0xffff;
	uint32_t number = (uint32_t)tag;

	if (unlikely(tag >> 48 != c->mark)) {
		c->foreign++;
		return false;
	}
	if (unlikely(flow >= c->flows || (c->size != 0 && len != c->size))) {
		c->misfit++;
		return false;
	}
	if (unlikely(number < c->next[flow])) {
		c->late++;
		return true;
	}
	c->next[flow] = number + 1;
	return true;
}

/* The same from a packet's first bytes; avail of them may be read. */
static inline bool
checker_packet(struct checker *c, const uint8_t *data, uint32_t avail, uint32_t len)
{
	if (unlikely(avail < (uint32_t)c->tag + 8)) {
		c->foreign++;
		return false;
	}
	return checker_tag(c, rte_be_to_cpu_64(*(const unaligned_uint64_t *)(data + c->tag)), len);
}

#endif /* PERF_PACKET_H */
