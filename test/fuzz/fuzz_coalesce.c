/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Fuzzes the coalescer: any bytes in any mbuf layout, with the oracle of the unit
 * tests as judge. The input is a program that builds a batch: packets of raw bytes,
 * or earlier ones copied, changed in some bytes, moved on in their flow, and given
 * right checksums, so that the interesting cases are within reach of mutation.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/gso_oracle.h"

struct input {
	const uint8_t *p;
	size_t left;
};

static uint8_t
get8(struct input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->p++;
}

static uint16_t
get16(struct input *in)
{
	uint16_t high = get8(in);

	return (uint16_t)(high << 8 | get8(in));
}

/* Steps of a packet's program. */
#define STEP_RAW 0x01      /* bytes from the input, else a copy or a new one */
#define STEP_COPY 0x02     /* of an earlier packet */
#define STEP_PATCH 0x04    /* a few bytes changed */
#define STEP_ADVANCE 0x08  /* IPv4 id and TCP sequence number of the next in the flow */
#define STEP_CKSUM 0x10    /* right checksums */
#define STEP_CUT 0x20      /* several segments */
#define STEP_FLAGS 0x40    /* mbuf flags */
#define STEP_RESIZE 0x80   /* another payload length, IP and UDP lengths with it */

/* Moves a packet on, sets lengths and checksums; as far as its bytes make sense. */
static void
repair(uint8_t *p, size_t len, bool l3_only, uint8_t step)
{
	int l3 = mkl3(p, len, l3_only);
	size_t ip = (size_t)l3;
	size_t l4;
	uint8_t proto;

	if (l3 < 0 || len < ip + 20)
		return;
	if (p[ip] >> 4 == 4) {
		l4 = ip + (p[ip] & 15) * 4u;
		proto = p[ip + 9];
	} else if (p[ip] >> 4 == 6 && len >= ip + 40) {
		l4 = ip + 40;
		proto = p[ip + 6];
	} else {
		return;
	}
	if (l4 < ip + 20 || len < l4)
		return;
	if (step & STEP_RESIZE) {
		if (p[ip] >> 4 == 4)
			mk16(p + ip + 2, (uint16_t)(len - ip));
		else
			mk16(p + ip + 4, (uint16_t)(len - l4));
		if (proto == IPPROTO_UDP && len >= l4 + 8)
			mk16(p + l4 + 4, (uint16_t)(len - l4));
	}
	if (step & STEP_ADVANCE) {
		if (p[ip] >> 4 == 4)
			mk16(p + ip + 4, (uint16_t)(mkget16(p + ip + 4) + 1));
		if (proto == IPPROTO_TCP && len >= l4 + 20) {
			size_t hdr = (p[l4 + 12] >> 4) * 4u;

			mk32(p + l4 + 4, mkget32(p + l4 + 4) + (uint32_t)(len - l4 - hdr));
		}
	}
	if (step & STEP_CKSUM) {
		if (p[ip] >> 4 == 4)
			mk16(p + ip + 10, mkip_cksum(p + ip));
		if ((proto == IPPROTO_TCP && len >= l4 + 20) ||
		    (proto == IPPROTO_UDP && len >= l4 + 8))
			mk16(p + l4 + (proto == IPPROTO_TCP ? 16 : 6),
			     mkl4_cksum(p + ip, p + l4, proto, (uint32_t)(len - l4)));
	}
}

