/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The rules of coalescing, one row each; mbuf layouts; limits; random bursts. All
 * results also pass the oracle, which cuts superframes as Linux does and compares
 * with what went in.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "gso_oracle.h"

/* Rows start from a usual packet and say what is different. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Winitializer-overrides"
#else
#pragma GCC diagnostic ignored "-Woverride-init"
#endif

#define ACK 0x10
#define PSH 0x08
#define FIN 0x01
#define SYN 0x02
#define RST 0x04
#define URG 0x20
#define ECE 0x40
#define CWR 0x80
#define DF 0x4000
#define MF 0x2000

/* Packet number n of a flow: 100 bytes of payload, in sequence, DF set. */
#define PKT(p, n) .proto = p, .ttl = 64, .frag = DF, .sport = 1000, .dport = 2000, \
	.payload = 100, .tcp_flags = ACK, .ack = 77, .window = 500, \
	.seq = 5000u + 100u * (n), .id = (uint16_t)(65534 + (n)), .fill = (uint8_t)(31 * (n))
#define TCP4(n) PKT(IPPROTO_TCP, n)
#define UDP4(n) PKT(IPPROTO_UDP, n)
#define TCP6(n) PKT(IPPROTO_TCP, n), .ipv6 = true
#define UDP6(n) PKT(IPPROTO_UDP, n), .ipv6 = true

struct row_pkt {
	struct mkpkt s;
	uint16_t at;     /* offset of bytes that are replaced once the packet is made */
	uint8_t bytes;   /* how many: 1, 2, or none */
	uint16_t value;
	bool repaired;   /* right checksums after that */
	uint16_t trim;   /* bytes cut off at the end */
	uint64_t flags;  /* of the mbuf */
};

#define MAX_ROW_PKTS 6

struct row {
	const char *name;
	struct row_pkt p[MAX_ROW_PKTS];
	const char *frames;  /* a letter for each packet: the frame it is in */
	const char *reasons; /* of those in frames of their own, in any order */
	uint32_t without;    /* kinds switched off */
};

/* Offsets in a packet with an Ethernet header and no VLAN tag. */
#define IP4_AT(off) (14 + (off))
#define IP6_AT(off) (14 + (off))
#define TCP4_AT(off) (34 + (off))
#define UDP4_AT(off) (34 + (off))
#define UDP6_AT(off) (54 + (off))

