/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Forward: bursts of packets, from bulk flows to near misses of every rule of merging,
 * go out through the port. What comes out of a tap behind a bridge, segmented by the
 * kernel, must be the packets that were sent, per flow in order, byte for byte. But for
 * the id of atomic IPv4 datagrams (DF, no fragment), which has no meaning (RFC 6864).
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_tcp.h>

#include "property.h"

#define MAX_BURST 64
#define MAX_FLOWS 12
/* Packets that may be of any flow, or of none, have each an order of their own. */
#define STRAYS 32
#define MAX_LEN 1600

struct flow {
	struct mkpkt spec;
	bool counts_id;   /* IPv4 id counts up; else it stays */
	uint16_t payload; /* of its packets, but the odd one */
	unsigned int next; /* packets compared, in order of the burst */
};

struct sent {
	uint8_t flow;
	bool open;         /* checksums were left to offloads */
	uint8_t mutation;
	size_t len;
	uint8_t bytes[MAX_LEN]; /* as they should come */
};

static struct flow flows[STRAYS + MAX_BURST];
static struct sent burst[MAX_BURST];
static unsigned int nb_flows, nb_sent;
static bool tagged; /* flows of this burst have addresses of their own */

static void
make_flow(struct flow *f, unsigned int index)
{
	static const uint8_t options[] = { 0, 0, 12, 12, 4, 20, 40 };
	static const uint16_t sizes[] = { 1, 2, 17, 18, 64, 100, 536, 1000, 1400, 1401 };

	memset(f, 0, sizeof(*f));
	f->spec = (struct mkpkt){
		.ipv6 = chance(50),
		.vlans = chance(25) ? (uint8_t)(1 + chance(30)) : 0,
		.vlan_low = (uint8_t)below(3),
		.mac_low = 1,
		.proto = chance(50) ? IPPROTO_TCP : IPPROTO_UDP,
		.tos = chance(70) ? 0 : (uint8_t)below(256),
		.ttl = chance(80) ? 64 : (uint8_t)below(256),
		.frag = chance(70) ? 0x4000 : 0,
		.id = (uint16_t)(chance(20) ? 0xfff0 : below(65536)),
		/* Flows of one burst may share all but a port, or even that. */
		.host = (uint8_t)(1 + below(2)),
		.sport = (uint16_t)(1000 + index),
		.dport = (uint16_t)(chance(50) ? 53 : below(65536)),
		.seq = chance(20) ? 0xffffff00 : below(UINT32_MAX),
		.ack = below(UINT32_MAX),
		.tcp_flags = chance(90) ? 0x10 : (uint8_t)below(256),
		.window = (uint16_t)below(65536),
		.fill = (uint8_t)below(256),
	};
	if (f->spec.proto == IPPROTO_TCP)
		f->spec.tcp_options = options[below(RTE_DIM(options))];
	f->spec.option_value = (uint8_t)below(256);
	f->counts_id = chance(70);
	f->payload = sizes[below(RTE_DIM(sizes))];
	if (chance(20))
		f->payload = (uint16_t)(1 + below(1400));
}

static size_t
l3_of(const struct mkpkt *s)
{
	return 14 + 4u * s->vlans;
}

static size_t
l4_of(const struct mkpkt *s)
{
	return l3_of(s) + (s->ipv6 ? 40 : 20u + s->ip_options);
}

