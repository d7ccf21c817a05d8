/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* portool's commands that control ports: the ethdev API, one command per function. */

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "portool.h"

static struct rte_mempool *pools[RTE_MAX_ETHPORTS];
static atomic_uint lsc_events, rmv_events;

struct rte_mempool *
port_pool(uint16_t port)
{
	return port < RTE_DIM(pools) ? pools[port] : NULL;
}

static uint16_t
port_of(char **argv)
{
	return (uint16_t)strtoul(argv[1], NULL, 0);
}

static uint16_t
queue_of(char **argv)
{
	return (uint16_t)strtoul(argv[2], NULL, 0);
}

/* Sum of the offloads named in a list with commas. */
static uint64_t
offloads(const char *list)
{
	static const struct {
		const char *name;
		uint64_t mask;
	} names[] = {
		{ "scatter", RTE_ETH_RX_OFFLOAD_SCATTER },
		{ "lro", RTE_ETH_RX_OFFLOAD_TCP_LRO },
		{ "rxcksum", RTE_ETH_RX_OFFLOAD_CHECKSUM },
		{ "multi", RTE_ETH_TX_OFFLOAD_MULTI_SEGS },
		{ "cksum", RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |
			   RTE_ETH_TX_OFFLOAD_TCP_CKSUM },
		{ "tso", RTE_ETH_TX_OFFLOAD_TCP_TSO },
		{ "uso", RTE_ETH_TX_OFFLOAD_UDP_TSO },
		{ "fast", RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE },
	};
	uint64_t sum = 0;
	unsigned int i;

	while (*list != '\0') {
		size_t len = strcspn(list, ",");

		for (i = 0; i < RTE_DIM(names); i++)
			if (strlen(names[i].name) == len && strncmp(names[i].name, list, len) == 0)
				sum |= names[i].mask;
		list += len + (list[len] == ',');
	}
	return sum;
}

static void
free_pool(uint16_t port)
{
	rte_mempool_free(pools[port]);
	pools[port] = NULL;
}

/* Configures a port and sets up its queues; does not start it. */
static int
open_port(char **argv)
{
	uint16_t port = port_of(argv);
	uint16_t rxq = (uint16_t)arg_number(argv, "rxq", 1);
	uint16_t txq = (uint16_t)arg_number(argv, "txq", 1);
	unsigned long deferred = (unsigned long)arg_number(argv, "deferred", 0);
	unsigned int mbufs = (unsigned int)arg_number(argv, "mbufs", 2048);
	uint16_t room = (uint16_t)arg_number(argv, "room", RTE_MBUF_DEFAULT_BUF_SIZE);
	struct rte_eth_conf conf = { 0 };
	struct rte_eth_rxconf rxconf;
	struct rte_eth_txconf txconf;
	struct rte_eth_dev_info info;
	char name[RTE_MEMPOOL_NAMESIZE];
	int ret;
	uint16_t i;

	ret = rte_eth_dev_info_get(port, &info);
	if (ret != 0)
		return ret;
	conf.rxmode.offloads = offloads(arg_text(argv, "rx", ""));
	conf.txmode.offloads = offloads(arg_text(argv, "tx", "multi"));
	conf.rxmode.mtu = (uint32_t)arg_number(argv, "mtu", 0);
	conf.rxmode.max_lro_pkt_size = (uint32_t)arg_number(argv, "maxlro", 0);
	conf.intr_conf.rxq = arg_number(argv, "intr", 0) != 0;
	conf.intr_conf.lsc = arg_number(argv, "lsc", 0) != 0;
	conf.intr_conf.rmv = arg_number(argv, "rmv", 0) != 0;
	ret = rte_eth_dev_configure(port, rxq, txq, &conf);
	if (ret != 0)
		return ret;

	free_pool(port);
	snprintf(name, sizeof(name), "rx%u", port);
	/* No cache: the test wants to know how many mbufs there are. */
	pools[port] = arg_number(argv, "pinned", 0) != 0 ?
			      pinned_pool(name, mbufs, room) :
			      rte_pktmbuf_pool_create(name, mbufs, 0, 0, room, SOCKET_ID_ANY);
	if (pools[port] == NULL)
		return -ENOMEM;
	rxconf = info.default_rxconf;
	txconf = info.default_txconf;
	rxconf.offloads = conf.rxmode.offloads;
	txconf.offloads = conf.txmode.offloads;
	for (i = 0; i < rxq && ret == 0; i++) {
		rxconf.rx_deferred_start = i < 64 && (deferred >> i & 1) != 0;
		ret = rte_eth_rx_queue_setup(port, i, 512, SOCKET_ID_ANY, &rxconf, pools[port]);
	}
	for (i = 0; i < txq && ret == 0; i++)
		ret = rte_eth_tx_queue_setup(port, i, 512, SOCKET_ID_ANY, &txconf);
	if (ret == 0 && arg_number(argv, "promisc", 1) != 0)
		ret = rte_eth_promiscuous_enable(port);
	return ret;
}