static const struct row rows[] = {
	/* What is merged. */
	{ "TCP over IPv4", { { { TCP4(0) } }, { { TCP4(1) } }, { { TCP4(2) } } }, "AAA", "" },
	{ "TCP over IPv6", { { { TCP6(0) } }, { { TCP6(1) } }, { { TCP6(2) } } }, "AAA", "" },
	{ "UDP over IPv4", { { { UDP4(0) } }, { { UDP4(1) } }, { { UDP4(2) } } }, "AAA", "" },
	{ "UDP over IPv6", { { { UDP6(0) } }, { { UDP6(1) } }, { { UDP6(2) } } }, "AAA", "" },
	{ "one VLAN tag", { { { TCP4(0), .vlans = 1 } }, { { TCP4(1), .vlans = 1 } } }, "AA", "" },
	{ "two VLAN tags", { { { UDP6(0), .vlans = 2 } }, { { UDP6(1), .vlans = 2 } } }, "AA", "" },
	{ "tun port, IPv4", { { { TCP4(0), .l3_only = true } }, { { TCP4(1), .l3_only = true } } },
	  "AA", "" },
	{ "tun port, IPv6", { { { UDP6(0), .l3_only = true } }, { { UDP6(1), .l3_only = true } } },
	  "AA", "" },
	{ "TCP options that are equal", { { { TCP4(0), .tcp_options = 12, .option_value = 1 } },
	  { { TCP4(1), .tcp_options = 12, .option_value = 1 } } }, "AA", "" },
	{ "all the TCP options there can be", { { { TCP6(0), .tcp_options = 40 } },
	  { { TCP6(1), .tcp_options = 40 } } }, "AA", "" },
	{ "PSH on the last", { { { TCP4(0) } }, { { TCP4(1), .tcp_flags = ACK | PSH } } },
	  "AA", "" },
	{ "FIN on the last", { { { TCP4(0) } }, { { TCP4(1), .tcp_flags = ACK | FIN | PSH } } },
	  "AA", "" },
	{ "ECE on all", { { { TCP4(0), .tcp_flags = ACK | ECE } },
	  { { TCP4(1), .tcp_flags = ACK | ECE } } }, "AA", "" },
	{ "a shorter last one", { { { UDP4(0) } }, { { UDP4(1) } },
	  { { UDP4(2), .payload = 1 } } }, "AAA", "" },
	{ "payloads of 8 bytes", { { { UDP4(0), .payload = 8 } }, { { UDP4(1), .payload = 8 } } },
	  "AA", "" },
	{ "payloads of 7 bytes", { { { UDP4(0), .payload = 7 } }, { { UDP4(1), .payload = 7 } } },
	  "AB", "size size" },
	{ "payloads of an odd length", { { { TCP6(0), .seq = 0, .payload = 33 } },
	  { { TCP6(1), .seq = 33, .payload = 33 } }, { { TCP6(2), .seq = 66, .payload = 7 } } },
	  "AAA", "" },
	{ "sequence number that wraps", { { { TCP4(0), .seq = 0xffffffce } },
	  { { TCP4(1), .seq = 50 } } }, "AA", "" },
	{ "DF and id 0 throughout", { { { TCP4(0), .id = 0 } }, { { TCP4(1), .id = 0 } } },
	  "AA", "" },
	{ "DF and ids at random", { { { UDP4(0), .id = 9 } }, { { UDP4(1), .id = 3 } } },
	  "AA", "" },
	{ "no DF, ids in sequence through 65535", { { { UDP4(0), .frag = 0 } },
	  { { UDP4(1), .frag = 0 } }, { { UDP4(2), .frag = 0 } } }, "AAA", "" },
	{ "two flows interleaved", { { { UDP4(0) } }, { { UDP4(0), .sport = 1 } },
	  { { UDP4(1) } }, { { UDP4(1), .sport = 1 } } }, "ABAB", "" },
	{ "two flows that differ in the source address", { { { UDP4(0) } },
	  { { UDP4(0), .host = 1 } }, { { UDP4(1) } }, { { UDP4(1), .host = 1 } } }, "ABAB", "" },
	{ "two flows that differ in the destination address", { { { UDP4(0) } },
	  { { UDP4(0) }, .at = IP4_AT(19), .bytes = 1, .value = 9, .repaired = true },
	  { { UDP4(1) } },
	  { { UDP4(1) }, .at = IP4_AT(19), .bytes = 1, .value = 9, .repaired = true } },
	  "ABAB", "" },
	{ "two flows that differ in the first half of the IPv6 source", { { { TCP6(0) } },
	  { { TCP6(0) }, .at = IP6_AT(9), .bytes = 1, .value = 9, .repaired = true },
	  { { TCP6(1) } },
	  { { TCP6(1) }, .at = IP6_AT(9), .bytes = 1, .value = 9, .repaired = true } },
	  "ABAB", "" },
	{ "two flows that differ in the second half of the IPv6 source", { { { UDP6(0) } },
	  { { UDP6(0), .host = 1 } }, { { UDP6(1) } }, { { UDP6(1), .host = 1 } } }, "ABAB", "" },
	{ "two flows that differ in the first half of the IPv6 destination", { { { UDP6(0) } },
	  { { UDP6(0) }, .at = IP6_AT(31), .bytes = 1, .value = 9, .repaired = true },
	  { { UDP6(1) } },
	  { { UDP6(1) }, .at = IP6_AT(31), .bytes = 1, .value = 9, .repaired = true } },
	  "ABAB", "" },
	{ "two flows that differ in the second half of the IPv6 destination", { { { TCP6(0) } },
	  { { TCP6(0) }, .at = IP6_AT(32), .bytes = 1, .value = 9, .repaired = true },
	  { { TCP6(1) } },
	  { { TCP6(1) }, .at = IP6_AT(32), .bytes = 1, .value = 9, .repaired = true } },
	  "ABAB", "" },
	{ "two flows that differ in the destination port", { { { TCP4(0) } },
	  { { TCP4(0), .dport = 1 } }, { { TCP4(1) } }, { { TCP4(1), .dport = 1 } } },
	  "ABAB", "" },
	{ "TCP and UDP of equal ports", { { { UDP4(0) } }, { { TCP4(0) } }, { { UDP4(1) } },
	  { { TCP4(1) } } }, "ABAB", "" },
	{ "other protocols between", { { { UDP4(0) } }, { { PKT(IPPROTO_ICMP, 0) } },
	  { { UDP4(1) } } }, "ABA", "other" },
	{ "another flow's bare ACK between", { { { UDP4(0) } }, { { TCP4(0), .payload = 0 } },
	  { { UDP4(1) } } }, "ABA", "no_payload" },
	{ "IPv4 checksum asked for", {
	  { { UDP4(0) }, .at = IP4_AT(10), .bytes = 2, .value = 0xdead,
	    .flags = RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_IPV4 },
	  { { UDP4(1) } } }, "AA", "" },
	{ "TCP checksum asked for", {
	  { { TCP4(0) }, .at = TCP4_AT(16), .bytes = 2, .value = 0xdead,
	    .flags = RTE_MBUF_F_TX_TCP_CKSUM },
	  { { TCP4(1) }, .at = TCP4_AT(16), .bytes = 2, .value = 0,
	    .flags = RTE_MBUF_F_TX_TCP_CKSUM } }, "AA", "" },
	{ "UDP checksum asked for", {
	  { { UDP6(0) }, .at = UDP6_AT(6), .bytes = 2, .value = 0,
	    .flags = RTE_MBUF_F_TX_UDP_CKSUM | RTE_MBUF_F_TX_IPV6 },
	  { { UDP6(1) }, .at = UDP6_AT(6), .bytes = 2, .value = 0xdead,
	    .flags = RTE_MBUF_F_TX_UDP_CKSUM | RTE_MBUF_F_TX_IPV6 } }, "AA", "" },
	{ "checksum left open by the receiving port", {
	  { { TCP4(0) }, .at = TCP4_AT(16), .bytes = 2, .value = 0x1234,
	    .flags = RTE_MBUF_F_RX_L4_CKSUM_NONE },
	  { { TCP4(1) }, .at = TCP4_AT(16), .bytes = 2, .value = 0x1234,
	    .flags = RTE_MBUF_F_RX_L4_CKSUM_NONE } }, "AA", "" },

	/* What a packet is. */
	{ "neither TCP nor UDP", { { { PKT(IPPROTO_ICMP, 0) } }, { { PKT(IPPROTO_ICMP, 1) } } },
	  "AB", "other other" },
	{ "not IP", { { { UDP4(0) }, .at = 12, .bytes = 2, .value = 0x0806 },
	  { { UDP4(1) }, .at = 12, .bytes = 2, .value = 0x0806 } }, "AB", "other other" },
	{ "three VLAN tags", { { { UDP4(0), .vlans = 3 } }, { { UDP4(1), .vlans = 3 } } },
	  "AB", "other other" },
	{ "kind switched off", { { { TCP4(0) } }, { { UDP4(0) } }, { { TCP4(1) } },
	  { { UDP4(1) } } }, "ABAC", "kind_off kind_off", TAPBATCH_COALESCE_UDP4 },
	{ "all kinds switched off", { { { TCP4(0) } }, { { TCP4(1) } } }, "AB",
	  "kind_off kind_off", 0xf },
	{ "first fragment, which closes what is open", { { { UDP4(0) } },
	  { { UDP4(1), .frag = MF } }, { { UDP4(2) } } }, "ABC",
	  "interrupted fragment interrupted" },
	{ "later fragment", { { { TCP4(0), .frag = 100 } }, { { TCP4(1), .frag = 100 } } }, "AB",
	  "fragment fragment" },
	{ "IPv6 fragment", { { { PKT(IPPROTO_FRAGMENT, 0), .ipv6 = true } },
	  { { PKT(IPPROTO_FRAGMENT, 1), .ipv6 = true } } }, "AB", "fragment fragment" },
	{ "IPv6 extension header, which closes what is open", { { { UDP6(0) } },
	  { { PKT(IPPROTO_DSTOPTS, 1), .ipv6 = true } }, { { UDP6(2) } } }, "ABC",
	  "interrupted extension interrupted" },
	{ "truncated, which closes what is open", { { { UDP4(0) } }, { { UDP4(1) }, .trim = 1 },
	  { { UDP4(2) } } }, "ABC", "interrupted malformed interrupted" },
	{ "headers cut short", { { { TCP4(0) }, .trim = 101 }, { { TCP6(0) }, .trim = 101 },
	  { { UDP4(0) }, .trim = 115 }, { { UDP6(0) }, .trim = 141 }, { { UDP4(0) }, .trim = 142 } },
	  "ABCDE", "malformed malformed malformed malformed malformed" },
	{ "TCP header longer than the packet", {
	  { { TCP4(0), .payload = 8 }, .at = TCP4_AT(12), .bytes = 1, .value = 0xf0 },
	  { { TCP4(1) } } }, "AB", "malformed alone" },
	{ "TCP header too short", {
	  { { TCP4(0) }, .at = TCP4_AT(12), .bytes = 1, .value = 0x40 },
	  { { TCP4(1) } } }, "AB", "malformed alone" },
	{ "IPv4 header length too small", {
	  { { UDP4(0) }, .at = IP4_AT(0), .bytes = 1, .value = 0x44 },
	  { { UDP4(1) } } }, "AB", "malformed alone" },
	{ "IPv4 length of 0", {
	  { { UDP4(0) }, .at = IP4_AT(2), .bytes = 2, .value = 0 },
	  { { UDP4(1) } } }, "AB", "malformed alone" },
	{ "version of IP against Ethernet's type", {
	  { { UDP4(0) }, .at = IP4_AT(0), .bytes = 1, .value = 0x65 },
	  { { UDP4(1) } } }, "AB", "malformed alone" },
	{ "segmentation asked for", { { { TCP4(0) } },
	  { { TCP4(1) }, .flags = RTE_MBUF_F_TX_TCP_SEG }, { { TCP4(2) } } }, "ABC",
	  "interrupted offload interrupted" },
	{ "UDP segmentation asked for", { { { UDP4(0) }, .flags = RTE_MBUF_F_TX_UDP_SEG },
	  { { UDP4(1) } } }, "AB", "offload alone" },
	{ "received as a superframe", { { { TCP4(0) }, .flags = RTE_MBUF_F_RX_LRO },
	  { { TCP4(1) } } }, "AB", "offload alone" },
	{ "VLAN insertion asked for", { { { TCP4(0) }, .flags = RTE_MBUF_F_TX_VLAN },
	  { { TCP4(1) } } }, "AB", "offload alone" },
	{ "tunnel offload asked for", { { { UDP4(0) }, .flags = RTE_MBUF_F_TX_TUNNEL_VXLAN },
	  { { UDP4(1) } } }, "AB", "offload alone" },
	{ "checksum of the other protocol asked for", {
	  { { UDP4(0) }, .flags = RTE_MBUF_F_TX_TCP_CKSUM }, { { UDP4(1) } } }, "AB",
	  "offload alone" },
	{ "SCTP checksum asked for", {
	  { { TCP4(0) }, .flags = RTE_MBUF_F_TX_SCTP_CKSUM }, { { TCP4(1) } } }, "AB",
	  "offload alone" },
	{ "IPv4 options", { { { TCP4(0) } }, { { TCP4(1), .ip_options = 4 } }, { { TCP4(2) } } },
	  "ABC", "interrupted ip_options interrupted" },
	{ "IPv4 reserved flag", { { { UDP4(0), .frag = 0x8000 } }, { { UDP4(1), .frag = 0x8000 } } },
	  "AB", "ip_reserved ip_reserved" },
	{ "padding", { { { UDP4(0) } }, { { UDP4(1), .padding = 4 } }, { { UDP4(2) } } }, "ABC",
	  "interrupted padding interrupted" },
	{ "bare ACK", { { { TCP4(0) } }, { { TCP4(1), .payload = 0 } }, { { TCP4(1) } } }, "ABC",
	  "interrupted no_payload interrupted" },
	{ "empty datagram", { { { UDP6(0) } }, { { UDP6(1), .payload = 0 } }, { { UDP6(1) } } },
	  "ABC", "interrupted no_payload interrupted" },
	{ "SYN", { { { TCP4(0), .tcp_flags = SYN } }, { { TCP4(1), .tcp_flags = SYN } } }, "AB",
	  "tcp_flags tcp_flags" },
	{ "RST", { { { TCP4(0) } }, { { TCP4(1), .tcp_flags = ACK | RST } } }, "AB",
	  "interrupted tcp_flags" },
	{ "URG", { { { TCP4(0), .tcp_flags = ACK | URG } }, { { TCP4(1), .tcp_flags = ACK | URG } } },
	  "AB", "tcp_flags tcp_flags" },
	{ "CWR on the first", { { { TCP4(0), .tcp_flags = ACK | CWR } }, { { TCP4(1) } } }, "AB",
	  "tcp_flags alone" },
	{ "CWR on all", { { { TCP6(0), .tcp_flags = ACK | CWR } },
	  { { TCP6(1), .tcp_flags = ACK | CWR } } }, "AB", "tcp_flags tcp_flags" },
	{ "AE, of accurate ECN", { { { TCP4(0), .reserved = 1 } }, { { TCP4(1), .reserved = 1 } } },
	  "AB", "tcp_flags tcp_flags" },
	{ "reserved bits of TCP", { { { TCP4(0), .reserved = 8 } }, { { TCP4(1), .reserved = 8 } } },
	  "AB", "tcp_flags tcp_flags" },
	{ "UDP length shorter than the IP payload", {
	  { { UDP4(0) }, .at = UDP4_AT(4), .bytes = 2, .value = 107 }, { { UDP4(1) } } }, "AB",
	  "udp_length alone" },
	{ "UDP length longer than the IP payload", {
	  { { UDP4(0) } }, { { UDP4(1) }, .at = UDP4_AT(4), .bytes = 2, .value = 109 } }, "AB",
	  "interrupted udp_length" },
	{ "UDP without a checksum", {
	  { { UDP4(0) }, .at = UDP4_AT(6), .bytes = 2, .value = 0 },
	  { { UDP4(1) }, .at = UDP4_AT(6), .bytes = 2, .value = 0 } }, "AB",
	  "udp_no_checksum udp_no_checksum" },
	{ "UDP without a checksum, received so", {
	  { { UDP4(0) }, .at = UDP4_AT(6), .bytes = 2, .value = 0,
	    .flags = RTE_MBUF_F_RX_L4_CKSUM_NONE },
	  { { UDP4(1) } } }, "AB", "udp_no_checksum alone" },
	{ "wrong TCP checksum on the first", {
	  { { TCP4(0) }, .at = TCP4_AT(16), .bytes = 2, .value = 0xbad },
	  { { TCP4(1) } }, { { TCP4(2) } } }, "ABB", "bad_checksum" },
	{ "wrong TCP checksum between", { { { TCP4(0) } },
	  { { TCP4(1) }, .at = TCP4_AT(16), .bytes = 2, .value = 0xbad },
	  { { TCP4(2) } }, { { TCP4(3) } } }, "ABCC", "interrupted bad_checksum" },
	{ "wrong UDP checksum, said to be good", { { { UDP6(0) } },
	  { { UDP6(1) }, .at = UDP6_AT(6), .bytes = 2, .value = 0xbad,
	    .flags = RTE_MBUF_F_RX_L4_CKSUM_GOOD } }, "AB", "interrupted bad_checksum" },
	{ "wrong last byte of the payload", { { { UDP4(0) } },
	  { { UDP4(1), .payload = 99 }, .at = UDP4_AT(8 + 98), .bytes = 1, .value = 0x77 } }, "AB",
	  "interrupted bad_checksum" },
	{ "wrong IPv4 checksum", { { { UDP4(0) } },
	  { { UDP4(1) }, .at = IP4_AT(10), .bytes = 2, .value = 0xbad } }, "AB",
	  "interrupted bad_checksum" },
	{ "wrong IPv4 checksum, TCP's asked for", { { { TCP4(0) } },
	  { { TCP4(1) }, .at = IP4_AT(10), .bytes = 2, .value = 0xbad,
	    .flags = RTE_MBUF_F_TX_TCP_CKSUM } }, "AB", "interrupted bad_checksum" },

	/* What stands between neighbours. */
	{ "alone", { { { TCP4(0) } }, { { UDP4(0) } }, { { UDP6(0) } } }, "ABC",
	  "alone alone alone" },
	{ "another destination MAC", { { { UDP4(0) } }, { { UDP4(1), .mac_low = 9 } } }, "AB",
	  "header_differs header_differs" },
	{ "another VLAN", { { { UDP4(0), .vlans = 1 } }, { { UDP4(1), .vlans = 1, .vlan_low = 5 } } },
	  "AB", "header_differs header_differs" },
	{ "one with and one without a tag", { { { UDP4(0), .vlans = 1 } }, { { UDP4(1) } } },
	  "AB", "header_differs header_differs" },
	{ "another TOS", { { { UDP4(0) } }, { { UDP4(1), .tos = 3 } } }, "AB",
	  "header_differs header_differs" },
	{ "another traffic class", { { { UDP6(0) } }, { { UDP6(1), .tos = 3 } } }, "AB",
	  "header_differs header_differs" },
	{ "another flow label", { { { UDP6(0) } },
	  { { UDP6(1) }, .at = 14 + 3, .bytes = 1, .value = 1 } }, "AB",
	  "header_differs header_differs" },
	{ "another TTL", { { { TCP4(0) } }, { { TCP4(1), .ttl = 63 } } }, "AB",
	  "header_differs header_differs" },
	{ "another hop limit", { { { TCP6(0) } }, { { TCP6(1), .ttl = 63 } } }, "AB",
	  "header_differs header_differs" },
	{ "DF on one", { { { UDP4(0) } }, { { UDP4(1), .frag = 0 } } }, "AB",
	  "header_differs header_differs" },
	{ "another acknowledgement", { { { TCP4(0) } }, { { TCP4(1), .ack = 78 } } }, "AB",
	  "header_differs header_differs" },
	{ "another window", { { { TCP4(0) } }, { { TCP4(1), .window = 501 } } }, "AB",
	  "header_differs header_differs" },
	{ "another urgent pointer", { { { TCP4(0) } }, { { TCP4(1), .urgent = 1 } } }, "AB",
	  "header_differs header_differs" },
	{ "ECE on one", { { { TCP4(0) } }, { { TCP4(1), .tcp_flags = ACK | ECE } } }, "AB",
	  "header_differs header_differs" },
	{ "ACK on one", { { { TCP4(0) } }, { { TCP4(1), .tcp_flags = 0 } } }, "AB",
	  "header_differs header_differs" },
	{ "options of another value", { { { TCP4(0), .tcp_options = 12 } },
	  { { TCP4(1), .tcp_options = 12, .option_value = 1 } } }, "AB",
	  "header_differs header_differs" },
	{ "longer options of another value", { { { TCP4(0), .tcp_options = 20 } },
	  { { TCP4(1), .tcp_options = 20, .option_value = 1 } } }, "AB",
	  "header_differs header_differs" },
	{ "options of another length", { { { TCP4(0), .tcp_options = 12 } }, { { TCP4(1) } } },
	  "AB", "header_differs header_differs" },
	{ "options on the second alone", { { { TCP4(0) } }, { { TCP4(1), .tcp_options = 12 } } },
	  "AB", "header_differs header_differs" },
	{ "options here, as long a tag there", { { { TCP4(0), .tcp_options = 4 } },
	  { { TCP4(1), .vlans = 1 } } }, "AB", "header_differs header_differs" },
	{ "no DF, one id for all", { { { UDP4(0), .frag = 0, .id = 5 } },
	  { { UDP4(1), .frag = 0, .id = 5 } } }, "AB", "ip_id ip_id" },
	{ "no DF, an id left out", { { { TCP4(0), .frag = 0, .id = 5 } },
	  { { TCP4(1), .frag = 0, .id = 7 } } }, "AB", "ip_id ip_id" },
	{ "gap in the sequence", { { { TCP4(0) } }, { { TCP4(2) } }, { { TCP4(3) } } }, "ABB",
	  "sequence" },
	{ "sent again", { { { TCP4(0) } }, { { TCP4(1) } }, { { TCP4(0) } }, { { TCP4(1) } } },
	  "AABB", "" },
	{ "the first refusal counts", { { { TCP4(0) } }, { { TCP4(2) } },
	  { { TCP4(3), .ack = 78 } } }, "ABC", "sequence sequence header_differs" },
	{ "out of order", { { { TCP4(1) } }, { { TCP4(0) } } }, "AB", "sequence sequence" },
	{ "longer than the first", { { { UDP4(0), .payload = 99 } }, { { UDP4(1) } } }, "AB",
	  "size size" },
	{ "after a shorter one", { { { UDP4(0) } }, { { UDP4(1), .payload = 99 } },
	  { { UDP4(2), .payload = 99 } } }, "AAB", "size" },
	{ "after PSH on the first", { { { TCP4(0), .tcp_flags = ACK | PSH } }, { { TCP4(1) } } },
	  "AB", "push push" },
	{ "after PSH on the second", { { { TCP4(0) } }, { { TCP4(1), .tcp_flags = ACK | PSH } },
	  { { TCP4(2) } } }, "AAB", "push" },
	{ "after FIN", { { { TCP4(0), .tcp_flags = ACK | FIN } }, { { TCP4(1) } } }, "AB",
	  "push push" },
	{ "an unmergeable one of the flow, under another tag", { { { UDP4(0) } },
	  { { UDP4(1), .vlans = 1, .padding = 1 } }, { { UDP4(2) } } }, "ABC",
	  "interrupted padding interrupted" },
};

