/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * What a port is made of, and where it lives: configuration and counters in memory
 * that processes share; descriptors, sockets and pointers to code in memory of the
 * process.
 */

#ifndef TAPBATCH_H
#define TAPBATCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <ethdev_driver.h>
#include <rte_interrupts.h>
#include <rte_version.h>

#include "rte_pmd_tapbatch.h"
#include "tapbatch_args.h"
#include "tapbatch_bufs.h"
#include "tapbatch_coalesce.h"
#include "tapbatch_engine.h"
#include "tapbatch_frame.h"
#include "tapbatch_link.h"
#include "tapbatch_remote.h"
#include "tapbatch_split.h"
#include "tapbatch_tun.h"
#include "tapbatch_vhost.h"

#define TAPBATCH_DRIVER_NAME "net_tapbatch"

/* Of the frame's length that are not counted in the MTU: Ethernet and two VLAN tags. */
#define TAPBATCH_OVERHEAD (RTE_ETHER_HDR_LEN + 2 * 4)
#define TAPBATCH_MAX_MTU 65521 /* the kernel's for a tap interface */
#define TAPBATCH_MAX_LRO_LEN (TAPBATCH_SLOT_LEN - TAPBATCH_VNET_HDR_LEN)

#define TAPBATCH_MAX_MACS 16
#define TAPBATCH_MAX_MC_MACS 64

/* Vectors of one call into the engine: a batch of superframes from single-segment
 * mbufs needs 128; one frame may need TAPBATCH_MAX_IOV.
 */
#define TAPBATCH_TX_IOV (2 * TAPBATCH_MAX_IOV)

/* Buffers that an application with LRO can keep before frames are copied instead. */
#define TAPBATCH_LRO_BUFS 256

#define TAPBATCH_TUN_OFFLOADS                                                         \
	(TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN | TAPBATCH_TUN_F_USO4 | \
	 TAPBATCH_TUN_F_USO6)

#define TAPBATCH_TX_OFFLOADS                                             \
	(RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | \
	 RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM |   \
	 RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE)
#define TAPBATCH_RX_OFFLOADS                                                                       \
	(RTE_ETH_RX_OFFLOAD_SCATTER | RTE_ETH_RX_OFFLOAD_TCP_LRO | RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | \
	 RTE_ETH_RX_OFFLOAD_UDP_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM)

/* Which unicast and multicast frames the application asked for. */
struct tapbatch_filter {
	bool enabled;   /* false: everything (promiscuous, or a tun port) */
	bool multicast; /* all of it */
	uint16_t nb_macs;
	uint16_t nb_mc_macs;
	struct rte_ether_addr macs[TAPBATCH_MAX_MACS];
	struct rte_ether_addr mc_macs[TAPBATCH_MAX_MC_MACS];
};

struct tapbatch_rx_stats {
	uint64_t packets;
	uint64_t bytes;
	uint64_t batches;     /* calls of the engine that brought something */
	uint64_t superframes; /* received whole or split */
	uint64_t split_superframes;
	uint64_t split_packets; /* that superframes were split into */
	uint64_t filtered;      /* for other addresses, promiscuous mode being off */
	uint64_t malformed;     /* virtio header and bytes contradict */
	uint64_t oversize;      /* longer than an mbuf, without scatter */
	uint64_t read_errors;
	uint64_t stop_drops; /* read or waiting when the queue was stopped for good */
	uint64_t nombuf;     /* calls that ended since the mempool was empty */
	uint64_t sizes[RTE_PMD_TAPBATCH_SIZES]; /* batches by their number of frames */
};

struct tapbatch_rxq {
	struct rte_mempool *pool;
	uint16_t port_id;
	uint16_t queue_id;
	uint32_t wants;   /* TAPBATCH_RX_* */
	uint32_t max_lro; /* longest superframe handed on whole, bytes; 0: none */
	uint32_t room;    /* bytes of packet that fit in one mbuf of the pool */
	bool scatter;
	bool deferred;    /* the application starts it itself */
	uint16_t nb_desc; /* as asked for, of no effect */
	uint64_t offloads;
	const struct tapbatch_filter *filter;
	struct tapbatch_rx_stats stats;
	struct rte_pmd_tapbatch_rx_batches base; /* when they were last cleared */
} __rte_cache_aligned;

struct tapbatch_tx_stats {
	uint64_t packets;
	uint64_t bytes;
	uint64_t batches;             /* calls of the engine */
	uint64_t rejected;            /* packets that the kernel refused */
	uint64_t link_down;           /* packets sent while the interface was down or gone */
	uint64_t malformed;           /* packets whose offload request and bytes contradict */
	uint64_t no_room;             /* packets given back since the kernel had no room */
	uint64_t stop_drops;          /* that a worker had not taken when the queue was stopped */
	uint64_t refused_superframes; /* that then went out as single packets */
	uint64_t sizes[RTE_PMD_TAPBATCH_SIZES]; /* batches by their number of packets */
};

