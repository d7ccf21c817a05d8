/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* portool's commands that move frames and compare them, byte for byte. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_ip.h>

#include "../unit/mkpkt.h"
#include "portool.h"

#define PATIENCE_MS 2000
#define MAX_SEGMENTS 2048

static struct {
	char name[16];
	struct rawif raw;
} raws[16];

static struct rte_mempool *tx_pool, *large_pool;
static uint32_t random_state = 1;

static uint32_t
below(uint32_t limit)
{
	random_state = random_state * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(random_state >> 8) * limit >> 24);
}

struct rawif *
find_raw(const char *name)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(raws); i++)
		if (strcmp(raws[i].name, name) == 0 && name[0] != '\0')
			return &raws[i].raw;
	printf("no raw interface \"%s\"\n", name);
	return NULL;
}

/* raw, tap: NAME IFACE [vnet=1] */
static int
open_raw(char **argv)
{
	bool vnet = arg_number(argv, "vnet", 0) != 0;
	enum rawif_kind kind = strcmp(argv[0], "tap") == 0 ?
				       (vnet ? RAWIF_TAP_VNET : RAWIF_TAP) :
				       (vnet ? RAWIF_SOCKET_VNET : RAWIF_SOCKET);
	unsigned int i;
	int ret;

	for (i = 0; i < RTE_DIM(raws) && raws[i].name[0] != '\0'; i++)
		;
	if (i == RTE_DIM(raws))
		return -ENOSPC;
	ret = rawif_open(&raws[i].raw, kind, argv[2]);
	if (ret == 0)
		snprintf(raws[i].name, sizeof(raws[i].name), "%s", argv[1]);
	return ret;
}

static int
close_raw(char **argv)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(raws); i++) {
		if (strcmp(raws[i].name, argv[1]) != 0)
			continue;
		rawif_close(&raws[i].raw);
		raws[i].name[0] = '\0';
		return 0;
	}
	return -ENOENT;
}

struct rte_mbuf *
make_mbuf(const uint8_t *bytes, size_t len, long seg)
{
	struct rte_mempool *pool;
	struct rte_mbuf *head = NULL, *tail = NULL;
	size_t done = 0;

	if (tx_pool == NULL)
		tx_pool = rte_pktmbuf_pool_create("tx", 8191, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
						  SOCKET_ID_ANY);
	if (large_pool == NULL)
		large_pool = rte_pktmbuf_pool_create("large", 127, 0, 0, UINT16_MAX, SOCKET_ID_ANY);
	pool = seg == 0 && len > 2048 ? large_pool : tx_pool;
	while (done < len || head == NULL) {
		size_t room = pool == large_pool ? 65000 : 2048;
		size_t part = seg > 0 ? (size_t)seg : seg < 0 ? below((uint32_t)-seg) + 1 : room;
		struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

		if (m == NULL) {
			rte_pktmbuf_free(head);
			return NULL;
		}
		part = RTE_MIN(part, RTE_MIN(len - done, room));
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
	}
	return head;
}

/* Sends all, with patience. Returns 0 or -EAGAIN; unsent mbufs are freed then. */
static int
send_all(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n)
{
	uint64_t deadline = now_ms() + PATIENCE_MS;
	uint16_t done = 0;

	while (done < n) {
		done += rte_eth_tx_burst(port, queue, pkts + done, n - done);
		if (done < n && now_ms() > deadline) {
			rte_pktmbuf_free_bulk(pkts + done, n - done);
			return -EAGAIN;
		}
	}
	return 0;
}

/* One packet, or NULL when none comes. */
static struct rte_mbuf *
receive_one(uint16_t port, uint16_t queue)
{
	uint64_t deadline = now_ms() + PATIENCE_MS;
	struct rte_mbuf *m;

	while (rte_eth_rx_burst(port, queue, &m, 1) == 0)
		if (now_ms() > deadline)
			return NULL;
	return m;
}