static struct tapbatch_frame frames[TAPBATCH_MAX_BATCH];

/* Writes the bytes of a row's packet; returns their number. */
static size_t
make_bytes(const struct row_pkt *p, uint8_t *bytes)
{
	size_t len = mkpkt(&p->s, bytes);

	if (p->bytes == 1)
		bytes[p->at] = (uint8_t)p->value;
	else if (p->bytes == 2)
		mk16(bytes + p->at, p->value);
	if (p->repaired)
		mkrepair(bytes, len - p->s.padding, p->s.l3_only);
	return len - p->trim;
}

static void
assert_judged(const struct tapbatch_coalesce *c, struct rte_mbuf **pkts, unsigned int nb_pkts)
{
	const char *why = oracle_judge(c, pkts, nb_pkts);

	if (why != NULL)
		fail_msg("%s", why);
}

/* The letters of the frames that packets are in. */
static void
letters_of(const struct tapbatch_coalesce *c, char *letters)
{
	unsigned int f;
	unsigned int i;

	for (f = 0; f < c->nb_frames; f++) {
		unsigned int at = c->frames[f].first;

		for (i = 0; i < c->frames[f].nb_pkts; i++, at = c->next[at])
			letters[at] = (char)('A' + f);
	}
}

/* Counts the words of a text that are this one. */
static unsigned int
count_word(const char *text, const char *word)
{
	size_t len = strlen(word);
	unsigned int n = 0;

	while (*text != '\0') {
		size_t here = strcspn(text, " ");

		n += here == len && memcmp(text, word, len) == 0;
		text += here + (text[here] == ' ');
	}
	return n;
}