/* Changes a description: a packet that others may not be merged with, or only so. */
static void
mutate_spec(struct mkpkt *s, uint8_t mutation)
{
	switch (mutation) {
	case 1: s->payload = (uint16_t)(s->payload / 2); break;
	case 2: s->payload = (uint16_t)(s->payload + 1); break;
	case 3: s->payload = 0; break;
	case 4: s->ttl++; break;
	case 5: s->tos ^= (uint8_t)(1 << below(8)); break;
	case 6: s->seq += 1 + below(3); break;
	case 7: s->seq--; break;
	case 8: s->ack++; break;
	case 9: s->window++; break;
	case 10: s->tcp_flags ^= 0x08; break; /* PSH */
	case 11: s->tcp_flags ^= 0x01; break; /* FIN */
	case 12: s->tcp_flags ^= (uint8_t)(1 << below(8)); break;
	case 13: s->urgent = 1; break;
	case 14: s->option_value++; break;
	case 15: s->tcp_options = s->tcp_options == 12 ? 16 : 12; break;
	case 16: s->ip_options = 4; break;
	case 17: s->frag = (uint16_t)(s->frag ^ 0x4000); break;
	case 18: s->frag = (uint16_t)(s->frag ^ 0x2000); break; /* more fragments */
	case 19: s->frag = (uint16_t)(s->frag | (1 + below(8))); break;
	case 20: s->frag = (uint16_t)(s->frag | 0x8000); break;
	case 21: s->id = (uint16_t)(s->id + 1 + below(3)); break;
	case 22: s->id--; break;
	case 23: s->padding = (uint16_t)(1 + below(20)); break;
	case 24: s->mac_low = 3; break;
	case 25: s->vlan_low++; break;
	case 26: s->reserved = (uint8_t)(1 + below(15)); break;
	case 27: s->proto = chance(50) ? IPPROTO_ICMP : 132; break;
	case 28: s->vlans = (uint8_t)((s->vlans + 1) % 3); break;
	default: break; /* of the bytes */
	}
	if (s->proto != IPPROTO_TCP)
		s->tcp_options = 0;
	if (s->ipv6)
		s->ip_options = 0;
}

/* The same of bytes that are made: wrong sums and lengths. Returns the new length. */
static size_t
mutate_bytes(const struct mkpkt *s, uint8_t mutation, uint8_t *p, size_t len)
{
	uint8_t *l3 = p + l3_of(s);
	uint8_t *l4 = p + l4_of(s);

	switch (mutation) {
	case 29:
		if (!s->ipv6)
			l3[10] ^= (uint8_t)(1 << below(8));
		return len;
	case 30:
		l4[s->proto == IPPROTO_TCP ? 16 : 6] ^= (uint8_t)(1 << below(8));
		return len;
	case 31:
		if (s->proto == IPPROTO_UDP)
			mk16(l4 + 6, 0);
		return len;
	case 32:
		if (s->proto == IPPROTO_UDP)
			mk16(l4 + 4, (uint16_t)(mkget16(l4 + 4) + below(5) - 2));
		return len;
	case 33: /* a length of IP's that is not so, its sum right */
		if (s->ipv6) {
			mk16(l3 + 4, (uint16_t)(mkget16(l3 + 4) + below(5) - 2));
		} else {
			mk16(l3 + 2, (uint16_t)(mkget16(l3 + 2) + below(5) - 2));
			mk16(l3 + 10, mkip_cksum(l3));
		}
		return len;
	case 34: /* cut short; the kernel wants two bytes behind a tag */
		return len - below((uint32_t)(len - l3_of(s) - 1));
	case 35: /* one bit of the headers, whatever it means */
		l3[below((uint32_t)(l4 + 8 - l3))] ^= (uint8_t)(1 << below(8));
		return len;
	case 36: /* one bit of the payload */
		p[len - 1] ^= (uint8_t)(1 << below(8));
		return len;
	case 38:
		if (s->ipv6)
			l3[1 + below(3)] ^= (uint8_t)(1 << below(4)); /* flow label */
		return len;
	case 37: /* the other zero */
		if (!s->ipv6 && mkget16(l3 + 10) == 0)
			mk16(l3 + 10, 0xffff);
		return len;
	default:
		return len;
	}
}

#define NB_MUTATIONS 39

static struct rte_mbuf *
to_mbufs(struct rte_mempool *pool, const uint8_t *bytes, size_t len, uint32_t seg)
{
	struct rte_mbuf *head = NULL, *tail = NULL;
	size_t done = 0;

	do {
		struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
		size_t part = seg == 0 ? len : 1 + below(seg);

		if (m == NULL) {
			rte_pktmbuf_free(head);
			return NULL;
		}
		part = RTE_MIN(part, len - done);
		memcpy(rte_pktmbuf_append(m, (uint16_t)part), bytes + done, part);
		done += part;
		if (head == NULL) {
			head = m;
		} else {
			tail->next = m;
			head->nb_segs++;
			head->pkt_len += (uint32_t)part;
		}
		tail = m;
	} while (done < len);
	return head;
}