/* Whether frames differ, and if so tells where. */
static int
compare(const char *what, unsigned int index, const uint8_t *got, size_t got_len,
	const uint8_t *want, size_t want_len)
{
	size_t i;

	if (got_len != want_len)
		return mismatch("%s %u: expected %zu bytes, got %zu", what, index, want_len,
				got_len);
	for (i = 0; i < want_len; i++)
		if (got[i] != want[i])
			return mismatch("%s %u of %zu bytes: at offset %zu expected %02x, got %02x",
					what, index, want_len, i, want[i], got[i]);
	return 0;
}

/* A frame of some length: unknown to the kernel, or UDP. */
static void
make_frame(uint8_t *frame, size_t len, char **argv)
{
	bool vlan = arg_number(argv, "vlan", 0) != 0;
	size_t hdr = vlan ? 18 : 14;
	size_t i;

	if (strcmp(arg_text(argv, "kind", "raw"), "udp") == 0) {
		struct mkpkt p = {
			.vlans = vlan, .vlan_low = 7, .proto = IPPROTO_UDP, .ttl = 64,
			.frag = 0x4000, .host = 1, .sport = 1000, .dport = 2000,
			.fill = (uint8_t)len, .mac_low = 1,
			.payload = (uint16_t)(len - hdr - 28),
		};

		mkpkt(&p, frame);
		return;
	}
	memcpy(frame, "\x02\0\0\0\0\1\x02\0\0\0\0\2\x88\xb5", 14);
	if (vlan)
		memcpy(frame + 12, "\x81\0\x20\7\x88\xb5", 6);
	for (i = hdr; i < len; i++)
		frame[i] = (uint8_t)below(256);
}

/* out PORT RAW FROM TO: frames of all sizes from the port to the kernel. With whole=K every
 * K-th of a burst is in one segment.
 */
static int
out(char **argv)
{
	uint16_t port = (uint16_t)strtoul(argv[1], NULL, 0);
	struct rawif *raw = find_raw(argv[2]);
	size_t from = strtoul(argv[3], NULL, 0), to = strtoul(argv[4], NULL, 0);
	size_t step = (size_t)arg_number(argv, "step", 1);
	unsigned int burst = (unsigned int)arg_number(argv, "burst", 32);
	long seg = arg_number(argv, "seg", 0);
	unsigned int whole = (unsigned int)arg_number(argv, "whole", 65);
	static uint8_t sent[64][12000], got[RAWIF_MAX_FRAME];
	struct rte_mbuf *pkts[64];
	unsigned int i, n, all = 0;
	size_t len = from;

	if (raw == NULL)
		return -ENOENT;
	while (len <= to) {
		size_t lens[64];
		int ret;

		for (n = 0; n < burst && len <= to; n++, len += step) {
			lens[n] = len;
			make_frame(sent[n], len, argv);
			pkts[n] = make_mbuf(sent[n], len, (n + 1) % whole == 0 ? 0 : seg);
			if (pkts[n] == NULL)
				break;
		}
		if (n == 0)
			return -ENOMEM;
		if (n < burst && len <= to)
			len = lens[n - 1] + step; /* mbufs ran out: the rest with the next */
		ret = send_all(port, 0, pkts, (uint16_t)n);
		if (ret != 0)
			return mismatch("frames near %zu bytes are not taken", lens[0]);
		for (i = 0; i < n; i++) {
			ssize_t ret_len = rawif_recv(raw, got, NULL, PATIENCE_MS);

			if (ret_len <= 0)
				return mismatch("the frame of %zu bytes does not come", lens[i]);
			ret = compare("frame", all++, got, (size_t)ret_len, sent[i], lens[i]);
			if (ret != 0)
				return ret;
		}
	}
	printf("frames %u\n", all);
	return 0;
}