static const uint64_t mbuf_flags[] = {
	RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_IPV4,
	RTE_MBUF_F_TX_TCP_CKSUM,
	RTE_MBUF_F_TX_UDP_CKSUM,
	RTE_MBUF_F_RX_L4_CKSUM_NONE,
	RTE_MBUF_F_RX_L4_CKSUM_GOOD | RTE_MBUF_F_RX_IP_CKSUM_GOOD,
	RTE_MBUF_F_TX_TCP_SEG,
	RTE_MBUF_F_RX_LRO,
	RTE_MBUF_F_TX_VLAN,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t bytes[TAPBATCH_MAX_BATCH][2048];
	static size_t lens[TAPBATCH_MAX_BATCH];
	static uint8_t check[2048];
	struct rte_mbuf *pkts[TAPBATCH_MAX_BATCH];
	struct rte_mbuf before[TAPBATCH_MAX_BATCH];
	struct tapbatch_coalesce c = { 0 };
	struct input in = { data, size };
	uint8_t mode = get8(&in);
	unsigned int n = 0;
	unsigned int i;
	uint64_t counted;
	const char *why;

	c.kinds = mode & 0x10 ? mode & 0xf : 0xf;
	c.l3_only = mode & 0x20;
	/* Exactly as many as there are packets, so that one too many is seen. */
	while (in.left > 0 && n < TAPBATCH_MAX_BATCH) {
		uint8_t step = get8(&in);
		uint16_t cuts[130];
		unsigned int nb_cuts = 0;
		uint64_t flags = 0;
		uint8_t *p = bytes[n];
		size_t len;

		if (step & STEP_RAW) {
			len = get16(&in) % 1600;
			if (len > in.left)
				len = in.left;
			memcpy(p, in.p, len);
			in.p += len;
			in.left -= len;
		} else if ((step & STEP_COPY) && n > 0) {
			unsigned int from = n - 1 - get8(&in) % n;

			len = lens[from];
			memcpy(p, bytes[from], len);
		} else {
			uint8_t kind = get8(&in);
			struct mkpkt s = {
				.l3_only = c.l3_only, .ipv6 = kind & 1, .vlans = kind >> 2 & 3,
				.proto = kind & 2 ? IPPROTO_TCP : IPPROTO_UDP, .ttl = 64,
				.frag = kind & 0x10 ? 0x4000 : 0, .tcp_flags = 0x10,
				.tcp_options = kind & 0x20 ? 12 : 0, .sport = kind >> 6,
				.dport = 9, .payload = get8(&in), .id = 0xfffe,
				.seq = 0xffffff00, .window = 500,
			};

			len = mkpkt(&s, p);
		}
		if (step & STEP_RESIZE) {
			size_t want = get16(&in) % 1700;

			if (want > len)
				memset(p + len, 0xa5, want - len);
			len = want;
		}
		if (step & STEP_PATCH) {
			uint8_t patches = get8(&in) & 7;

			while (patches-- > 0) {
				size_t at = get8(&in);
				uint8_t value = get8(&in);

				if (at < len)
					p[at] = value;
			}
		}
		repair(p, len, c.l3_only, step);
		if (step & STEP_FLAGS) {
			uint8_t pick = get8(&in);

			for (i = 0; i < 8; i++)
				if (pick >> i & 1)
					flags |= mbuf_flags[i];
		}
		if (step & STEP_CUT) {
			uint8_t way = get8(&in);
			uint16_t at = get8(&in);

			nb_cuts = way % RTE_DIM(cuts);
			for (i = 0; i < nb_cuts; i++) {
				cuts[i] = at;
				at = (uint16_t)(at + (way & 0x80 ? get8(&in) : 1));
			}
		}
		lens[n] = len;
		pkts[n] = mkmbuf(p, len, cuts, nb_cuts);
		pkts[n]->ol_flags = flags;
		before[n] = *pkts[n];
		n++;
	}
	c.frames = malloc((n + !n) * sizeof(*c.frames));
	memset(c.frames, 0xdb, (n + !n) * sizeof(*c.frames));

	tapbatch_coalesce_batch(&c, pkts, (uint16_t)n);
	why = oracle_judge(&c, pkts, n);

	counted = c.coalesced;
	for (i = 0; i < TAPBATCH_NB_UNMERGED; i++)
		counted += c.unmerged[i];
	if (why == NULL && counted != n)
		why = oracle_fail("packets counted", n, (long)counted);
	for (i = 0; i < n && why == NULL; i++)
		if (memcmp(&before[i], pkts[i], sizeof(before[i])) != 0 ||
		    mkbytes(pkts[i], check) != lens[i] ||
		    memcmp(check, bytes[i], lens[i]) != 0)
			why = "an mbuf was changed";
	if (why != NULL) {
		fprintf(stderr, "%s\n", why);
		abort();
	}
	for (i = 0; i < n; i++)
		mkfree(pkts[i]);
	free(c.frames);
	return 0;
}