/* Asks for checksums, and takes them out of the bytes that are sent. */
static void
open_checksums(const struct mkpkt *s, uint8_t *p, size_t len, uint64_t *ol_flags)
{
	size_t l3 = l3_of(s), l4 = l4_of(s);

	*ol_flags = (s->ipv6 ? RTE_MBUF_F_TX_IPV6 : RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM) |
		    (s->proto == IPPROTO_TCP ? RTE_MBUF_F_TX_TCP_CKSUM : RTE_MBUF_F_TX_UDP_CKSUM);
	if (!s->ipv6)
		mk16(p + l3 + 10, 0);
	mk16(p + l4 + (s->proto == IPPROTO_TCP ? 16 : 6),
	     mkpseudo(p + l3, s->proto, (uint32_t)(len - l4)));
}

/* Makes the next burst. Returns how many mbufs. */
static unsigned int
make_burst(const struct property *prop, struct rte_mbuf **pkts)
{
	uint32_t mutations = chance(40) ? 0 : chance(50) ? 4 : 40; /* percent */
	uint32_t seg = chance(70) ? 0 : chance(30) ? 8 : 400;
	bool interleave = chance(50);
	bool open = chance(25);
	unsigned int want = 1 + below(MAX_BURST);
	unsigned int current = 0;
	unsigned int i;

	tagged = mutations > 0 || chance(50);
	nb_flows = 1 + below(chance(50) ? 2 : MAX_FLOWS);
	for (i = 0; i < RTE_DIM(flows); i++)
		flows[i].next = 0;
	for (i = 0; i < nb_flows; i++)
		make_flow(&flows[i], i);
	for (nb_sent = 0; nb_sent < want; nb_sent++) {
		struct sent *s = &burst[nb_sent];
		uint8_t raw[MAX_LEN + 64];
		uint64_t ol_flags = 0;
		struct mkpkt spec;
		struct rte_mbuf *m;
		struct flow *f;

		if (interleave ? chance(70) : chance(6))
			current = below(nb_flows);
		f = &flows[current];
		spec = f->spec;
		spec.payload = f->payload;
		spec.fill = (uint8_t)below(256);
		s->flow = (uint8_t)current;
		s->mutation = chance(mutations) ? (uint8_t)(1 + below(NB_MUTATIONS - 1)) : 0;
		mutate_spec(&spec, s->mutation);
		if (s->mutation == 27 || s->mutation == 35)
			s->flow = (uint8_t)(STRAYS + nb_sent);
		s->len = mkpkt(&spec, raw);
		/* By this the flow is known again, whatever happens to its headers. */
		if (tagged) {
			raw[10] = 0x77;
			raw[11] = s->flow;
		}
		s->len = mutate_bytes(&spec, s->mutation, raw, s->len);
		memcpy(s->bytes, raw, s->len);
		s->open = open && s->mutation == 0;
		if (s->open)
			open_checksums(&spec, raw, s->len, &ol_flags);
		m = to_mbufs(prop->pool, raw, s->len, seg);
		if (m == NULL)
			break;
		if (s->open) {
			m->ol_flags = ol_flags;
			m->l2_len = l3_of(&spec) & 0x7f;
			m->l3_len = (l4_of(&spec) - l3_of(&spec)) & 0x1ff;
		}
		pkts[nb_sent] = m;
		f->spec.seq += f->payload;
		f->spec.id = (uint16_t)(f->spec.id + f->counts_id);
	}
	return nb_sent;
}

/* The id of an atomic datagram may have changed, its checksum with it. */
static bool
same_but_id(const struct sent *s, const uint8_t *got, size_t len)
{
	static uint8_t want[MAX_LEN];
	int at = mkl3(s->bytes, s->len, false);
	uint8_t *l3 = want + at;

	if (len != s->len || at < 0 || (size_t)at + 20 > len)
		return false;
	memcpy(want, s->bytes, len);
	if (l3[0] >> 4 != 4 || (l3[0] & 15) < 5 || mkget16(l3 + 6) != 0x4000 ||
	    mkget16(l3 + 10) != mkip_cksum(l3))
		return false;
	memcpy(l3 + 4, got + at + 4, 2);
	mk16(l3 + 10, mkip_cksum(l3));
	return memcmp(want, got, len) == 0;
}

