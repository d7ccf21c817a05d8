/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Set-up of the property tests, see property.h.
 *	property EAL-ARGUMENT... -- forward JUDGE-TAP SEED PACKETS [FIRST-BURST]
 *	property EAL-ARGUMENT... -- backward JUDGE-TAP SENDER-TAP SEED PACKETS [FIRST-BURST]
 * Taps are there already, on one bridge with the port's interface.
 */

#include <err.h>
#include <linux/if_tun.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include <rte_eal.h>
#include <rte_ethdev.h>

#include "property.h"
#include "tapbatch_tun.h"

uint64_t random_state;

void
seed_burst(uint64_t seed, uint64_t index)
{
	random_state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) ^
		       (index + 1) * UINT64_C(0xd6e8feb86659fd93);
	below(1);
	below(1);
}

void
print_bytes(const char *what, const uint8_t *bytes, size_t len)
{
	size_t i;

	printf("%s %zu bytes:", what, len);
	for (i = 0; i < len && i < 96; i++)
		printf("%s%02x", i % 2 == 0 ? " " : "", bytes[i]);
	printf("%s\n", len > 96 ? " ..." : "");
}

uint64_t
xstat(const struct property *p, const char *name)
{
	uint64_t id, value;

	if (rte_eth_xstats_get_id_by_name(p->port, name, &id) != 0 ||
	    rte_eth_xstats_get_by_id(p->port, &id, &value, 1) != 1)
		errx(1, "there is no statistic %s", name);
	return value;
}

static void
start_port(struct property *p)
{
	struct rte_eth_conf conf = { .rxmode.mtu = PROPERTY_MTU };

	conf.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_IPV4_CKSUM |
			       RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM;
	if (p->rx_cksum)
		conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM;
	p->pool = rte_pktmbuf_pool_create("mbufs", 8191, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
					  SOCKET_ID_ANY);
	if (p->pool == NULL || rte_eth_dev_configure(p->port, 1, 1, &conf) != 0 ||
	    rte_eth_rx_queue_setup(p->port, 0, 512, SOCKET_ID_ANY, NULL, p->pool) != 0 ||
	    rte_eth_tx_queue_setup(p->port, 0, 512, SOCKET_ID_ANY, NULL) != 0 ||
	    rte_eth_promiscuous_enable(p->port) != 0 || rte_eth_dev_start(p->port) != 0)
		errx(1, "the port does not start");
}

static void
open_tap(struct rawif *raw, enum rawif_kind kind, const char *name)
{
	int ret = rawif_open(raw, kind, name);

	if (ret != 0)
		errx(1, "%s: %s", name, strerror(-ret));
}

int
main(int argc, char **argv)
{
	struct rawif judge, sender;
	struct property p = { 0 };
	bool is_forward;
	int used, ret;

	setvbuf(stdout, NULL, _IOLBF, 0);
	used = rte_eal_init(argc, argv);
	if (used < 0)
		return 1;
	argc -= used;
	argv += used;
	if (argc < 2)
		errx(2, "forward or backward?");
	is_forward = strcmp(argv[1], "forward") == 0;
	if (argc < (is_forward ? 5 : 6))
		errx(2, "arguments are missing");
	open_tap(&judge, RAWIF_TAP, argv[2]);
	if (!is_forward) {
		open_tap(&sender, RAWIF_TAP_VNET, argv[3]);
		/* Asked, and taken back: nothing of the kind is to come to the sender. */
		p.uso = ioctl(sender.fd, TUNSETOFFLOAD,
			      (unsigned long)(TUN_F_CSUM | TAPBATCH_TUN_F_USO4 |
					      TAPBATCH_TUN_F_USO6)) == 0 &&
			ioctl(sender.fd, TUNSETOFFLOAD, 0UL) == 0;
		argv++;
		argc--;
	}
	p.seed = strtoull(argv[3], NULL, 0);
	p.packets = strtoull(argv[4], NULL, 0);
	p.first = argc > 5 ? strtoull(argv[5], NULL, 0) : 0;
	p.rx_cksum = p.seed % 2;
	start_port(&p);
	ret = is_forward ? forward(&p, &judge) : backward(&p, &sender, &judge);
	rte_eth_dev_stop(p.port);
	rte_eth_dev_close(p.port);
	rte_eal_cleanup();
	return ret != 0;
}