/* Runs one row, with all packets cut into segments of the given length (0: whole). */
static void
run_row(const struct row *row, unsigned int segment)
{
	static uint8_t bytes[MKPKT_MAX];
	static uint16_t cuts[2048];
	struct tapbatch_coalesce c = {
		.kinds = 0xf & ~row->without, .l3_only = row->p[0].s.l3_only, .frames = frames,
	};
	struct rte_mbuf *pkts[MAX_ROW_PKTS];
	char letters[MAX_ROW_PKTS + 1] = "";
	unsigned int nb = (unsigned int)strlen(row->frames);
	uint64_t superframes = 0;
	uint64_t single = 0;
	unsigned int i;

	for (i = 0; i < nb; i++) {
		size_t len = make_bytes(&row->p[i], bytes);
		unsigned int nb_cuts = 0;

		while (segment != 0 && (nb_cuts + 1) * segment < len) {
			cuts[nb_cuts] = (uint16_t)((nb_cuts + 1) * segment);
			nb_cuts++;
		}
		pkts[i] = mkmbuf(bytes, len, cuts, nb_cuts);
		pkts[i]->ol_flags = row->p[i].flags;
	}
	tapbatch_coalesce_batch(&c, pkts, (uint16_t)nb);
	assert_judged(&c, pkts, nb);
	letters_of(&c, letters);
	assert_string_equal(letters, row->frames);

	for (i = 0; i < TAPBATCH_NB_UNMERGED; i++) {
		unsigned int expected = count_word(row->reasons, tapbatch_unmerged_names[i]);

		if (c.unmerged[i] != expected)
			fail_msg("unmerged_%s: expected %u, got %u", tapbatch_unmerged_names[i],
				 expected, (unsigned int)c.unmerged[i]);
		single += c.unmerged[i];
	}
	for (i = 0; i < c.nb_frames; i++)
		superframes += frames[i].nb_pkts > 1;
	assert_int_equal(c.superframes, superframes);
	assert_int_equal(c.coalesced, nb - single);
	for (i = 0; i < RTE_DIM(c.sizes); i++)
		superframes -= c.sizes[i];
	assert_int_equal(superframes, 0);
	for (i = 0; i < nb; i++)
		mkfree(pkts[i]);
}