static int
start(char **argv)
{
	return rte_eth_dev_start(port_of(argv));
}

static int
stop(char **argv)
{
	return rte_eth_dev_stop(port_of(argv));
}

static int
close_port(char **argv)
{
	int ret = rte_eth_dev_close(port_of(argv));

	free_pool(port_of(argv));
	return ret;
}

static int
probe(char **argv)
{
	return rte_dev_probe(argv[1]);
}

static int
unplug(char **argv)
{
	struct rte_eth_dev_info info;
	int ret = rte_eth_dev_info_get(port_of(argv), &info);

	if (ret == 0)
		ret = rte_dev_remove(info.device);
	free_pool(port_of(argv));
	return ret;
}

static int
ports(char **argv)
{
	char name[RTE_ETH_NAME_MAX_LEN];
	uint16_t port;

	(void)argv;
	RTE_ETH_FOREACH_DEV(port)
		if (rte_eth_dev_get_name_by_port(port, name) == 0)
			printf("%u %s\n", port, name);
	return 0;
}

/* rxq_start, rxq_stop, txq_start, txq_stop */
static int
queue(char **argv)
{
	bool rx = argv[0][0] == 'r';
	bool on = strcmp(argv[0] + 4, "start") == 0;

	if (rx)
		return on ? rte_eth_dev_rx_queue_start(port_of(argv), queue_of(argv)) :
			    rte_eth_dev_rx_queue_stop(port_of(argv), queue_of(argv));
	return on ? rte_eth_dev_tx_queue_start(port_of(argv), queue_of(argv)) :
		    rte_eth_dev_tx_queue_stop(port_of(argv), queue_of(argv));
}

static int
mtu(char **argv)
{
	uint16_t value;
	int ret;

	if (argv[2][0] != '\0')
		return rte_eth_dev_set_mtu(port_of(argv), (uint16_t)strtoul(argv[2], NULL, 0));
	ret = rte_eth_dev_get_mtu(port_of(argv), &value);
	if (ret == 0)
		printf("%u\n", value);
	return ret;
}

/* mac_get, mac_set, mac_add, mac_del */
static int
mac(char **argv)
{
	char text[RTE_ETHER_ADDR_FMT_SIZE];
	struct rte_ether_addr addr;
	int ret;

	if (strcmp(argv[0], "mac_get") == 0) {
		ret = rte_eth_macaddr_get(port_of(argv), &addr);
		rte_ether_format_addr(text, sizeof(text), &addr);
		if (ret == 0)
			printf("%s\n", text);
		return ret;
	}
	if (rte_ether_unformat_addr(argv[2], &addr) != 0)
		return -EINVAL;
	if (strcmp(argv[0], "mac_set") == 0)
		return rte_eth_dev_default_mac_addr_set(port_of(argv), &addr);
	if (strcmp(argv[0], "mac_add") == 0)
		return rte_eth_dev_mac_addr_add(port_of(argv), &addr, 0);
	return rte_eth_dev_mac_addr_remove(port_of(argv), &addr);
}

static int
mc_list(char **argv)
{
	struct rte_ether_addr addrs[MAX_ARGS];
	uint32_t n = 0;

	for (n = 0; argv[2 + n][0] != '\0'; n++)
		if (rte_ether_unformat_addr(argv[2 + n], &addrs[n]) != 0)
			return -EINVAL;
	return rte_eth_dev_set_mc_addr_list(port_of(argv), addrs, n);
}

static int
promisc(char **argv)
{
	return strcmp(argv[2], "on") == 0 ? rte_eth_promiscuous_enable(port_of(argv)) :
					    rte_eth_promiscuous_disable(port_of(argv));
}

static int
allmulti(char **argv)
{
	return strcmp(argv[2], "on") == 0 ? rte_eth_allmulticast_enable(port_of(argv)) :
					    rte_eth_allmulticast_disable(port_of(argv));
}

static int
link_cmd(char **argv)
{
	struct rte_eth_link state;
	int ret;

	if (strcmp(argv[2], "up") == 0)
		return rte_eth_dev_set_link_up(port_of(argv));
	if (strcmp(argv[2], "down") == 0)
		return rte_eth_dev_set_link_down(port_of(argv));
	ret = rte_eth_link_get_nowait(port_of(argv), &state);
	if (ret == 0)
		printf("%s %u %s\n", state.link_status == RTE_ETH_LINK_UP ? "up" : "down",
		       state.link_speed,
		       state.link_duplex == RTE_ETH_LINK_FULL_DUPLEX ? "full" : "half");
	return ret;
}

