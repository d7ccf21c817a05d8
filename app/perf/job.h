/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * What the parent and its workers tell each other. A worker is this program
 * again; it reads a job, says that it is ready, is told the times of the
 * measurement, and answers with what it counted. All are plain structs over a
 * socket pair, since both ends are the same binary.
 */

#ifndef PERF_JOB_H
#define PERF_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "events.h"

#define JOB_MAX_SIZES 3
#define JOB_MAX_FLOWS 4096
#define JOB_MAX_BURST 512
#define JOB_MAX_QUEUES 16

enum job_role {
	ROLE_SEND,    /* generate packets as fast as the port takes them */
	ROLE_RECEIVE, /* poll, or wait for interrupts, and check what comes */
	ROLE_ECHO,    /* answer requests */
	ROLE_CLIENT,  /* make requests through a socket, and take the time */
	ROLE_FORWARD, /* pass superframes between two ports: taps, raw; or a guest's */
	ROLE_PORT,    /* bring a port up, say what that took */
};

enum job_backend {
	BACKEND_DPDK,       /* an ethdev port */
	BACKEND_RW,         /* writev() and readv() on a tap, one packet each */
	BACKEND_URING,      /* io_uring on a tap, a burst per submission */
	BACKEND_SUPERFRAME, /* write() and read() of superframes, vnet header by hand */
	BACKEND_THREADED,   /* BACKEND_RW in a process of two threads */
	BACKEND_VNET,       /* BACKEND_THREADED with a virtio header before each packet */
};

/* What is sent, and so what is expected. */
struct traffic {
	uint16_t size[JOB_MAX_SIZES]; /* bytes of a frame without its FCS, cycled */
	uint8_t share[JOB_MAX_SIZES]; /* how many of each size in a cycle */
	uint8_t nb_sizes;
	bool tcp;
	uint32_t flows; /* packet n belongs to flow n % flows */
	uint16_t mark;  /* this run's, so that strangers are told apart */
};

struct job {
	enum job_role role;
	enum job_backend backend;
	int core;
	char vdev[256];      /* EAL's --vdev, empty for a raw back-end */
	char peer_vdev[256]; /* of a guest: its second port */
	char plugin[256];    /* EAL's -d, may be empty */
	char iface[16];      /* interface of a raw back-end; of a client, where it sends */
	char peer[16];       /* second interface of ROLE_FORWARD */
	struct traffic traffic;
	uint16_t burst;
	uint16_t queues;
	uint16_t threads;     /* that share the queues, 0: one */
	uint16_t descriptors; /* of a queue, 0: the driver's choice */
	uint32_t data_room;   /* of the mbufs that receive, 0: 2048 and headroom */
	uint16_t segments;    /* in a superframe written by hand */
	uint32_t hold_ns;     /* what a receiver dawdles over each packet, 0: nothing */
	uint32_t interval_ns; /* between requests of a client */
	uint32_t nap_us;      /* sleep when there is nothing to do, 0: poll */
	uint16_t load;        /* datagrams that a client sends just before each request */
	uint32_t tracepoint;  /* for EVENT_WAKEUPS, 0: none */
	bool lro;
	bool scatter;
	bool interrupts; /* wait for the interrupt when a poll finds nothing */
	bool armed;      /* keep the interrupt armed, but poll all the same */
	bool icmp;       /* a client pings rather than sending UDP */
	bool offloads;   /* tap of a raw back-end takes superframes */
};

/* Times are CLOCK_MONOTONIC, in nanoseconds. Rates are taken between from and to. */
struct schedule {
	uint64_t start;
	uint64_t from;
	uint64_t to;
	uint64_t stop; /* senders end; receivers drain what is still under way */
};

/* A loop's counters; what a snapshot freezes. */
struct counters {
	uint64_t packets;
	uint64_t bytes;
	uint64_t calls;  /* bursts, or system calls of a raw back-end, that moved something */
	uint64_t idle;   /* polls that found nothing, or writes that the port refused */
	uint64_t sleeps; /* waits for an interrupt */
};

struct snapshot {
	uint64_t ns;
	struct counters count;
	uint64_t user_ns; /* of the thread that loops */
	uint64_t system_ns;
	uint64_t other_ns;       /* of the process's other threads */
	uint64_t switches;       /* voluntary context switches of the process */
	uint64_t events[EVENTS]; /* the processor's counters, of the thread that loops */
};

struct outcome {
	char error[512];  /* empty: all went well */
	bool unsupported; /* the driver, or the machine, cannot do what was asked */
	struct snapshot from, to;
	struct counters total;
	uint64_t late;    /* packets that came after a later one of their flow, or twice */
	uint64_t misfit;  /* packets with our mark but wrong length or flow */
	uint64_t foreign; /* packets that are not ours */
	/* the port's own counters, DPDK back-end */
	uint64_t missed, no_mbuf, in_errors, out_errors;
	uint64_t superframes, coalesced, split; /* extended statistics, if there */
	/* round-trip times in ns, of a client */
	uint64_t requests, replies;
	uint64_t rtt_min, rtt_50, rtt_90, rtt_99, rtt_max;
	/* of ROLE_PORT */
	uint64_t eal_ns, probe_ns, start_ns, close_ns;
	uint64_t rss_kib; /* what the port added to the resident set */
};

/* First byte of each message from a worker. */
#define JOB_READY 'r'
#define JOB_FINISHED 'f' /* all counted; the port stays until the parent answers */
#define JOB_OUTCOME 'o'

/* Of the parent, to those who receive: all that send have finished. */
#define JOB_SENDERS_ENDED 'e'

#endif /* PERF_JOB_H */
