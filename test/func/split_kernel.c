/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The kernel as judge of the splitter: random superframes are written to one tap of a
 * bridge, and what the kernel's segmentation makes of them, read from another that has no
 * offloads, must be byte for byte what tapbatch_split_next() gives. Lengths, checksums
 * and flags that are wrong in the superframe are part of it.
 *	split_kernel FROM-TAP TO-TAP SUPERFRAMES SEED
 */

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <linux/if_tun.h>

#include <rte_eal.h>
#include <rte_mbuf.h>

#include "../unit/superframe.h"
#include "tapbatch_split.h"

#define MAX_SEGS 1024
#define PATIENCE_MS 200 /* how long to wait for a segment */

static struct superframe frame;
static uint32_t state;

static uint32_t
below(uint32_t limit)
{
	state = state * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(state >> 8) * limit >> 24);
}

static int
open_tap(const char *name, int flags)
{
	struct ifreq ifr = { .ifr_flags = (short)(IFF_TAP | IFF_NO_PI | flags) };
	int hdr_len = TAPBATCH_VNET_HDR_LEN;
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);

	if (fd < 0)
		err(2, "/dev/net/tun");
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	if (ioctl(fd, TUNSETIFF, &ifr) < 0)
		err(2, "%s: TUNSETIFF", name);
	if (flags & IFF_VNET_HDR && ioctl(fd, TUNSETVNETHDRSZ, &hdr_len) < 0)
		err(2, "%s: TUNSETVNETHDRSZ", name);
	if (ioctl(fd, TUNSETOFFLOAD, 0) < 0)
		err(2, "%s: TUNSETOFFLOAD", name);
	return fd;
}

static void
random_superframe(void)
{
	memset(&frame, 0, offsetof(struct superframe, data));
	frame.ipv6 = below(2);
	frame.udp = below(2);
	frame.vlans = below(4) ? 0 : (uint8_t)(1 + below(2));
	frame.ip_opts = below(4) ? 0 : (uint8_t)(4 * below(11));
	frame.ext_hdrs = below(4) ? 0 : (uint8_t)below(4);
	frame.tcp_opts = (uint8_t)(4 * below(11));
	frame.tcp_flags = (uint8_t)below(256);
	frame.gso_size = (uint16_t)(1 + below(below(2) ? 64 : 1700));
	frame.payload_len = frame.gso_size + 1 + below(frame.gso_size * 20);
	frame.ip_id = (uint16_t)below(65536);
	frame.seq = below(1 << 24) << 8;
	frame.no_csum_flag = !frame.udp && frame.ext_hdrs == 0 && below(8) == 0;
	superframe_build(&frame, state);
	switch (below(8)) {
	case 0:
		put16(frame.data + frame.l4 + (frame.udp ? 6 : 16), below(65536));
		break;
	case 1:
		put16(frame.data + frame.l3 + (frame.ipv6 ? 4 : 2), below(65536));
		break;
	case 2:
		if (frame.udp)
			put16(frame.data + frame.l4 + 4, below(65536));
		break;
	case 3:
		if (!frame.ipv6)
			put16(frame.data + frame.l3 + 6, below(65536));
		break;
	case 4:
		if (!frame.udp)
			frame.vnet.gso_type ^= TAPBATCH_VNET_GSO_ECN;
		break;
	}
}

static void
describe(uint32_t index)
{
	printf("# superframe %u: %s over %s, %u tags, flags %#x, %u bytes of headers, "
	       "%u of payload in segments of %u\n", index, frame.udp ? "UDP" : "TCP",
	       frame.ipv6 ? "IPv6" : "IPv4", frame.vlans, frame.tcp_flags, frame.hdr_len,
	       frame.payload_len, frame.gso_size);
}

/* Reads what the kernel made of the superframe; false if it is something else. */
static bool
compare(int fd, struct rte_mbuf **segs, uint32_t nb_segs, uint32_t index)
{
	static uint8_t buf[SUPERFRAME_MAX];
	struct pollfd readable = { .fd = fd, .events = POLLIN };
	uint32_t i;

	for (i = 0; i < nb_segs; i++) {
		const uint8_t *ours = rte_pktmbuf_mtod(segs[i], const uint8_t *);
		uint32_t len = segs[i]->pkt_len;
		ssize_t got;
		uint32_t at;

		if (poll(&readable, 1, PATIENCE_MS) <= 0) {
			describe(index);
			printf("# expected %u segments, the kernel gave %u\n", nb_segs, i);
			return false;
		}
		got = read(fd, buf, sizeof(buf));
		for (at = 0; (ssize_t)at < got && at < len && buf[at] == ours[at]; at++)
			;
		if (got == (ssize_t)len && at == len)
			continue;
		describe(index);
		printf("# segment %u: the kernel has %zd bytes, we %u; the first that differs is "
		       "%u: %02x there, %02x here\n", i, got, len, at, buf[at], ours[at]);
		return false;
	}
	if (read(fd, buf, sizeof(buf)) > 0) {
		describe(index);
		printf("# expected %u segments, the kernel gave more\n", nb_segs);
		return false;
	}
	return true;
}

int
main(int argc, char **argv)
{
	char *eal[] = { argv[0], "--no-huge", "--no-shconf", "--no-pci", "-m", "64",
			"--no-telemetry", "--log-level", "lib.eal:error", NULL };
	static uint8_t wire[SUPERFRAME_MAX];
	static struct rte_mbuf *segs[MAX_SEGS];
	static struct tapbatch_split split;
	struct rte_mempool *pool;
	uint32_t nb, i, total = 0;
	int from, to;
	bool same = true;

	if (argc != 5)
		errx(2, "usage: %s FROM-TAP TO-TAP SUPERFRAMES SEED", argv[0]);
	nb = (uint32_t)strtoul(argv[3], NULL, 0);
	state = (uint32_t)strtoul(argv[4], NULL, 0);
	from = open_tap(argv[1], IFF_VNET_HDR);
	to = open_tap(argv[2], 0);
	while (read(to, wire, sizeof(wire)) > 0)
		; /* of the time before */
	if (rte_eal_init(RTE_DIM(eal) - 1, eal) < 0)
		errx(2, "EAL does not start");
	pool = rte_pktmbuf_pool_create("split", MAX_SEGS - 1, 0, 0,
				       RTE_PKTMBUF_HEADROOM + 4096, SOCKET_ID_ANY);
	if (pool == NULL)
		errx(2, "no memory for the pool");

	for (i = 0; i < nb && same; i++) {
		uint16_t n;
		int ret;

		random_superframe();
		memcpy(wire, &frame.vnet, TAPBATCH_VNET_HDR_LEN);
		memcpy(wire + TAPBATCH_VNET_HDR_LEN, frame.data, frame.len);
		ret = tapbatch_split_begin(&split, &frame.vnet, frame.data, frame.len, NULL, 0, 0);
		n = ret < 0 ? 0 : tapbatch_split_next(&split, pool, 0, segs, MAX_SEGS);
		if (write(from, wire, TAPBATCH_VNET_HDR_LEN + frame.len) < 0) {
			describe(i);
			printf("# the kernel refuses it: %s\n", strerror(errno));
			same = false;
		} else if (ret < 0 || !split.done) {
			describe(i);
			printf("# the kernel takes it, the splitter says %d\n", ret);
			same = false;
		} else {
			same = compare(to, segs, n, i);
		}
		rte_pktmbuf_free_bulk(segs, n);
		total += n;
	}
	if (same)
		printf("# %u superframes, %u segments\n", nb, total);
	rte_eal_cleanup();
	return same && total > nb ? 0 : 1;
}