static int
stats(char **argv)
{
	struct rte_eth_stats s;
	int ret = rte_eth_stats_get(port_of(argv), &s);

	if (ret == 0)
		printf("ipackets %" PRIu64 "\nopackets %" PRIu64 "\nibytes %" PRIu64
		       "\nobytes %" PRIu64 "\nimissed %" PRIu64 "\nierrors %" PRIu64
		       "\noerrors %" PRIu64 "\nrx_nombuf %" PRIu64 "\n",
		       s.ipackets, s.opackets, s.ibytes, s.obytes, s.imissed, s.ierrors, s.oerrors,
		       s.rx_nombuf);
	return ret;
}

/* Those whose names begin with the argument. */
static int
xstats(char **argv)
{
	int n = rte_eth_xstats_get_names(port_of(argv), NULL, 0);
	struct rte_eth_xstat_name *names;
	struct rte_eth_xstat *values;
	int i;

	if (n < 0)
		return n;
	names = calloc((size_t)n, sizeof(*names));
	values = calloc((size_t)n, sizeof(*values));
	if (names == NULL || values == NULL ||
	    rte_eth_xstats_get_names(port_of(argv), names, (unsigned int)n) != n ||
	    rte_eth_xstats_get(port_of(argv), values, (unsigned int)n) != n) {
		n = -EIO;
	} else {
		for (i = 0; i < n; i++)
			if (strncmp(names[i].name, argv[2], strlen(argv[2])) == 0)
				printf("%s %" PRIu64 "\n", names[i].name, values[i].value);
	}
	free(names);
	free(values);
	return n < 0 ? n : 0;
}

static int
reset(char **argv)
{
	int ret = rte_eth_stats_reset(port_of(argv));

	return ret != 0 ? ret : rte_eth_xstats_reset(port_of(argv));
}

static int
dev_info(char **argv)
{
	struct rte_eth_burst_mode mode;
	struct rte_eth_dev_info info;
	int ret = rte_eth_dev_info_get(port_of(argv), &info);

	if (ret != 0)
		return ret;
	printf("driver %s\nif_index %u\nmax_rx_queues %u\nmax_tx_queues %u\nmin_mtu %u\n"
	       "max_mtu %u\nmax_rx_pktlen %u\nmax_mac_addrs %u\nmax_lro %u\nseg_max %u\n"
	       "rx_offloads %#" PRIx64 "\ntx_offloads %#" PRIx64 "\n",
	       info.driver_name, info.if_index, info.max_rx_queues, info.max_tx_queues,
	       info.min_mtu, info.max_mtu, info.max_rx_pktlen, info.max_mac_addrs,
	       info.max_lro_pkt_size, info.tx_desc_lim.nb_seg_max, info.rx_offload_capa,
	       info.tx_offload_capa);
	if (rte_eth_rx_burst_mode_get(port_of(argv), 0, &mode) == 0)
		printf("rx_burst_mode %s\n", mode.info);
	if (rte_eth_tx_burst_mode_get(port_of(argv), 0, &mode) == 0)
		printf("tx_burst_mode %s\n", mode.info);
	return 0;
}

static bool close_removed; /* ports, from the event's callback */

static int
count_event(uint16_t port, enum rte_eth_event_type type, void *arg, void *ret)
{
	(void)arg;
	(void)ret;
	if (type == RTE_ETH_EVENT_INTR_RMV && close_removed) {
		rte_eth_dev_stop(port);
		rte_eth_dev_close(port);
	}
	atomic_fetch_add(type == RTE_ETH_EVENT_INTR_RMV ? &rmv_events : &lsc_events, 1);
	return 0;
}

/* events [close=1]: counts since the last time; the first time begins to count. */
static int
events(char **argv)
{
	static bool registered;

	close_removed = arg_number(argv, "close", 0) != 0;
	if (!registered) {
		registered = true;
		rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_INTR_LSC, count_event,
					      NULL);
		rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_INTR_RMV, count_event,
					      NULL);
	}
	printf("lsc %u rmv %u\n", atomic_exchange(&lsc_events, 0), atomic_exchange(&rmv_events, 0));
	return 0;
}

static unsigned int
count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	if (dir == NULL)
		return 0;
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

static unsigned long
resident_kib(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;

	if (f == NULL)
		return 0;
	if (fscanf(f, "%*u %lu", &pages) != 1)
		pages = 0;
	fclose(f);
	return pages * 4;
}

/* Descriptors, and memory from DPDK's heap and the kernel. */
static int
usage(char **argv)
{
	struct rte_malloc_socket_stats heap = { 0 };

	(void)argv;
	rte_malloc_get_socket_stats(0, &heap);
	printf("fds %u\nheap_bytes %zu\nheap_blocks %u\nresident_kib %lu\n", count_fds(),
	       heap.heap_allocsz_bytes, heap.alloc_count, resident_kib());
	return 0;
}