static void
test_row(void **state)
{
	run_row(*state, 0);
}

/* Layout changes nothing: neither what is merged nor why not. */
static void
test_rows_in_segments(void **state)
{
	static const unsigned int segments[] = { 1, 2, 3, 7, 14, 33, 34, 54, 60, 141, 142, 143 };
	unsigned int i;
	unsigned int j;

	(void)state;
	for (i = 0; i < RTE_DIM(rows); i++)
		for (j = 0; j < RTE_DIM(segments); j++)
			run_row(&rows[i], segments[j]);
}

/* A batch of `nb` packets of one flow, with `payload` bytes each. */
static void
make_flow(const struct mkpkt *base, unsigned int nb, uint16_t payload, struct rte_mbuf **pkts,
	  const uint16_t *cuts, unsigned int nb_cuts)
{
	static uint8_t bytes[MKPKT_MAX];
	unsigned int i;

	for (i = 0; i < nb; i++) {
		struct mkpkt s = *base;

		s.payload = payload;
		s.seq += i * payload;
		s.id = (uint16_t)(s.id + i);
		s.fill = (uint8_t)i;
		pkts[i] = mkmbuf(bytes, mkpkt(&s, bytes), cuts, nb_cuts);
	}
}

static void
free_flow(struct rte_mbuf **pkts, unsigned int nb)
{
	while (nb > 0)
		mkfree(pkts[--nb]);
}

static void
assert_sizes(const struct tapbatch_coalesce *c, const unsigned int *sizes, unsigned int nb)
{
	unsigned int i;

	assert_int_equal(c->nb_frames, nb);
	for (i = 0; i < nb; i++)
		assert_int_equal(c->frames[i].nb_pkts, sizes[i]);
}

static void
test_frame_limit(void **state)
{
	/* 14 + 20 + 20 + 45 * 1448 = 65214; one more would be 66662. */
	static const unsigned int expected[] = { 45, 19 };
	static const struct mkpkt base = { TCP4(0) };
	struct tapbatch_coalesce c = { .kinds = 0xf, .frames = frames };
	struct rte_mbuf *pkts[TAPBATCH_MAX_BATCH];

	(void)state;
	make_flow(&base, 64, 1448, pkts, NULL, 0);
	tapbatch_coalesce_batch(&c, pkts, 64);
	assert_judged(&c, pkts, 64);
	assert_sizes(&c, expected, 2);
	free_flow(pkts, 64);
}

/* Frames of 65534, 65535 and 65536 bytes. */
static void
test_frame_limit_to_the_byte(void **state)
{
	static const struct mkpkt base = { UDP6(0) };
	uint16_t payload = (65535 - 62) / 3; /* and a byte left over */
	unsigned int more;

	(void)state;
	for (more = 0; more < 3; more++) {
		struct tapbatch_coalesce c = { .kinds = 0xf, .frames = frames };
		struct rte_mbuf *pkts[4];
		unsigned int expected = more < 2 ? 1 : 2;

		make_flow(&base, 3, payload, pkts, NULL, 0);
		make_flow(&base, 1, (uint16_t)more, pkts + 3, NULL, 0);
		tapbatch_coalesce_batch(&c, pkts, more == 0 ? 3 : 4);
		assert_judged(&c, pkts, more == 0 ? 3 : 4);
		assert_int_equal(c.nb_frames, expected);
		assert_int_equal(c.unmerged[TAPBATCH_UNMERGED_FULL], more < 2 ? 0 : 1);
		free_flow(pkts, 4);
	}
}

static void
test_iovec_limit(void **state)
{
	/* 20 segments each, the iovecs of 51 packets and one of the headers: 1021. */
	static const unsigned int expected[] = { 51, 13 };
	static const struct mkpkt base = { UDP4(0) };
	struct tapbatch_coalesce c = { .kinds = 0xf, .frames = frames };
	struct rte_mbuf *pkts[TAPBATCH_MAX_BATCH];
	uint16_t cuts[19];
	unsigned int i;

	(void)state;
	for (i = 0; i < RTE_DIM(cuts); i++)
		cuts[i] = (uint16_t)(50 + i);
	make_flow(&base, 64, 200, pkts, cuts, RTE_DIM(cuts));
	tapbatch_coalesce_batch(&c, pkts, 64);
	assert_judged(&c, pkts, 64);
	assert_sizes(&c, expected, 2);
	free_flow(pkts, 64);
}

