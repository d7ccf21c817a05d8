/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* The one ethdev port of a DPDK worker: EAL, pools, queues, statistics. */

#ifndef PERF_PORT_H
#define PERF_PORT_H

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "worker.h"

struct port {
	uint16_t id;
	struct rte_mempool *rx_pool;
	struct rte_mempool *tx_pool; /* of the generator, all filled with its payload */
};

/* Starts EAL on the job's core with the job's --vdev. */
bool port_eal(struct worker *w);

/* Makes the pools; port_start() does it where that has not been done. */
bool port_pools(struct worker *w, struct port *p);

/* Configures and starts the port that EAL made. */
bool port_start(struct worker *w, struct port *p);

/* Enables Rx interrupts of queue 0 for this thread; not all drivers have them. */
bool port_interrupts(struct worker *w, struct port *p);

/*
 * rte_eth_rx_burst() that sleeps when there is nothing, in the way of l3fwd-power:
 * arm, look once more, sleep, disarm. May return 0.
 */
uint16_t port_wait_burst(struct worker *w, struct port *p, struct rte_mbuf **burst, uint16_t n);

/* Reads the port's counters into the outcome, stops and closes it. */
void port_stop(struct worker *w, struct port *p);

#endif /* PERF_PORT_H */
