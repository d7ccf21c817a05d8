/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * One run of a measurement: network, workers, times, and the books balanced at
 * its end.
 */

#ifndef PERF_RUN_H
#define PERF_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "driver.h"
#include "metric.h"

enum run_kind {
	RUN_BRIDGE, /* sender -> port -> Linux bridge -> port -> receiver */
	RUN_ECHO,   /* socket -> kernel -> port -> echo, and back */
	RUN_STREAM, /* iperf3 -> port A -> forwarder -> port B -> iperf3 */
	RUN_PORT,   /* bring a port up and down */
	RUN_SINK,   /* sender alone, on net_null: what the generator itself costs */
};

enum run_losses {
	LOSSES_NONE,     /* where all is paced, or one request at a time */
	LOSSES_RECEIVER, /* the receiver's interface may drop */
};

struct run {
	enum run_kind kind;
	const struct driver *sender;   /* RUN_ECHO, RUN_STREAM, RUN_PORT: NULL */
	const struct driver *receiver; /* the driver that is compared; RUN_SINK: NULL */
	/* Or what is compared is a program between a tap and a guest, and the guest is the
	 * receiver, or the sender. NULL: none.
	 */
	const struct driver *forwarder;
	char tx_devargs[64]; /* further device arguments, with a comma first */
	char rx_devargs[64];
	struct traffic traffic;
	uint16_t tx_burst;
	uint16_t rx_burst;
	uint16_t queues;
	uint16_t threads;     /* of sender and receiver each, that share the queues */
	uint16_t segments;    /* of a superframe, raw sender */
	uint32_t data_room;   /* of the receiver's mbufs */
	uint32_t hold_ns;     /* what the receiver dawdles over each packet */
	uint32_t interval_ns; /* between requests */
	uint32_t txqlen;      /* of the receiver's interface, 0: as it is */
	bool rx_interrupts;
	bool rx_armed; /* interrupt armed all the time, though polling */
	bool lro;
	bool scatter;
	bool kernel_cuts; /* the receiver's interface is given no superframes */
	bool icmp;
	bool udp_stream;
	bool ipv6;      /* the stream's addresses */
	bool own_guest; /* the guest's tap is of the forwarder's driver, else of net_tapbatch */
	uint16_t load;  /* echo: datagrams that each request must queue behind */
	bool offloads;  /* stream: LRO and TSO on the forwarder's ports */
	enum run_losses losses;
};

enum run_status {
	RUN_OK,
	RUN_INVALID,     /* it ran, but its books do not balance */
	RUN_UNSUPPORTED, /* driver or machine cannot do it */
	RUN_FAILED,
};

struct sample {
	enum run_status status;
	char why[512];         /* if not RUN_OK */
	double value[METRICS]; /* NAN: not measured */
};

struct run_times {
	uint32_t warm_up_ms;
	uint32_t measure_ms;
	int tx_core, rx_core;
};

/* What events_tracepoint() found; to be set once, before the first run. */
extern uint32_t run_tracepoint;

void run_once(const struct run *run, const struct run_times *times, struct sample *s);

#endif /* PERF_RUN_H */