static void
test_full_batch(void **state)
{
	static const unsigned int expected[] = { 64 };
	static const struct mkpkt base = { UDP4(0) };
	struct tapbatch_coalesce c = { .kinds = 0xf, .frames = frames };
	struct rte_mbuf *pkts[TAPBATCH_MAX_BATCH];
	unsigned int round;

	(void)state;
	make_flow(&base, 64, 22, pkts, NULL, 0);
	for (round = 1; round <= 2; round++) {
		tapbatch_coalesce_batch(&c, pkts, 64);
		assert_judged(&c, pkts, 64);
		assert_sizes(&c, expected, 1);
		assert_int_equal(c.superframes, round);
		assert_int_equal(c.coalesced, 64 * round);
	}
	free_flow(pkts, 64);
}

static void
test_batches_of_none_and_one(void **state)
{
	static const struct mkpkt base = { UDP4(0) };
	struct tapbatch_coalesce c = { .kinds = 0xf, .frames = frames };
	struct rte_mbuf *pkts[1];

	(void)state;
	make_flow(&base, 1, 22, pkts, NULL, 0);
	tapbatch_coalesce_batch(&c, pkts, 0);
	assert_int_equal(c.nb_frames, 0);
	tapbatch_coalesce_batch(&c, pkts, 1);
	assert_judged(&c, pkts, 1);
	assert_int_equal(c.unmerged[TAPBATCH_UNMERGED_ALONE], 1);
	free_flow(pkts, 1);
}

/* More flows than hash buckets' chains like: all found again. */
static void
test_many_flows(void **state)
{
	static uint8_t bytes[MKPKT_MAX];
	struct tapbatch_coalesce c = { .kinds = 0xf, .frames = frames };
	struct rte_mbuf *pkts[TAPBATCH_MAX_BATCH];
	unsigned int i;

	(void)state;
	for (i = 0; i < 64; i++) {
		struct mkpkt s = { UDP4(i / 32), .ipv6 = i & 1, .sport = (uint16_t)(i % 32) };

		pkts[i] = mkmbuf(bytes, mkpkt(&s, bytes), NULL, 0);
	}
	tapbatch_coalesce_batch(&c, pkts, 64);
	assert_judged(&c, pkts, 64);
	assert_int_equal(c.nb_frames, 32);
	assert_int_equal(c.superframes, 32);
	free_flow(pkts, 64);
}

/* IPv6 addresses that begin as IPv4's do, and are 0 behind that, are another flow. */
static void
test_ipv6_that_looks_like_ipv4(void **state)
{
	static uint8_t bytes[MKPKT_MAX];
	struct tapbatch_coalesce c = { .kinds = 0xf, .frames = frames };
	struct rte_mbuf *pkts[4];
	unsigned int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		struct mkpkt s = { UDP4(i / 2), .ipv6 = i & 1 };
		size_t len = mkpkt(&s, bytes);

		if (s.ipv6) {
			memset(bytes + 14 + 8, 0, 32);
			mk32(bytes + 14 + 8, 0x0a000000u);
			mk32(bytes + 14 + 12, 0x0a000102u);
			mkrepair(bytes, len, false);
		}
		pkts[i] = mkmbuf(bytes, len, NULL, 0);
	}
	tapbatch_coalesce_batch(&c, pkts, 4);
	assert_judged(&c, pkts, 4);
	assert_int_equal(c.superframes, 2);
	free_flow(pkts, 4);
}

/* A TCP sum of 0 may come out as 0 or as 0xffff, as the kernel's paths go. */
static void
test_tcp_checksum_zero(void **state)
{
	static uint8_t bytes[MKPKT_MAX];
	unsigned int way;

	(void)state;
	for (way = 0; way < 3; way++) {
		struct tapbatch_coalesce c = { .kinds = 0xf, .frames = frames };
		struct mkpkt s = { TCP4(1) };
		struct rte_mbuf *pkts[2];
		size_t len = mkpkt(&s, bytes);
		uint32_t last = mkget16(bytes + len - 2);

		/* What the checksum was goes into the payload; then it is 0. */
		last = mksum(last + mkget16(bytes + 50), NULL, 0);
		mk16(bytes + len - 2, (uint16_t)last);
		mk16(bytes + 50, 0);
		assert_int_equal(mkl4_cksum(bytes + 14, bytes + 34, IPPROTO_TCP, 120), 0);
		if (way == 1)
			mk16(bytes + 50, 0xffff);
		pkts[1] = mkmbuf(bytes, len, NULL, 0);
		if (way == 2)
			pkts[1]->ol_flags = RTE_MBUF_F_TX_TCP_CKSUM;
		s = (struct mkpkt){ TCP4(0) };
		pkts[0] = mkmbuf(bytes, mkpkt(&s, bytes), NULL, 0);
		tapbatch_coalesce_batch(&c, pkts, 2);
		assert_judged(&c, pkts, 2);
		assert_int_equal(c.unmerged[TAPBATCH_UNMERGED_CHECKSUM_ZERO], way < 2 ? 1 : 0);
		assert_int_equal(c.coalesced, way < 2 ? 0 : 2);
		free_flow(pkts, 2);
	}
}

/* A UDP sum of 0 is sent as 0xffff and nothing else. */
static void
test_udp_checksum_ffff(void **state)
{
	static uint8_t bytes[MKPKT_MAX];
	struct tapbatch_coalesce c = { .kinds = 0xf, .frames = frames };
	struct mkpkt s = { UDP4(1) };
	struct rte_mbuf *pkts[2];
	size_t len = mkpkt(&s, bytes);

	(void)state;
	mk16(bytes + len - 2, (uint16_t)mksum(mkget16(bytes + len - 2) + mkget16(bytes + 40),
					      NULL, 0));
	mk16(bytes + 40, 0xffff);
	assert_int_equal(mkl4_cksum(bytes + 14, bytes + 34, IPPROTO_UDP, 108), 0xffff);
	pkts[1] = mkmbuf(bytes, len, NULL, 0);
	s = (struct mkpkt){ UDP4(0) };
	pkts[0] = mkmbuf(bytes, mkpkt(&s, bytes), NULL, 0);
	tapbatch_coalesce_batch(&c, pkts, 2);
	assert_judged(&c, pkts, 2);
	assert_int_equal(c.coalesced, 2);
	free_flow(pkts, 2);
}

/* The kernel writes an IPv4 sum as 0, never as 0xffff. */
static void
test_ip_checksum_ffff(void **state)
{
	static uint8_t bytes[MKPKT_MAX];
	struct tapbatch_coalesce c = { .kinds = 0xf, .frames = frames };
	unsigned int way;

	(void)state;
	for (way = 0; way < 2; way++) {
		struct mkpkt s = { UDP4(1) };
		struct rte_mbuf *pkts[2];
		size_t len = mkpkt(&s, bytes);

		mk16(bytes + 18, (uint16_t)mksum(mkget16(bytes + 18) + mkget16(bytes + 24),
						 NULL, 0));
		mk16(bytes + 24, way == 0 ? 0 : 0xffff);
		assert_int_equal(mkip_cksum(bytes + 14), 0);
		pkts[1] = mkmbuf(bytes, len, NULL, 0);
		s = (struct mkpkt){ UDP4(0) };
		pkts[0] = mkmbuf(bytes, mkpkt(&s, bytes), NULL, 0);
		tapbatch_coalesce_batch(&c, pkts, 2);
		assert_judged(&c, pkts, 2);
		assert_int_equal(c.unmerged[TAPBATCH_UNMERGED_BAD_CHECKSUM], way);
		free_flow(pkts, 2);
	}
}

