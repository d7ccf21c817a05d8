/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* portool's command for a kernel that has no room: what is not taken is offered again,
 * and each packet has to arrive once, in the order of its flow.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

#include "../unit/mkpkt.h"
#include "portool.h"

#define PATIENCE_MS 5000
#define MAX_FLOWS 64
#define IP_ID_OFFSET 18
#define SPORT_OFFSET 34
#define HEADROOM_MARK 0xa5
#define MARKED_BYTES 64
#define FIRST_SPORT 1000

static size_t
make_packet(unsigned int flow, uint16_t index, size_t len, uint8_t *frame)
{
	struct mkpkt p = {
		.proto = IPPROTO_UDP, .ttl = 64, .frag = 0x4000, .host = 1, .mac_low = 1,
		.dport = 9, .sport = (uint16_t)(FIRST_SPORT + flow), .id = index,
		.payload = (uint16_t)(len - 42), .fill = (uint8_t)index,
	};

	return mkpkt(&p, frame);
}

/* Takes what has arrived; returns how many, or negative errno after a message. */
static int
take_arrived(struct rawif *raw, size_t len, unsigned int nb_flows, uint16_t *next, int timeout_ms)
{
	static uint8_t got[RAWIF_MAX_FRAME], want[RAWIF_MAX_FRAME];
	int n = 0;

	for (;;) {
		ssize_t got_len = rawif_recv(raw, got, NULL, timeout_ms);
		unsigned int flow;

		if (got_len <= 0)
			return n;
		flow = (unsigned int)mkget16(got + SPORT_OFFSET) - FIRST_SPORT;
		if ((size_t)got_len != len || flow >= nb_flows)
			return mismatch("a packet of %zd bytes that nobody sent", got_len);
		make_packet(flow, next[flow], len, want);
		if (memcmp(got, want, len) != 0)
			return mismatch("flow %u: expected packet %u, got %u, or it is damaged",
					flow, next[flow], mkget16(got + IP_ID_OFFSET));
		next[flow]++;
		n++;
	}
}

/* What is not taken is the application's, with all that it has before the packet. */
static int
check_headroom(struct rte_mbuf *const *pkts, uint16_t n)
{
	uint16_t i;
	int k;

	for (i = 0; i < n; i++)
		for (k = 1; k <= MARKED_BYTES; k++)
			if (*rte_pktmbuf_mtod_offset(pkts[i], uint8_t *, -k) != HEADROOM_MARK)
				return mismatch("unsent packet %u: its headroom was written to", i);
	return 0;
}

/* press PORT QUEUE RAW N LEN [flows= burst=]: N UDP packets, those that the port does not
 * take again and again. All have to come to RAW.
 */
static int
press(char **argv)
{
	uint16_t port = (uint16_t)strtoul(argv[1], NULL, 0);
	uint16_t queue = (uint16_t)strtoul(argv[2], NULL, 0);
	struct rawif *raw = find_raw(argv[3]);
	unsigned int n = (unsigned int)strtoul(argv[4], NULL, 0);
	size_t len = strtoul(argv[5], NULL, 0);
	unsigned int nb_flows = (unsigned int)RTE_MIN(arg_number(argv, "flows", 1), MAX_FLOWS);
	uint16_t burst = (uint16_t)RTE_MIN(arg_number(argv, "burst", 32), 64);
	static uint8_t frame[RAWIF_MAX_FRAME];
	unsigned int made = 0, arrived = 0, refusals = 0;
	uint16_t next[MAX_FLOWS] = { 0 };
	struct rte_mbuf *pkts[64];
	uint64_t deadline = now_ms() + PATIENCE_MS;
	uint16_t held = 0;
	int ret = 0;

	if (raw == NULL)
		return -ENOENT;
	while (arrived < n) {
		uint16_t sent;

		for (; held < burst && made < n; made++, held++) {
			size_t made_len = make_packet(made % nb_flows,
						      (uint16_t)(made / nb_flows), len, frame);

			pkts[held] = make_mbuf(frame, made_len, 0);
			if (pkts[held] == NULL)
				break;
			memset(rte_pktmbuf_mtod_offset(pkts[held], uint8_t *, -MARKED_BYTES),
			       HEADROOM_MARK, MARKED_BYTES);
		}
		sent = rte_eth_tx_burst(port, queue, pkts, held);
		refusals += sent < held;
		memmove(pkts, pkts + sent, sizeof(pkts[0]) * (size_t)(held - sent));
		held -= sent;
		ret = check_headroom(pkts, held);
		if (ret != 0)
			break;
		ret = take_arrived(raw, len, nb_flows, next, 0);
		if (ret < 0)
			break;
		arrived += (unsigned int)ret;
		if (ret > 0 || sent > 0)
			deadline = now_ms() + PATIENCE_MS;
		ret = now_ms() > deadline ? -ETIMEDOUT : 0;
		if (ret != 0)
			break;
	}
	rte_pktmbuf_free_bulk(pkts, held);
	printf("made %u arrived %u refusals %u\n", made, arrived, refusals);
	if (ret == 0 && take_arrived(raw, len, nb_flows, next, 20) != 0)
		ret = mismatch("more packets than were sent");
	return ret;
}

const struct command press_commands[] = {
	{ "press", press, "PORT QUEUE RAW N LEN [flows= burst=]" },
	{ NULL, NULL, NULL },
};