/* in PORT RAW FROM TO: frames of all sizes from the kernel to the port. */
static int
in(char **argv)
{
	uint16_t port = (uint16_t)strtoul(argv[1], NULL, 0);
	struct rawif *raw = find_raw(argv[2]);
	size_t from = strtoul(argv[3], NULL, 0), to = strtoul(argv[4], NULL, 0);
	size_t step = (size_t)arg_number(argv, "step", 1);
	static uint8_t sent[64][12000], got[RAWIF_MAX_FRAME];
	unsigned int i, n, all = 0;
	size_t len = from;

	if (raw == NULL)
		return -ENOENT;
	while (len <= to) {
		size_t lens[64];

		for (n = 0; n < 64 && len <= to; n++, len += step) {
			int ret;

			lens[n] = len;
			make_frame(sent[n], len, argv);
			ret = rawif_send(raw, sent[n], len, NULL);
			if (ret != 0)
				return mismatch("sending %zu bytes fails with %d", len, ret);
		}
		for (i = 0; i < n; i++) {
			struct rte_mbuf *m = receive_one(port, 0);
			size_t got_len;
			int ret;

			if (m == NULL)
				return mismatch("the frame of %zu bytes does not come", lens[i]);
			got_len = mkbytes(m, got);
			if (got_len != m->pkt_len)
				return mismatch("pkt_len is %u, the segments hold %zu", m->pkt_len,
						got_len);
			rte_pktmbuf_free(m);
			ret = compare("frame", all++, got, got_len, sent[i], lens[i]);
			if (ret != 0)
				return ret;
		}
	}
	printf("frames %u\n", all);
	return 0;
}

/* What "super" and "tso" speak of: KIND PAYLOAD MSS [vlan=1]. */
static struct mkpkt
describe(char **argv)
{
	const char *kind = argv[3];
	bool tcp = kind[0] == 't';

	return (struct mkpkt){
		.l3_only = arg_number(argv, "tun", 0) != 0,
		.ipv6 = kind[3] == '6',
		.proto = tcp ? IPPROTO_TCP : IPPROTO_UDP,
		.vlans = (uint8_t)arg_number(argv, "vlan", 0),
		.vlan_low = 9, .mac_low = 1, .ttl = 61, .frag = 0x4000, .id = 4711, .host = 1,
		.sport = 5000, .dport = 6000, .seq = 0xffffff00, .ack = 77,
		.tcp_flags = 0x18, .window = 1000,
		.tcp_options = tcp ? 12 : 0, .option_value = 1,
		.payload = (uint16_t)strtoul(argv[4], NULL, 0), .fill = 3,
	};
}

/* Segment number index of a superframe; 0 when there are no more. */
static size_t
make_segment(const struct mkpkt *whole, uint16_t mss, unsigned int index, uint8_t *frame)
{
	uint32_t from = index * (uint32_t)mss;
	struct mkpkt p = *whole;

	if (index > 0 && from >= whole->payload)
		return 0;
	p.payload = (uint16_t)RTE_MIN((uint32_t)mss, whole->payload - from);
	p.fill = (uint8_t)(whole->fill + from * 7);
	p.seq += from;
	p.id = (uint16_t)(whole->id + index);
	if (from + p.payload < whole->payload)
		p.tcp_flags &= (uint8_t)~0x09; /* PSH, FIN: the last one's */
	return mkpkt(&p, frame);
}

static size_t
l4_offset(const struct mkpkt *p)
{
	return (p->l3_only ? 0 : 14u + 4u * p->vlans) + (p->ipv6 ? 40 : 20);
}

/* Leaves in the checksum's place what an offload goes on from. */
static void
open_checksum(const struct mkpkt *p, uint8_t *frame, size_t len, bool with_length)
{
	size_t l4 = l4_offset(p);
	uint8_t *l3 = frame + l4 - (p->ipv6 ? 40 : 20);
	size_t at = l4 + (p->proto == IPPROTO_TCP ? 16 : 6);

	mk16(frame + at, mkpseudo(l3, p->proto, with_length ? (uint32_t)(len - l4) : 0));
}