static void
test_superframe_headers(void **state)
{
	static const struct mkpkt base = { TCP4(0), .tcp_options = 12, .vlans = 1 };
	struct tapbatch_coalesce c = { .kinds = 0xf, .frames = frames };
	const struct tapbatch_frame *frame = &frames[0];
	struct rte_mbuf *pkts[3];
	const uint8_t *ip;

	(void)state;
	make_flow(&base, 3, 1000, pkts, NULL, 0);
	tapbatch_coalesce_batch(&c, pkts, 3);
	assert_int_equal(c.nb_frames, 1);
	assert_int_equal(frame->nb_pkts, 3);
	assert_int_equal(frame->len, 18 + 20 + 32 + 3000);
	assert_int_equal(frame->hdr_len, 18 + 20 + 32);
	assert_int_equal(frame->vnet.flags, TAPBATCH_VNET_F_NEEDS_CSUM);
	assert_int_equal(frame->vnet.gso_type, TAPBATCH_VNET_GSO_TCPV4);
	assert_int_equal(frame->vnet.gso_size, 1000);
	assert_int_equal(frame->vnet.hdr_len, 70);
	assert_int_equal(frame->vnet.csum_start, 38);
	assert_int_equal(frame->vnet.csum_offset, 16);
	ip = frame->hdr + 18;
	assert_int_equal(mkget16(ip + 2), 3052);
	assert_int_equal(mkget16(ip + 4), 65534);
	assert_int_equal(mkget16(ip + 10), mkip_cksum(ip));
	assert_int_equal(mkget16(ip + 20 + 16), mkpseudo(ip, IPPROTO_TCP, 3032));
	free_flow(pkts, 3);
}

static void
test_iovecs(void **state)
{
	static const uint16_t cuts[] = { 0, 10, 42, 42, 50 };
	static const struct mkpkt base = { UDP4(0) };
	struct tapbatch_coalesce c = { .kinds = 0xf, .frames = frames };
	struct rte_mbuf *pkts[2];
	struct iovec iov[8];

	(void)state;
	make_flow(&base, 2, 22, pkts, cuts, RTE_DIM(cuts));
	tapbatch_coalesce_batch(&c, pkts, 2);
	assert_int_equal(c.nb_frames, 1);
	/* Headers, then payload pieces of 8 and 14 bytes of each packet. */
	assert_int_equal(tapbatch_frame_iov(frames, c.next, pkts, iov, 8), 5);
	assert_ptr_equal(iov[0].iov_base, &frames[0].vnet);
	assert_int_equal(iov[0].iov_len, 12 + 42);
	assert_int_equal(iov[1].iov_len, 8);
	assert_int_equal(iov[2].iov_len, 14);
	assert_int_equal(iov[3].iov_len, 8);
	assert_int_equal(iov[4].iov_len, 14);
	assert_int_equal(tapbatch_frame_iov(frames, c.next, pkts, iov, 5), 5);
	assert_int_equal(tapbatch_frame_iov(frames, c.next, pkts, iov, 4), -E2BIG);
	assert_int_equal(tapbatch_frame_iov(frames, c.next, pkts, iov, 0), -E2BIG);

	/* A packet as it is: all its bytes, behind a virtio header. */
	tapbatch_coalesce_batch(&c, pkts, 1);
	assert_int_equal(tapbatch_frame_iov(frames, c.next, pkts, iov, 8), 5);
	assert_int_equal(iov[0].iov_len, 12);
	assert_int_equal(iov[1].iov_len, 10);
	assert_int_equal(iov[2].iov_len, 32);
	free_flow(pkts, 2);
}

/* An mbuf that contradicts itself is passed on as it is. */
static void
test_mbuf_lengths_contradict(void **state)
{
	static const struct mkpkt base = { UDP4(0) };
	static const uint16_t cuts[] = { 60 };
	unsigned int nb_cuts;

	(void)state;
	for (nb_cuts = 0; nb_cuts < 2; nb_cuts++) {
		struct tapbatch_coalesce c = { .kinds = 0xf, .frames = frames };
		struct rte_mbuf *pkts[2];

		make_flow(&base, 2, 100, pkts, cuts, nb_cuts);
		pkts[1]->pkt_len++;
		tapbatch_coalesce_batch(&c, pkts, 2);
		assert_int_equal(c.nb_frames, 2);
		assert_int_equal(c.unmerged[TAPBATCH_UNMERGED_MALFORMED], 1);
		free_flow(pkts, 2);
	}
}

/* Random bursts: mostly well-behaved flows, now and then something odd. */

static uint64_t random_state;

static uint32_t
rnd(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 33) % below;
}

static bool
chance(uint32_t of)
{
	return rnd(of) == 0;
}

/* Spoils a field of the description. */
static void
spoil(struct mkpkt *s)
{
	static const uint8_t protocols[] = {
		IPPROTO_ICMP, IPPROTO_FRAGMENT, IPPROTO_DSTOPTS, IPPROTO_UDP, IPPROTO_TCP,
	};

	switch (rnd(16)) {
	case 0: s->tos = (uint8_t)rnd(256); break;
	case 1: s->ttl = (uint8_t)rnd(256); break;
	case 2: s->frag = (uint16_t)(rnd(4) << 13); break;
	case 3: s->id = (uint16_t)rnd(65536); break;
	case 4: s->ip_options = 4; break;
	case 5: s->seq += rnd(3) - 1; break;
	case 6: s->ack++; break;
	case 7: s->tcp_flags = (uint8_t)rnd(256); break;
	case 8: s->tcp_flags |= PSH; break;
	case 9: s->window++; break;
	case 10: s->option_value ^= 1; break;
	case 11: s->padding = (uint16_t)rnd(20); break;
	case 12: s->mac_low ^= 1; break;
	case 13: s->proto = protocols[rnd(RTE_DIM(protocols))]; break;
	case 14: s->payload = (uint16_t)rnd(1500); break;
	default: s->reserved = (uint8_t)rnd(16); break;
	}
}