static int
one_cycle(char **argv, const char *iface)
{
	struct rte_eth_dev_info info;
	struct rte_mbuf *pkts[32];
	char port_arg[8], *open_argv[MAX_ARGS];
	uint16_t port, n;
	int ret, i;

	ret = rte_dev_probe(argv[2]);
	if (ret != 0)
		return mismatch("attach fails with %d", ret);
	port = RTE_MAX_ETHPORTS;
	RTE_ETH_FOREACH_DEV(n)
		if (n > 0 || port == RTE_MAX_ETHPORTS)
			port = n;
	snprintf(port_arg, sizeof(port_arg), "%u", port);
	for (i = 0; i < MAX_ARGS; i++)
		open_argv[i] = argv[i];
	open_argv[1] = port_arg;
	ret = open_port(open_argv);
	if (ret == 0)
		ret = rte_eth_dev_start(port);
	if (ret != 0)
		return mismatch("the port does not start: %d", ret);
	if (if_nametoindex(iface) == 0)
		return mismatch("there is no interface %s", iface);
	n = rte_eth_rx_burst(port, 0, pkts, RTE_DIM(pkts));
	rte_pktmbuf_free_bulk(pkts, n);
	ret = rte_eth_dev_info_get(port, &info);
	if (ret == 0)
		ret = rte_eth_dev_stop(port);
	if (ret == 0)
		ret = rte_dev_remove(info.device);
	free_pool(port);
	if (ret == 0 && if_nametoindex(iface) != 0)
		return mismatch("the interface %s is left", iface);
	return ret;
}

/* Attaches, starts, stops and detaches a device again and again. */
static int
cycle(char **argv)
{
	unsigned long n = strtoul(argv[1], NULL, 0);
	unsigned long i;
	int ret = 0;

	for (i = 0; i < n && ret == 0; i++)
		ret = one_cycle(argv, argv[3]);
	if (ret != 0)
		printf("cycle %lu\n", i);
	return ret;
}

/* Mbufs that the port cannot have; and those that it has. */
static struct rte_mbuf *held[65536];
static unsigned int nb_held;

static int
hold(char **argv)
{
	unsigned long n = strtoul(argv[2], NULL, 0);

	while (n-- > 0 && nb_held < RTE_DIM(held)) {
		held[nb_held] = rte_pktmbuf_alloc(port_pool(port_of(argv)));
		if (held[nb_held] == NULL)
			break;
		nb_held++;
	}
	printf("held %u\n", nb_held);
	return 0;
}

static int
release(char **argv)
{
	unsigned long n = argv[2][0] == '\0' ? nb_held : strtoul(argv[2], NULL, 0);

	while (n-- > 0 && nb_held > 0)
		rte_pktmbuf_free(held[--nb_held]);
	return 0;
}

static int
pool_free(char **argv)
{
	printf("%u\n", rte_mempool_avail_count(port_pool(port_of(argv))));
	return 0;
}

const struct command control_commands[] = {
	{ "open", open_port, "PORT [rxq= txq= rx= tx= mtu= maxlro= room= mbufs= deferred=MASK "
			     "intr=1 lsc=1 rmv=1 promisc=0 pinned=1]" },
	{ "start", start, "PORT" },
	{ "stop", stop, "PORT" },
	{ "close", close_port, "PORT" },
	{ "probe", probe, "DEVARGS" },
	{ "unplug", unplug, "PORT" },
	{ "ports", ports, "" },
	{ "rxq_start", queue, "PORT QUEUE" },
	{ "rxq_stop", queue, "PORT QUEUE" },
	{ "txq_start", queue, "PORT QUEUE" },
	{ "txq_stop", queue, "PORT QUEUE" },
	{ "mtu", mtu, "PORT [MTU]" },
	{ "mac_get", mac, "PORT" },
	{ "mac_set", mac, "PORT ADDRESS" },
	{ "mac_add", mac, "PORT ADDRESS" },
	{ "mac_del", mac, "PORT ADDRESS" },
	{ "mc_list", mc_list, "PORT ADDRESS..." },
	{ "promisc", promisc, "PORT on|off" },
	{ "allmulti", allmulti, "PORT on|off" },
	{ "link", link_cmd, "PORT [up|down]" },
	{ "stats", stats, "PORT" },
	{ "xstats", xstats, "PORT [PREFIX]" },
	{ "reset", reset, "PORT" },
	{ "info", dev_info, "PORT" },
	{ "events", events, "[close=1]" },
	{ "usage", usage, "" },
	{ "cycle", cycle, "TIMES DEVARGS IFACE [as open]" },
	{ "hold", hold, "PORT MBUFS" },
	{ "release", release, "PORT [MBUFS]" },
	{ "pool_free", pool_free, "PORT" },
	{ NULL, NULL, NULL },
};
