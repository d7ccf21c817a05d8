/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Backward: a tap sends packets and superframes into a bridge, which floods them to the
 * port, that splits, and to a tap without offloads. Both must yield the same frames.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "property.h"

static uint8_t frame[RAWIF_MAX_FRAME], want[RAWIF_MAX_FRAME], got[RAWIF_MAX_FRAME];
static ssize_t want_len; /* of what the kernel made, and the port has not given; 0: none */

/* The next frame of the kernel's. It is there when sending has returned. */
static bool
kernel_has(struct rawif *judge)
{
	if (want_len <= 0)
		want_len = rawif_recv(judge, want, NULL, 0);
	return want_len > 0;
}

/* Makes a superframe or a packet. Returns its length. */
static size_t
make_frame(const struct property *prop, struct tapbatch_vnet_hdr *vnet)
{
	static const uint16_t sizes[] = { 1, 8, 100, 536, 1000, 1400, 1448 };
	bool tcp = chance(50);
	struct mkpkt s = {
		.ipv6 = chance(50),
		.vlans = chance(25) ? (uint8_t)(1 + chance(30)) : 0,
		.mac_low = 1,
		.proto = tcp ? IPPROTO_TCP : IPPROTO_UDP,
		.tos = (uint8_t)below(256),
		.ttl = 64,
		.frag = chance(70) ? 0x4000 : 0,
		.id = (uint16_t)below(65536),
		.host = 1,
		.sport = (uint16_t)below(65536),
		.dport = (uint16_t)below(65536),
		.seq = chance(20) ? 0xfffff000 : below(UINT32_MAX),
		.ack = below(UINT32_MAX),
		.tcp_flags = (uint8_t)(chance(50) ? 0x18 : below(256)),
		.window = (uint16_t)below(65536),
		.tcp_options = tcp ? (uint8_t)(4 * below(11)) : 0,
		.option_value = 1,
		.fill = (uint8_t)below(256),
	};
	uint16_t mss = chance(60) ? sizes[below(RTE_DIM(sizes))] : (uint16_t)(1 + below(1400));
	uint32_t most = RTE_MIN(65000u, mss * (tcp ? 400u : 120u));
	size_t l4 = 14 + 4u * s.vlans + (s.ipv6 ? 40u : 20u);
	size_t len;

	memset(vnet, 0, sizeof(*vnet));
	if (chance(20) || (!tcp && !prop->uso)) {
		s.payload = (uint16_t)below(mss);
		len = mkpkt(&s, frame);
		if (chance(50))
			return len;
	} else {
		s.payload = (uint16_t)(1 + below(chance(30) ? most : RTE_MIN(most, mss * 8u)));
		len = mkpkt(&s, frame);
		vnet->gso_type = !tcp ? TAPBATCH_VNET_GSO_UDP_L4 :
				 s.ipv6 ? TAPBATCH_VNET_GSO_TCPV6 :
					  TAPBATCH_VNET_GSO_TCPV4;
		if (tcp && (s.tcp_flags & 0x80) != 0)
			vnet->gso_type |= TAPBATCH_VNET_GSO_ECN;
		vnet->gso_size = mss;
		vnet->hdr_len = (uint16_t)(l4 + (tcp ? 20u + s.tcp_options : 8));
	}
	vnet->flags = TAPBATCH_VNET_F_NEEDS_CSUM;
	vnet->csum_start = (uint16_t)l4;
	vnet->csum_offset = tcp ? 16 : 6;
	mk16(frame + l4 + vnet->csum_offset,
	     mkpseudo(frame + l4 - (s.ipv6 ? 40 : 20), s.proto, (uint32_t)(len - l4)));
	return len;
}

/* Sometimes the mempool is nearly empty. */
static unsigned int
hold_mbufs(struct rte_mempool *pool, struct rte_mbuf **held, unsigned int n)
{
	unsigned int left = rte_mempool_avail_count(pool);

	n = left > n ? left - n : 0;
	return n > 0 && rte_pktmbuf_alloc_bulk(pool, held, n) == 0 ? n : 0;
}

