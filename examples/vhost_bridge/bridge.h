/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * What the parts of the bridge share. A tap has guests: one (a pair), or several
 * (a switch). A lane is what one worker forwards between one queue of the tap and
 * one queue of one guest; a job is all the lanes of one tap queue.
 *
 * Threads: the main lcore makes and removes taps and guests and publishes lists of
 * jobs; each job is one worker's alone; DPDK's vhost thread reports what guests do.
 */

#ifndef VHOST_BRIDGE_H
#define VHOST_BRIDGE_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_ether.h>
#include <rte_log.h>
#include <rte_mbuf.h>

#include "conf.h"
#include "drops.h"

#define VB_BURST 64
/* A superframe can become this many packets; more are taken for an attack. */
#define VB_MAX_SEGMENTS 2048
/* Frames that wait for one guest of a switch before more of them are dropped. */
#define VB_SWITCH_WAITING 512
#define VB_MAX_GUESTS 64 /* per tap */

extern int vb_logtype;
#define VB_LOG(level, fmt, ...) \
	rte_log(RTE_LOG_##level, vb_logtype, "vhost_bridge: " fmt "\n", ##__VA_ARGS__)

struct vb_worker;
struct vb_tap;
struct vb_fdb;

/* Frames on their way that the next port had no room for yet. */
struct vb_hold {
	uint16_t head;
	uint16_t n;
	struct rte_mbuf *pkts[VB_BURST + VB_SWITCH_WAITING + VB_MAX_SEGMENTS];
};

/* One direction of a lane. Written by its worker only, read by anybody. */
struct vb_count {
	uint64_t frames;
	uint64_t bytes;
	uint64_t superframes; /* of the frames, passed on whole */
	uint64_t segmented;   /* superframes that were split here */
	uint64_t bursts;      /* calls that moved something */
	uint64_t stalls;      /* times that the next port had no room */
	uint64_t drops[VB_NB_DROPS];
};

struct vb_guest {
	struct vb_pair_conf conf;
	struct vb_tap *tap;
	uint16_t port;
	uint16_t slot; /* in the tap's guests */
	/* Of frames the guest sends. Its own: a guest that lies about lengths can
	 * exhaust no one else's.
	 */
	struct rte_mempool *pool;
	struct vb_lane *lanes; /* one per queue */

	/* Set by the vhost thread, read by workers. Even epoch: nobody there. */
	uint32_t epoch;
	int vid;
	uint64_t features;
	uint64_t to_guest; /* bit per queue that the guest receives from */
	uint64_t connects;
	/* The vhost thread's own. */
	bool crowded; /* there was more than one at once */
	uint64_t said_since;
	unsigned int said;

	/* The table's own: what was counted when it was last printed. */
	struct vb_count seen_in;
	struct vb_count seen_out;
};

struct vb_lane {
	struct vb_guest *guest;
	uint16_t queue;
	bool blocked;   /* frames wait for the guest's ring */
	uint32_t epoch; /* the guest's, that to_guest was filled for */
	uint64_t features;
	/* Read from the tap, not yet made ready for the guest. */
	uint16_t raw_at;
	uint16_t raw_n;
	struct rte_mbuf *raw[VB_BURST];
	struct vb_hold to_guest;
	struct vb_hold to_tap;
	/* Switch: mbufs in to_guest, by the port they came from. */
	uint32_t waiting[RTE_MAX_ETHPORTS];
	/* Free buffers of a guest that takes nothing, and since when (tsc). */
	uint16_t idle_buffers;
	uint64_t idle_since;
	struct vb_count in;  /* towards the guest */
	struct vb_count out; /* from the guest */
} __rte_cache_aligned;

struct vb_tap {
	struct vb_pair_conf conf; /* of the first pair that named it */
	uint16_t port;
	bool translate; /* Tx needs Tx flags: not our driver */
	bool intr;      /* Rx interrupts work */
	bool gone;      /* the interface was deleted; set by EAL's interrupt thread */
	struct rte_mempool *pool;
	struct vb_worker *worker;
	struct vb_fdb *fdb;         /* switch only */
	bool paused;                /* main lcore: to be left out of the list of jobs */
	struct rte_ether_addr addr; /* of the host's interface */
	struct vb_guest *guests[VB_MAX_GUESTS];
	struct vb_tap *next;
};

/* Immutable once published. */
struct vb_job {
	struct vb_tap *tap;
	uint16_t queue;
	uint16_t nb_lanes;
	struct vb_lane *lanes[VB_MAX_GUESTS];
	/* By the guest's slot. */
	struct vb_lane *by_slot[VB_MAX_GUESTS];
};

#endif /* VHOST_BRIDGE_H */