static void
run_burst(struct tapbatch_coalesce *c, uint64_t seed)
{
	static const uint64_t some_flags[] = {
		RTE_MBUF_F_TX_IP_CKSUM, RTE_MBUF_F_TX_TCP_CKSUM, RTE_MBUF_F_TX_UDP_CKSUM,
		RTE_MBUF_F_RX_L4_CKSUM_NONE, RTE_MBUF_F_RX_L4_CKSUM_GOOD, RTE_MBUF_F_TX_TCP_SEG,
	};
	static uint8_t bytes[MKPKT_MAX];
	struct rte_mbuf *pkts[TAPBATCH_MAX_BATCH];
	struct mkpkt flows[8];
	unsigned int nb_flows = 1 + rnd(chance(2) ? 1 : 8);
	unsigned int oddity = chance(2) ? 1000 : 4 + rnd(40); /* one packet in so many */
	unsigned int nb = 1 + rnd(64);
	bool l3_only = chance(4);
	const char *why;
	unsigned int i;
	unsigned int j;

	c->l3_only = l3_only;
	for (i = 0; i < nb_flows; i++)
		flows[i] = (struct mkpkt){
			.l3_only = l3_only, .ipv6 = chance(2), .vlans = (uint8_t)rnd(3),
			.proto = chance(2) ? IPPROTO_TCP : IPPROTO_UDP, .ttl = 64,
			.frag = chance(2) ? DF : 0, .id = (uint16_t)rnd(65536),
			.host = (uint8_t)rnd(2), .sport = (uint16_t)rnd(3), .dport = 80,
			.seq = rnd(0x7fffffff) * 2, .ack = 1, .window = 100, .tcp_flags = ACK,
			.tcp_options = (uint8_t)(chance(2) ? 12 : 4 * rnd(11)),
			.payload = (uint16_t)(1 + rnd(chance(2) ? 1460 : 70)),
		};
	for (i = 0; i < nb; i++) {
		struct mkpkt *flow = &flows[rnd(nb_flows)];
		struct mkpkt s = *flow;
		uint16_t cuts[40];
		unsigned int nb_cuts = 0;
		size_t len;

		s.fill = (uint8_t)rnd(256);
		if (chance(30))
			s.payload = (uint16_t)rnd(s.payload + 1u);
		if (chance(oddity))
			spoil(&s);
		flow->seq = s.seq + s.payload;
		flow->id++;
		len = mkpkt(&s, bytes);
		if (chance(2 * oddity) && len > 0)
			bytes[rnd(chance(2) && len > 80 ? 80 : (uint32_t)len)] ^=
				(uint8_t)(1 + rnd(255));
		if (chance(4 * oddity))
			len -= rnd((uint32_t)len);
		if (chance(8)) {
			uint16_t at = 0;

			nb_cuts = rnd(RTE_DIM(cuts));
			for (j = 0; j < nb_cuts; j++) {
				at = (uint16_t)(at + rnd(20));
				cuts[j] = at;
			}
		}
		pkts[i] = mkmbuf(bytes, len, cuts, nb_cuts);
		if (chance(oddity))
			pkts[i]->ol_flags = some_flags[rnd(RTE_DIM(some_flags))];
	}
	tapbatch_coalesce_batch(c, pkts, (uint16_t)nb);
	why = oracle_judge(c, pkts, nb);
	if (why != NULL)
		fail_msg("%s; again with TAPBATCH_SEED=%llu TAPBATCH_BURSTS=1", why,
			 (unsigned long long)seed);
	free_flow(pkts, nb);
}

static void
test_random_bursts(void **state)
{
	static const uint8_t usual[] = {
		TAPBATCH_UNMERGED_MALFORMED, TAPBATCH_UNMERGED_BAD_CHECKSUM,
		TAPBATCH_UNMERGED_HEADER_DIFFERS, TAPBATCH_UNMERGED_IP_ID,
		TAPBATCH_UNMERGED_SEQUENCE, TAPBATCH_UNMERGED_SIZE, TAPBATCH_UNMERGED_PUSH,
		TAPBATCH_UNMERGED_INTERRUPTED, TAPBATCH_UNMERGED_EXTENSION,
	};
	const char *given = getenv("TAPBATCH_SEED");
	const char *bursts = getenv("TAPBATCH_BURSTS");
	uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
	unsigned int nb = bursts != NULL ? (unsigned int)strtoul(bursts, NULL, 0) : 3000;
	struct tapbatch_coalesce c = { .kinds = 0xf, .frames = frames };
	unsigned int i;

	(void)state;
	print_message("# TAPBATCH_SEED=%llu TAPBATCH_BURSTS=%u\n", (unsigned long long)seed, nb);
	for (i = 0; i < nb; i++) {
		/* Each burst has a seed of its own, so that one alone can be run again. */
		random_state = (seed + i) * UINT64_C(0x9e3779b97f4a7c15) | 1;
		run_burst(&c, seed + i);
	}
	if (nb < 1000)
		return;
	/* Else the test would show nothing. */
	assert_true(c.coalesced > 10ull * nb);
	for (i = 0; i < RTE_DIM(usual); i++)
		if (c.unmerged[usual[i]] == 0)
			fail_msg("no packet was unmerged_%s", tapbatch_unmerged_names[usual[i]]);
}

static void
test_names(void **state)
{
	unsigned int i;
	unsigned int j;

	(void)state;
	for (i = 0; i < TAPBATCH_NB_UNMERGED; i++) {
		assert_non_null(tapbatch_unmerged_names[i]);
		/* tx_q0_unmerged_<name> in a name of 64 bytes */
		assert_true(strlen(tapbatch_unmerged_names[i]) < 40);
		for (j = 0; j < i; j++)
			assert_string_not_equal(tapbatch_unmerged_names[i],
						tapbatch_unmerged_names[j]);
	}
}

int
main(void)
{
	static const struct CMUnitTest others[] = {
		cmocka_unit_test(test_rows_in_segments),
		cmocka_unit_test(test_frame_limit),
		cmocka_unit_test(test_frame_limit_to_the_byte),
		cmocka_unit_test(test_iovec_limit),
		cmocka_unit_test(test_full_batch),
		cmocka_unit_test(test_batches_of_none_and_one),
		cmocka_unit_test(test_many_flows),
		cmocka_unit_test(test_ipv6_that_looks_like_ipv4),
		cmocka_unit_test(test_tcp_checksum_zero),
		cmocka_unit_test(test_udp_checksum_ffff),
		cmocka_unit_test(test_ip_checksum_ffff),
		cmocka_unit_test(test_superframe_headers),
		cmocka_unit_test(test_iovecs),
		cmocka_unit_test(test_mbuf_lengths_contradict),
		cmocka_unit_test(test_random_bursts),
		cmocka_unit_test(test_names),
	};
	static struct CMUnitTest tests[RTE_DIM(rows) + RTE_DIM(others)];
	unsigned int i;

	for (i = 0; i < RTE_DIM(rows); i++)
		tests[i] = (struct CMUnitTest){
			.name = rows[i].name, .test_func = test_row,
			.initial_state = (void *)(uintptr_t)&rows[i],
		};
	memcpy(tests + RTE_DIM(rows), others, sizeof(others));
	return cmocka_run_group_tests_name("coalesce", tests, NULL, NULL);
}