/* tso PORT RAW KIND PAYLOAD MSS: the application asks for segmentation, RAW (a tap
 * without offloads) gets the segments.
 */
static int
tso(char **argv)
{
	uint16_t port = (uint16_t)strtoul(argv[1], NULL, 0);
	struct rawif *raw = find_raw(argv[2]);
	uint16_t mss = (uint16_t)strtoul(argv[5], NULL, 0);
	static uint8_t frame[RAWIF_MAX_FRAME], want[RAWIF_MAX_FRAME], got[RAWIF_MAX_FRAME];
	struct mkpkt p = describe(argv);
	bool tcp = p.proto == IPPROTO_TCP;
	struct rte_mbuf *m;
	unsigned int i = 0;
	size_t len;
	int ret;

	if (raw == NULL)
		return -ENOENT;
	len = mkpkt(&p, frame);
	open_checksum(&p, frame, len, false);
	if (!p.ipv6)
		mk16(frame + l4_offset(&p) - 10, 0);
	m = make_mbuf(frame, len, arg_number(argv, "seg", 0));
	if (m == NULL)
		return -ENOMEM;
	m->l2_len = (uint64_t)(l4_offset(&p) - (p.ipv6 ? 40 : 20)) & 0x7f;
	m->l3_len = p.ipv6 ? 40 : 20;
	m->l4_len = tcp ? 20 + p.tcp_options : 8;
	m->tso_segsz = mss;
	m->ol_flags = (p.ipv6 ? RTE_MBUF_F_TX_IPV6 :
				RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM) |
		      (tcp ? RTE_MBUF_F_TX_TCP_SEG : RTE_MBUF_F_TX_UDP_SEG);
	if (rte_eth_tx_prepare(port, 0, &m, 1) != 1) {
		rte_pktmbuf_free(m);
		return mismatch("tx_prepare refuses it: %s", rte_strerror(rte_errno));
	}
	ret = send_all(port, 0, &m, 1);
	while (ret == 0 && (len = make_segment(&p, mss, i, want)) != 0) {
		ssize_t n = rawif_recv(raw, got, NULL, PATIENCE_MS);

		if (n <= 0)
			return mismatch("segment %u does not come", i);
		ret = compare("segment", i++, got, (size_t)n, want, len);
	}
	if (ret == 0)
		printf("segments %u\n", i);
	return ret;
}

static void
print_mbuf(const struct rte_mbuf *m)
{
	char flags[256] = "";

	rte_get_rx_ol_flag_list(m->ol_flags, flags, sizeof(flags));
	printf("len %u segs %u segsz %u ptype %#x flags %s\n", m->pkt_len, m->nb_segs,
	       m->tso_segsz, m->packet_type, flags);
}

/* super PORT RAW KIND PAYLOAD MSS [burst=]: the kernel sends a superframe; whole, or
 * split, it arrives. RAW is a packet socket with vnet=1.
 */