struct tapbatch_txq {
	uint16_t port_id;
	uint16_t queue_id;
	uint16_t batch;          /* packets per batch, 1 or more */
	uint64_t tuned;          /* the word as it was last taken over */
	_Atomic uint64_t tuning; /* see tapbatch_tuning.h */
	bool deferred;
	uint16_t nb_desc;
	uint64_t offloads;
	struct tapbatch_coalesce coalesce;
	struct tapbatch_tx_stats stats;
	struct tapbatch_write writes[TAPBATCH_MAX_BATCH];
	struct tapbatch_frame frames[TAPBATCH_MAX_BATCH];
	struct iovec iov[TAPBATCH_TX_IOV];
	struct rte_pmd_tapbatch_tx_batches base; /* when they were last cleared */
} __rte_cache_aligned;

/* Shared by all processes: dev->data->dev_private. */
struct tapbatch_port {
	struct tapbatch_args args;
	bool multi_queue; /* more than one queue can be attached */
	bool created;     /* the interface was not there before */
	uint16_t max_queues;
	uint16_t mtu;        /* that the driver has set last, or the interface had */
	bool link_down;      /* rte_eth_dev_set_link_down() */
	bool uso;            /* the kernel segments UDP */
	_Atomic bool gone;   /* the interface vanished */
	_Atomic bool broken; /* the engine has failed; the next start tries again */
	uint32_t sound;      /* TAPBATCH_COALESCE_*: what this kernel segments */
	uint32_t coalesce;   /* of these, what was asked for */
	struct tapbatch_filter filter;
	uint64_t tx_dropped_base; /* of the kernel, at the last reset */
	uint64_t rx_dropped_base;
	uint64_t rx_drops_cleared; /* of ours since that reset, when batches were cleared */
	uint64_t tx_drops_cleared;
};

/* What the process keeps of an Rx queue beside the engine's part. */
struct tapbatch_rx_local {
	struct tapbatch_rx_io io;
	/* Frames that are read and not handed on: slots[next..count), the one before
	 * next being split if split is not done.
	 */
	uint16_t next;
	uint16_t count;
	uint16_t budget;   /* slots that the next read tries */
	uint16_t segments; /* of the last frame, to guess how many frames fill a burst */
	bool drained;      /* the last read left nothing in the kernel's queue */
	struct tapbatch_split split;
	/* Mbufs that are taken from the pool and not used yet. */
	struct rte_mbuf *spare[TAPBATCH_MAX_SLOTS];
	uint16_t nb_spare;
	/* Where slots come from. */
	struct tapbatch_bufs *bufs; /* with LRO or scatter; else NULL */
	void *mapping;              /* else */
	size_t mapping_len;
	/* Rx interrupts: readable when there is something to receive, see tapbatch_intr.c */
	int intr_fd;
	int intr_kick;
};

/* Private to the process: dev->process_private. */
struct tapbatch_local {
	const struct tapbatch_engine *engine;
	pthread_mutex_t lock; /* of link; taken before that of remote */
	struct tapbatch_link link;
	struct tapbatch_remote remote;
	struct rte_intr_handle *news_handle;
	uint16_t nb_fds;
	int fds[TAPBATCH_MAX_QUEUES]; /* queue files; the first is always there */
	struct tapbatch_rx_local *rx[TAPBATCH_MAX_QUEUES];
	struct tapbatch_tx_io *tx[TAPBATCH_MAX_QUEUES];
	bool port_opened; /* by the engine */
	bool tx_down;     /* what is sent is dropped and counted */
	/* Engine vhost. */
	int vhost_err; /* eventfd: the kernel, or we, met an error */
	struct tapbatch_vhost vhost[TAPBATCH_MAX_QUEUES];
};

static inline struct tapbatch_local *
tapbatch_local(const struct rte_eth_dev *dev)
{
	return dev->process_private;
}

static inline struct tapbatch_port *
tapbatch_port(const struct rte_eth_dev *dev)
{
	return dev->data->dev_private;
}

/* tapbatch_ethdev.c */
extern const struct eth_dev_ops tapbatch_ops;
int tapbatch_link_update(struct rte_eth_dev *dev, int wait_to_complete);
int tapbatch_is_removed(struct rte_eth_dev *dev);
int tapbatch_dev_close(struct rte_eth_dev *dev);
/* The carrier that the kernel sees is there while the port is started and not set down:
 * without it the kernel queues nothing for us, and keeps addresses and routes.
 */
int tapbatch_update_carrier(struct rte_eth_dev *dev, bool started);
/* Lets Tx queues know whether to send, or to drop and count. */
void tapbatch_mark_tx_queues(struct rte_eth_dev *dev);
/* Closes and frees all that the process keeps of a port; nothing if that is nothing. */
void tapbatch_local_free(struct rte_eth_dev *dev);

