/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The other end of request and response: turns every IPv4 packet round, addresses
 * swapped, and answers pings. On an ethdev port, or on a raw tap.
 */

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_icmp.h>
#include <rte_mbuf.h>

#include "packet.h"
#include "port.h"
#include "raw.h"

/* Swapping addresses and ports leaves all checksums right. */
static bool
turn_round(uint8_t *data, uint32_t len)
{
	struct rte_ether_hdr *eth = (void *)data;
	struct rte_ipv4_hdr *ip = (void *)(eth + 1);
	struct rte_ether_addr mac;
	rte_be32_t address;

	if (len < sizeof(*eth) + sizeof(*ip) + 8 ||
	    eth->ether_type != RTE_BE16(RTE_ETHER_TYPE_IPV4) || ip->version_ihl != RTE_IPV4_VHL_DEF)
		return false;
	if (ip->next_proto_id == IPPROTO_ICMP) {
		struct rte_icmp_hdr *icmp = (void *)(ip + 1);
		uint32_t sum;

		if (icmp->icmp_type != RTE_IP_ICMP_ECHO_REQUEST)
			return false;
		icmp->icmp_type = RTE_IP_ICMP_ECHO_REPLY;
		sum = rte_be_to_cpu_16(icmp->icmp_cksum) + (RTE_IP_ICMP_ECHO_REQUEST << 8);
		icmp->icmp_cksum = rte_cpu_to_be_16((uint16_t)((sum >> 16) + (sum & 0xffff)));
	} else if (ip->next_proto_id == IPPROTO_UDP) {
		struct rte_udp_hdr *udp = (void *)(ip + 1);
		rte_be16_t port = udp->src_port;

		udp->src_port = udp->dst_port;
		udp->dst_port = port;
	} else {
		return false;
	}
	mac = eth->src_addr;
	eth->src_addr = eth->dst_addr;
	eth->dst_addr = mac;
	address = ip->src_addr;
	ip->src_addr = ip->dst_addr;
	ip->dst_addr = address;
	return true;
}

static void
answer(struct worker *w, const struct port *p, struct rte_mbuf **burst, uint16_t n)
{
	uint16_t turned = 0, sent;

	for (uint16_t i = 0; i < n; i++) {
		struct rte_mbuf *m = burst[i];

		if (!turn_round(rte_pktmbuf_mtod(m, uint8_t *), m->data_len)) {
			rte_pktmbuf_free(m);
			continue;
		}
		m->ol_flags = 0; /* a verdict on a checksum is no request for one */
		w->count.bytes += m->pkt_len;
		burst[turned++] = m;
	}
	sent = rte_eth_tx_burst(p->id, 0, burst, turned);
	w->count.packets += sent;
	rte_pktmbuf_free_bulk(burst + sent, (unsigned int)(turned - sent));
}

bool
echo_dpdk(struct worker *w)
{
	struct rte_mbuf *burst[JOB_MAX_BURST];
	struct port p = { 0 };
	uint16_t n;

	if (!port_eal(w) || !port_start(w, &p))
		return false;
	if (w->job.interrupts && !port_interrupts(w, &p))
		return false;
	if (!worker_ready(w))
		return false;
	worker_begin(w);
	do {
		if (w->job.interrupts)
			n = port_wait_burst(w, &p, burst, w->job.burst);
		else
			n = rte_eth_rx_burst(p.id, 0, burst, w->job.burst);
		if (n > 0) {
			answer(w, &p, burst, n);
			w->count.calls++;
		} else {
			w->count.idle++;
		}
	} while (!worker_drained(w, n == 0));
	port_stop(w, &p);
	return true;
}

bool
echo_rw(struct worker *w)
{
	static uint8_t frame[RAW_SUPERFRAME_ROOM];
	int fd = raw_open(w, w->job.iface, false, false);
	ssize_t len;

	if (fd < 0 || !worker_ready(w))
		return false;
	worker_begin(w);
	do {
		len = read(fd, frame, sizeof(frame));
		if (len < 0) {
			if (errno != EAGAIN)
				return worker_fail(w, "read from %s: %s", w->job.iface,
						   strerror(errno));
			w->count.idle++;
			continue;
		}
		if (!turn_round(frame, (uint32_t)len))
			continue;
		if (write(fd, frame, (size_t)len) == len) {
			w->count.calls++;
			w->count.packets++;
			w->count.bytes += (uint64_t)len;
		}
	} while (!worker_drained(w, len < 0));
	return true;
}