static int
super(char **argv)
{
	uint16_t port = (uint16_t)strtoul(argv[1], NULL, 0);
	struct rawif *raw = find_raw(argv[2]);
	uint16_t mss = (uint16_t)strtoul(argv[5], NULL, 0);
	uint16_t burst = (uint16_t)RTE_MIN(arg_number(argv, "burst", 32), 64);
	static uint8_t frame[RAWIF_MAX_FRAME], want[RAWIF_MAX_FRAME], got[RAWIF_MAX_FRAME];
	struct tapbatch_vnet_hdr vnet = { .flags = TAPBATCH_VNET_F_NEEDS_CSUM };
	struct mkpkt p = describe(argv);
	uint64_t deadline = now_ms() + PATIENCE_MS;
	unsigned int expected, i = 0;
	struct rte_mbuf *pkts[64];
	size_t len;
	int ret;

	if (raw == NULL)
		return -ENOENT;
	len = mkpkt(&p, frame);
	open_checksum(&p, frame, len, true);
	vnet.gso_type = p.proto == IPPROTO_UDP ? TAPBATCH_VNET_GSO_UDP_L4 :
			p.ipv6			? TAPBATCH_VNET_GSO_TCPV6 :
						  TAPBATCH_VNET_GSO_TCPV4;
	vnet.gso_size = mss;
	vnet.csum_start = (uint16_t)l4_offset(&p);
	vnet.csum_offset = p.proto == IPPROTO_TCP ? 16 : 6;
	vnet.hdr_len = (uint16_t)(vnet.csum_start + (p.proto == IPPROTO_TCP ? 20 + p.tcp_options :
									      8));
	ret = rawif_send(raw, frame, len, &vnet);
	if (ret != 0)
		return mismatch("sending the superframe fails with %d", ret);

	expected = (p.payload + mss - 1u) / mss;
	while (i < expected && ret == 0) {
		uint16_t n = rte_eth_rx_burst(port, 0, pkts, burst);
		uint16_t k;

		if (n == 0 && now_ms() > deadline)
			return mismatch("packet %u of %u does not come", i, expected);
		for (k = 0; k < n; k++) {
			struct rte_mbuf *m = pkts[k];
			bool open = (m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) ==
				    RTE_MBUF_F_RX_L4_CKSUM_NONE;
			size_t got_len = mkbytes(m, got);

			if (i == 0 && k == 0)
				print_mbuf(m);
			if (ret != 0) {
				;
			} else if (m->ol_flags & RTE_MBUF_F_RX_LRO) {
				ret = m->tso_segsz == mss ?
					      compare("superframe", i, got, got_len, frame, len) :
					      mismatch("tso_segsz: expected %u, got %u", mss,
						       m->tso_segsz);
				i = expected;
			} else {
				len = make_segment(&p, mss, i, want);
				if (open)
					mkrepair(got, got_len, p.l3_only);
				ret = compare("packet", i++, got, got_len, want, len);
			}
			rte_pktmbuf_free(m);
		}
	}
	return ret;
}

/* rx PORT QUEUE N [ms= show=1]: receives N packets, or what comes until there is none
 * after that time. On a busy machine the time may be over before the first look.
 */
static int
rx(char **argv)
{
	uint16_t port = (uint16_t)strtoul(argv[1], NULL, 0);
	uint16_t queue = (uint16_t)strtoul(argv[2], NULL, 0);
	unsigned long wanted = strtoul(argv[3], NULL, 0), got = 0;
	uint64_t deadline = now_ms() + (uint64_t)arg_number(argv, "ms", 300);
	bool show = arg_number(argv, "show", 0) != 0;
	struct rte_mbuf *pkts[32];

	while (got < wanted) {
		bool late = now_ms() >= deadline;
		uint16_t n = rte_eth_rx_burst(port, queue, pkts,
					      (uint16_t)RTE_MIN(wanted - got, 32ul));
		uint16_t i;

		if (n == 0 && late)
			break;
		for (i = 0; i < n && show; i++)
			print_mbuf(pkts[i]);
		rte_pktmbuf_free_bulk(pkts, n);
		got += n;
	}
	printf("received %lu\n", got);
	return 0;
}

/* tx PORT QUEUE N LEN [flows=1 burst=32 seg=0 runt=1]: UDP packets, or with runt as many
 * bytes of nothing as packets are left; how many were taken.
 */