/* tapbatch_news.c: 0 or negative errno. */
int tapbatch_news_install(struct rte_eth_dev *dev);
void tapbatch_news_remove(struct rte_eth_dev *dev);

/* tapbatch_filter.c: operations of ethdev. */
int tapbatch_promiscuous_enable(struct rte_eth_dev *dev);
int tapbatch_promiscuous_disable(struct rte_eth_dev *dev);
int tapbatch_allmulticast_enable(struct rte_eth_dev *dev);
int tapbatch_allmulticast_disable(struct rte_eth_dev *dev);
int tapbatch_mac_addr_set(struct rte_eth_dev *dev, struct rte_ether_addr *mac);
int tapbatch_mac_addr_add(struct rte_eth_dev *dev, struct rte_ether_addr *mac, uint32_t index,
			  uint32_t vmdq);
void tapbatch_mac_addr_remove(struct rte_eth_dev *dev, uint32_t index);
int tapbatch_set_mc_addr_list(struct rte_eth_dev *dev, struct rte_ether_addr *macs, uint32_t n);

/* tapbatch_rx.c and tapbatch_tx.c: the fast path. */
uint16_t tapbatch_rx_burst(void *queue, struct rte_mbuf **pkts, uint16_t nb_pkts);
uint16_t tapbatch_tx_burst(void *queue, struct rte_mbuf **pkts, uint16_t nb_pkts);
/* Frees packets that are sent while the link is down, and counts them; returns n. */
uint16_t tapbatch_tx_drop(struct tapbatch_txq *txq, struct rte_mbuf **pkts, uint16_t n);
uint16_t tapbatch_tx_prepare(void *queue, struct rte_mbuf **pkts, uint16_t nb_pkts);

/* tapbatch_queue.c: set-up, start, stop and release of queues. */
int tapbatch_rx_queue_setup(struct rte_eth_dev *dev, uint16_t id, uint16_t nb_desc,
			    unsigned int socket, const struct rte_eth_rxconf *conf,
			    struct rte_mempool *pool);
void tapbatch_rx_queue_release(struct rte_eth_dev *dev, uint16_t id);
int tapbatch_tx_queue_setup(struct rte_eth_dev *dev, uint16_t id, uint16_t nb_desc,
			    unsigned int socket, const struct rte_eth_txconf *conf);
void tapbatch_tx_queue_release(struct rte_eth_dev *dev, uint16_t id);
int tapbatch_rx_queue_start(struct rte_eth_dev *dev, uint16_t id);
int tapbatch_rx_queue_stop(struct rte_eth_dev *dev, uint16_t id);
int tapbatch_tx_queue_start(struct rte_eth_dev *dev, uint16_t id);
int tapbatch_tx_queue_stop(struct rte_eth_dev *dev, uint16_t id);
/* Release what the engine keeps for a queue. */
void tapbatch_rx_queue_close(struct tapbatch_local *local, struct tapbatch_rx_local *rx);
void tapbatch_tx_queue_close(struct tapbatch_local *local, struct tapbatch_tx_io *io);
/* Nobody reads an Rx queue that is not started: the kernel is to give it no packets. */
void tapbatch_rx_queues_detach_unread(struct rte_eth_dev *dev);
/* Opens or closes queue files until there are as many as Rx queues. */
int tapbatch_queues_match(struct rte_eth_dev *dev);
/* Checks one queue's pool against the MTU: 0, or -EINVAL after a message. */
int tapbatch_rx_queue_check_room(const struct rte_eth_dev *dev, uint16_t id, uint32_t mtu);

/* tapbatch_intr.c: Rx interrupts. */
int tapbatch_rx_intr_install(struct rte_eth_dev *dev);
void tapbatch_rx_intr_remove(struct rte_eth_dev *dev);
int tapbatch_rx_queue_intr_enable(struct rte_eth_dev *dev, uint16_t id);
int tapbatch_rx_queue_intr_disable(struct rte_eth_dev *dev, uint16_t id);

/* tapbatch_stats.c */
#if RTE_VERSION >= RTE_VERSION_NUM(25, 11, 0, 0) /* numbers per queue apart */
int tapbatch_stats_get(struct rte_eth_dev *dev, struct rte_eth_stats *stats,
		       struct eth_queue_stats *queues);
#else
int tapbatch_stats_get(struct rte_eth_dev *dev, struct rte_eth_stats *stats);
#endif
int tapbatch_stats_reset(struct rte_eth_dev *dev);
/* Drops of the kernel since the last reset; 0 once the interface is gone. */
void tapbatch_kernel_drops(struct rte_eth_dev *dev, uint64_t *rx, uint64_t *tx);
int tapbatch_xstats_get(struct rte_eth_dev *dev, struct rte_eth_xstat *xstats, unsigned int n);
int tapbatch_xstats_get_names(struct rte_eth_dev *dev, struct rte_eth_xstat_name *names,
			      unsigned int n);

#endif /* TAPBATCH_H */