static int
judge_mbuf(struct rawif *judge, struct rte_mbuf *m, uint64_t *zero_sums)
{
	size_t got_len = mkbytes(m, got);
	ssize_t len;

	if (!kernel_has(judge)) {
		printf("the port gives more packets than the kernel\n");
		print_bytes("got", got, got_len);
		return -1;
	}
	len = want_len;
	want_len = 0;
	if ((m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_NONE)
		mkrepair(got, got_len, false);
	if (got_len == (size_t)len && memcmp(got, want, got_len) == 0)
		return 0;
	if (got_len == (size_t)len) {
		/* A TCP sum of 0: skb_checksum_help() writes 0xffff. */
		uint8_t *l3 = got + mkl3(got, got_len, false);
		uint8_t *l4 = l3 + (l3[0] >> 4 == 6 ? 40 : 20);

		if (l3[l3[0] >> 4 == 6 ? 6 : 9] == IPPROTO_TCP && mkget16(l4 + 16) % 0xffff == 0) {
			memcpy(l4 + 16, want + (l4 + 16 - got), 2);
			if (memcmp(got, want, got_len) == 0 && mkget16(l4 + 16) % 0xffff == 0) {
				(*zero_sums)++;
				return 0;
			}
		}
	}
	printf("expected and got differ\n");
	print_bytes("expected", want, (size_t)len);
	print_bytes("got     ", got, got_len);
	return -1;
}

int
backward(const struct property *prop, struct rawif *sender, struct rawif *judge)
{
	static struct rte_mbuf *held[8192];
	uint64_t packets = 0, zero_sums = 0;
	struct rte_mbuf *pkts[64];
	uint64_t index;

	for (index = prop->first; packets < prop->packets; index++) {
		unsigned int frames, nb_held = 0, idle = 0, i;
		uint16_t burst;
		int bad = 0;

		seed_burst(prop->seed, index);
		frames = 1 + below(8);
		burst = (uint16_t)(chance(50) ? 64 : 1 + below(64));
		if (chance(10))
			nb_held = hold_mbufs(prop->pool, held, 1 + below(64));
		for (i = 0; i < frames && bad == 0; i++) {
			struct tapbatch_vnet_hdr vnet;
			size_t len = make_frame(prop, &vnet);

			bad = rawif_send(sender, frame, len, &vnet);
			if (bad != 0) {
				printf("the kernel refuses the frame: %d\n", bad);
				print_bytes("frame", frame, len);
			}
		}
		while (bad == 0) {
			uint16_t n = rte_eth_rx_burst(prop->port, 0, pkts, burst);

			for (i = 0; i < n && bad == 0; i++)
				bad = judge_mbuf(judge, pkts[i], &zero_sums);
			rte_pktmbuf_free_bulk(pkts, n);
			packets += n;
			idle = n > 0 ? 0 : idle + 1;
			if (idle == 0)
				continue;
			/* A thread of the kernel's may have to bring it. */
			if (idle > 10000)
				usleep(1000);
			if (nb_held > 0) {
				rte_pktmbuf_free(held[--nb_held]);
			} else if (!kernel_has(judge)) {
				break;
			} else if (idle > 12000) {
				printf("the port gives fewer packets than the kernel\n");
				print_bytes("expected", want, (size_t)want_len);
				bad = -1;
			}
		}
		rte_pktmbuf_free_bulk(held, nb_held);
		if (bad != 0) {
			printf("seed %" PRIu64 ", burst %" PRIu64 "\n", prop->seed, index);
			return bad;
		}
	}
	printf("packets %" PRIu64 " bursts %" PRIu64 " zero_sums %" PRIu64 "\n", packets,
	       index - prop->first, zero_sums);
	if (xstat(prop, "rx_q0_split_packets") < packets / 2) {
		printf("too few were split for this to mean much\n");
		return -1;
	}
	return 0;
}