static int
tx(char **argv)
{
	uint16_t port = (uint16_t)strtoul(argv[1], NULL, 0);
	uint16_t queue = (uint16_t)strtoul(argv[2], NULL, 0);
	unsigned long left = strtoul(argv[3], NULL, 0), taken = 0;
	size_t len = strtoul(argv[4], NULL, 0);
	bool runt = arg_number(argv, "runt", 0) != 0;
	unsigned int flows = (unsigned int)arg_number(argv, "flows", 1);
	uint16_t burst = (uint16_t)RTE_MIN(arg_number(argv, "burst", 32), 64);
	struct mkpkt p = { .proto = IPPROTO_UDP, .ttl = 64, .frag = 0x4000, .host = 1,
			   .dport = 9, .payload = (uint16_t)(len - 42), .mac_low = 1 };
	static uint8_t frame[12000];
	struct rte_mbuf *pkts[64];

	while (left > 0) {
		uint16_t n, sent;

		for (n = 0; n < burst && left > 0; n++, left--) {
			p.sport = (uint16_t)(1000 + left % flows);
			len = runt ? left - 1 : mkpkt(&p, frame);
			pkts[n] = make_mbuf(frame, len, arg_number(argv, "seg", 0));
			if (pkts[n] == NULL)
				break;
		}
		sent = rte_eth_tx_burst(port, queue, pkts, n);
		rte_pktmbuf_free_bulk(pkts + sent, n - sent);
		taken += sent;
		if (n == 0)
			break;
	}
	printf("taken %lu\n", taken);
	return 0;
}

/* flood RAW N LEN [mac=] [flows=1]: UDP packets from the kernel's side. */
static int
flood(char **argv)
{
	struct rawif *raw = find_raw(argv[1]);
	unsigned long left = strtoul(argv[2], NULL, 0), sent = 0;
	size_t len = strtoul(argv[3], NULL, 0);
	unsigned int flows = (unsigned int)arg_number(argv, "flows", 1);
	const char *mac = arg_text(argv, "mac", NULL);
	struct mkpkt p = { .proto = IPPROTO_UDP, .ttl = 64, .frag = 0x4000, .host = 1,
			   .dport = 9, .payload = (uint16_t)(len - 42), .mac_low = 1 };
	static uint8_t frame[12000];
	struct rte_ether_addr addr;

	if (raw == NULL || (mac != NULL && rte_ether_unformat_addr(mac, &addr) != 0))
		return -EINVAL;
	for (; left > 0; left--) {
		size_t n;

		p.sport = (uint16_t)(1000 + left % flows);
		n = mkpkt(&p, frame);
		if (mac != NULL)
			memcpy(frame, &addr, sizeof(addr));
		sent += rawif_send(raw, frame, n, NULL) == 0;
	}
	printf("sent %lu\n", sent);
	return 0;
}

/* drain RAW: counts what waits there. */
static int
drain(char **argv)
{
	struct rawif *raw = find_raw(argv[1]);
	static uint8_t frame[RAWIF_MAX_FRAME];
	unsigned int n = 0;

	if (raw == NULL)
		return -ENOENT;
	while (rawif_recv(raw, frame, NULL, 50) > 0)
		n++;
	printf("drained %u\n", n);
	return 0;
}

const struct command data_commands[] = {
	{ "raw", open_raw, "NAME IFACE [vnet=1]" },
	{ "tap", open_raw, "NAME IFACE [vnet=1]" },
	{ "close_raw", close_raw, "NAME" },
	{ "out", out, "PORT RAW FROM TO [step= burst= seg=BYTES|-RANDOM whole= kind=raw|udp vlan=1]" },
	{ "in", in, "PORT RAW FROM TO [step= kind=raw|udp vlan=1]" },
	{ "tso", tso, "PORT RAW tcp4|tcp6|udp4|udp6 PAYLOAD MSS [seg= vlan=1]" },
	{ "super", super, "PORT RAW tcp4|tcp6|udp4|udp6 PAYLOAD MSS [vlan=1 burst=]" },
	{ "rx", rx, "PORT QUEUE N [ms= show=1]" },
	{ "tx", tx, "PORT QUEUE N LEN [flows= burst= seg= runt=1]" },
	{ "flood", flood, "RAW N LEN [mac= flows=]" },
	{ "drain", drain, "RAW" },
	{ NULL, NULL, NULL },
};
