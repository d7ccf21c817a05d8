/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Engine vhost: the kernel's vhost-net moves packets between rings in our memory and
 * the tun queue, in a worker thread of its own. Here the driver is what a virtio
 * driver is in a virtual machine. One vhost-net instance serves the Rx and the Tx queue
 * of one index.
 */

#ifndef TAPBATCH_VHOST_H
#define TAPBATCH_VHOST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <ethdev_driver.h>
#include <rte_mbuf.h>

#include "tapbatch_frame.h"
#include "tapbatch_vring.h"

struct tapbatch_local;
struct tapbatch_rxq;
struct tapbatch_txq;

/* The queues of an instance, as the kernel counts them. */
#define TAPBATCH_VHOST_RX 0
#define TAPBATCH_VHOST_TX 1

/* One vhost-net instance. Private to the process. */
struct tapbatch_vhost {
	int fd;             /* -1: closed */
	unsigned int users; /* queues that are started */
	pid_t worker;       /* as seen from here, 0: not to be seen */
};

/* What the process keeps of an Rx queue. */
struct tapbatch_vhost_rx {
	struct tapbatch_vring vr;
	int kick;      /* eventfds */
	int call;      /* -1: without Rx interrupts */
	bool running;  /* false also once the kernel's side was found broken */
	uint16_t room; /* bytes that a buffer takes, virtio header included */
	uint16_t nb_spare;
	/* Buffers by the id of their descriptor; NULL: taken by the application. */
	struct rte_mbuf **mbufs;
	struct rte_mbuf **spare; /* came back and did not go to the application */
	uint8_t *scratch;        /* TAPBATCH_SLOT_LEN bytes for a superframe to be split */
	void *memory;            /* of the ring */
};

/* What is kept of a frame until the kernel has it. */
struct tapbatch_vhost_frame {
	uint16_t nb_pkts;
	uint16_t nb_table; /* descriptors in the indirect table, 0: none */
	bool done;         /* the device gave it back */
};

/* What the process keeps of a Tx queue. Everything of a frame is taken from rings in
 * order, and given back in that order, also should the device finish out of it.
 */
struct tapbatch_vhost_tx {
	struct tapbatch_vring vr;
	int kick;
	bool running;        /* as above */
	bool plain_free;     /* RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE, and never a chain so far */
	uint16_t oldest;     /* index of the first frame that was not given back */
	uint16_t pkts_head;  /* next entry of pkts to be filled */
	uint16_t pkts_tail;  /* first that is filled */
	uint32_t table_head; /* likewise of table */
	uint32_t table_tail;
	uint32_t table_size;                 /* a power of 2 */
	struct tapbatch_vhost_frame *frames; /* by descriptor */
	struct rte_mbuf **pkts;              /* as many entries as the ring has */
	struct vring_desc *table;            /* from which indirect tables are taken */
	/* By descriptor: virtio header and edited headers. */
	uint8_t (*headers)[RTE_ALIGN_CEIL(TAPBATCH_VNET_HDR_LEN + TAPBATCH_MAX_HDR, 64)];
	uint64_t stalled_since; /* TSC; 0: the worker takes what it is given */
	struct tapbatch_vhost *instance;
	void *memory;
};

/*
 * tapbatch_vhost_queue.c: an Rx queue's ring with no buffers in it, a Tx queue's. Their
 * release frees the mbufs that are in there; those of Tx were not sent, and are counted so.
 *
 * @param interrupts  whether the kernel can signal: rx->call
 * @return NULL: no memory, or no descriptors
 */
struct tapbatch_vhost_rx *tapbatch_vhost_rx_create(const struct tapbatch_rxq *rxq, bool interrupts);
struct tapbatch_vhost_tx *tapbatch_vhost_tx_create(struct tapbatch_txq *txq);
void tapbatch_vhost_rx_free(struct tapbatch_vhost_rx *rx);
void tapbatch_vhost_tx_free(struct tapbatch_txq *txq, struct tapbatch_vhost_tx *tx);

/* tapbatch_vhost_rx.c, tapbatch_vhost_tx.c: the fast path. */
uint16_t tapbatch_vhost_rx_burst(void *queue, struct rte_mbuf **pkts, uint16_t nb_pkts);
uint16_t tapbatch_vhost_tx_burst(void *queue, struct rte_mbuf **pkts, uint16_t nb_pkts);

/*
 * Puts buffers at the kernel's disposal, as many as are missing and the pool has.
 *
 * @return whether the worker waits for a kick
 */
bool tapbatch_vhost_rx_refill(struct tapbatch_rxq *rxq, struct tapbatch_vhost_rx *rx);

/* Frees what the worker has finished. Returns how many packets. */
uint16_t tapbatch_vhost_tx_reclaim(struct tapbatch_txq *txq, struct tapbatch_vhost_tx *tx);

/* Writes to an eventfd, which cannot fail for other reasons than being full of news. */
void tapbatch_vhost_notify(int fd);

/* The port can't go on: the kernel's side of a ring says what can't be. To be called
 * by the fast path; the rest is done by the interrupt thread.
 */
void tapbatch_vhost_break(uint16_t port_id, const char *kind, uint16_t queue_id, const char *what);

/* Whether a worker that was visible is not there any longer. */
bool tapbatch_vhost_worker_died(const struct tapbatch_vhost *instance);

#endif /* TAPBATCH_VHOST_H */