/* An open TCP checksum that comes to 0 may be written as either zero. */
static bool
same_but_zero(const struct sent *s, const uint8_t *got, size_t len)
{
	struct sent other = *s;
	uint8_t *l3 = other.bytes + mkl3(other.bytes, other.len, false);
	uint8_t *l4 = l3 + (l3[0] >> 4 == 6 ? 40 : 20);

	if (!s->open || l3[l3[0] >> 4 == 6 ? 6 : 9] != IPPROTO_TCP || mkget16(l4 + 16) != 0)
		return false;
	mk16(l4 + 16, 0xffff);
	return (len == other.len && memcmp(other.bytes, got, len) == 0) ||
	       same_but_id(&other, got, len);
}

/* Number of the flow that a frame is of. */
static unsigned int
flow_of(const uint8_t *got, size_t len)
{
	int l3 = mkl3(got, len, false);
	size_t l4;

	if (tagged)
		return len >= 14 && got[10] == 0x77 ? got[11] : UINT32_MAX;
	if (l3 < 0)
		return UINT32_MAX;
	l4 = (size_t)l3 + ((got[l3] >> 4) == 6 ? 40 : 20);
	return len >= l4 + 2 ? mkget16(got + l4) - 1000u : UINT32_MAX;
}

/* Holds a frame that came against the next one of its flow. */
static int
judge_frame(const uint8_t *got, size_t len)
{
	unsigned int number = flow_of(got, len);
	struct flow *f;
	struct sent *s;
	unsigned int i;

	if (number >= RTE_DIM(flows)) {
		printf("a frame came that was not sent\n");
		print_bytes("got", got, len);
		return -1;
	}
	f = &flows[number];
	for (i = f->next; i < nb_sent && burst[i].flow != number; i++)
		;
	if (i == nb_sent) {
		printf("flow %u: more packets came than were sent\n", number);
		print_bytes("got", got, len);
		return -1;
	}
	s = &burst[i];
	f->next = i + 1;
	if (len == s->len && memcmp(got, s->bytes, len) == 0)
		return 0;
	if (same_but_id(s, got, len) || same_but_zero(s, got, len))
		return 0;
	printf("packet %u of %u, flow %u, mutation %u, checksums %s: expected and got differ\n", i,
	       nb_sent, s->flow, s->mutation, s->open ? "left open" : "written");
	print_bytes("expected", s->bytes, s->len);
	print_bytes("got     ", got, len);
	return -1;
}

int
forward(const struct property *prop, struct rawif *judge)
{
	static uint8_t got[RAWIF_MAX_FRAME];
	struct rte_mbuf *pkts[MAX_BURST];
	uint64_t packets = 0, coalesced;
	uint64_t index;

	for (index = prop->first; packets < prop->packets; index++) {
		unsigned int n, done = 0, tries, i;
		int bad = 0;

		seed_burst(prop->seed, index);
		n = make_burst(prop, pkts);
		for (tries = 0; done < n && tries < 3000; tries++) {
			done += rte_eth_tx_burst(prop->port, 0, pkts + done,
						 (uint16_t)(n - done));
			/* A thread of the kernel's may have to make room. */
			if (done < n && tries >= 1000)
				usleep(1000);
		}
		if (done < n) {
			printf("the port takes only %u of %u packets\n", done, n);
			bad = -1;
		}
		for (i = 0; i < n && bad == 0; i++) {
			ssize_t len = rawif_recv(judge, got, NULL, PATIENCE_MS);

			if (len <= 0) {
				printf("only %u of %u packets came\n", i, n);
				bad = -1;
			} else {
				bad = judge_frame(got, (size_t)len);
			}
		}
		if (bad != 0) {
			printf("seed %" PRIu64 ", burst %" PRIu64 "\n", prop->seed, index);
			return bad;
		}
		packets += n;
	}
	if (rawif_recv(judge, got, NULL, 50) > 0) {
		printf("a frame came that was not sent, at last\n");
		return -1;
	}
	coalesced = xstat(prop, "tx_q0_coalesced_packets");
	printf("packets %" PRIu64 " bursts %" PRIu64 " coalesced %" PRIu64 "\n", packets,
	       index - prop->first, coalesced);
	if (coalesced < packets / 4) {
		printf("too few were coalesced for this to mean much\n");
		return -1;
	}
	return 0;
}
