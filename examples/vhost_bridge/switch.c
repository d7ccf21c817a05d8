/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The switch. It can't wait for one guest without holding up the others, so what waits
 * for a guest is limited: in frames, and in mbufs of each port they came from, so that
 * no guest, and no number of them, can take a pool from the rest.
 */

#include "switch.h"

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_ether.h>

#include "fdb.h"
#include "lane.h"
#include "offload.h"

/* Mbufs kept for splitting superframes, and those in caches that the worker can't get at. */
#define SPARE_MBUFS 512
/* Mbufs per segment when a superframe is split: headers, and payload from two others. */
#define MBUFS_PER_SEGMENT 3

/* Where a burst came from. */
struct source {
	struct vb_lane *lane; /* NULL: the tap */
	uint16_t slot;
	uint16_t port;
	uint32_t limit; /* mbufs of its pool that may wait for guests, all together */
	uint32_t left;  /* of these, about */
	uint64_t tsc;
};

/* Of a pool, per queue: all but a burst of the longest frames, and some to spare. */
static uint32_t
waiting_limit(const struct rte_mempool *pool, uint16_t queues)
{
	uint32_t room = rte_pktmbuf_data_room_size((struct rte_mempool *)(uintptr_t)pool) -
			RTE_PKTMBUF_HEADROOM;
	uint32_t reserve = VB_BURST * (VB_MAX_FRAME / room + 1) + SPARE_MBUFS;
	uint32_t size = pool->size / queues;

	return size > reserve ? size - reserve : 0;
}

static void
look_what_is_left(const struct vb_job *job, struct source *source)
{
	uint32_t waiting = 0;
	uint16_t i;

	for (i = 0; i < job->nb_lanes; i++)
		waiting += job->lanes[i]->waiting[source->port];
	source->left = source->limit > waiting ? source->limit - waiting : 0;
}

/*
 * A guest may keep as many of a source's mbufs waiting as are left then. So one that is
 * stuck gets a half of them, two a third each, and there is always as much left for
 * the next.
 */
static bool
may_wait(const struct vb_lane *lane, const struct source *source, uint32_t mbufs)
{
	return lane->to_guest.n < VB_SWITCH_WAITING &&
	       lane->waiting[source->port] + mbufs <= source->left;
}

/* How many mbufs a frame is likely to take when it is ready for its receiver. */
static uint32_t
mbufs_of(const struct rte_mbuf *m)
{
	uint32_t mbufs = m->nb_segs + 1;

	if ((m->ol_flags & RTE_MBUF_F_RX_LRO) != 0 && m->tso_segsz != 0)
		mbufs += MBUFS_PER_SEGMENT * (m->pkt_len / m->tso_segsz + 1);
	return mbufs;
}

/* Removes the frames behind the first n again. */
static void
cut(struct vb_hold *hold, uint16_t n)
{
	rte_pktmbuf_free_bulk(hold->pkts + hold->head + n, hold->n - n);
	hold->n = n;
	if (n == 0)
		hold->head = 0;
}

/* Adds a frame, or a copy of it, for one guest. */
static void
switch_to_guest(const struct vb_job *job, struct source *source, struct vb_lane *lane,
		struct rte_mbuf *m, bool copy)
{
	struct vb_hold *hold = &lane->to_guest;
	enum vb_drop reason = VB_DROP_GUEST_FULL;
	uint32_t before;
	uint32_t more;
	uint16_t n;

	if (!vb_guest_there(lane)) {
		reason = VB_DROP_NO_GUEST;
		goto drop;
	}
	if (!may_wait(lane, source, mbufs_of(m)) && !lane->blocked) {
		vb_flush_to_guest(lane);
		look_what_is_left(job, source);
	}
	if (!may_wait(lane, source, m->nb_segs))
		goto drop;
	if (copy) {
		/* Of its own, as it is changed for its receiver. */
		m = rte_pktmbuf_copy(m, m->pool, 0, UINT32_MAX);
		if (m == NULL) {
			lane->in.drops[VB_DROP_NO_MBUF]++;
			return;
		}
		copy = false;
	}
	n = hold->n;
	if (!vb_prepare(lane, m)) {
		reason = VB_DROP_NO_MBUF;
		goto drop;
	}
	before = lane->waiting[source->port];
	vb_count_waiting(lane->waiting, hold->pkts + hold->head + n, hold->n - n, 1);
	more = lane->waiting[source->port] - before;
	if (unlikely(before + more > source->left)) {
		vb_count_waiting(lane->waiting, hold->pkts + hold->head + n, hold->n - n, -1);
		cut(hold, n);
		lane->in.drops[VB_DROP_GUEST_FULL]++;
		return;
	}
	source->left -= more;
	return;

drop:
	lane->in.drops[reason]++;
	if (!copy)
		rte_pktmbuf_free(m);
}

static uint16_t
where_to(const struct vb_job *job, const struct rte_ether_hdr *eth, uint64_t tsc)
{
	uint16_t to;

	if (rte_is_multicast_ether_addr(&eth->dst_addr))
		return VB_SLOT_UNKNOWN;
	if (rte_is_same_ether_addr(&eth->dst_addr, &job->tap->addr))
		return VB_SLOT_TAP;
	to = vb_fdb_find(job->tap->fdb, &eth->dst_addr, tsc);
	if (to < VB_MAX_GUESTS && job->by_slot[to] == NULL)
		return VB_SLOT_UNKNOWN; /* that guest was removed */
	return to;
}

/* Sends one frame to where its destination is, or to all if that is not known. */
static void
switch_frame(const struct vb_job *job, struct source *source, struct rte_mbuf *m)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	struct vb_lane *from = source->lane;
	struct vb_lane *last = NULL;
	uint16_t to;
	uint16_t i;

	m->port = source->port;
	/* No guest can get the host's frames by using its address. */
	if (from == NULL)
		vb_fdb_learn(job->tap->fdb, &eth->src_addr, VB_SLOT_TAP, source->tsc, UINT32_MAX);
	else if (!rte_is_same_ether_addr(&eth->src_addr, &job->tap->addr))
		vb_fdb_learn(job->tap->fdb, &eth->src_addr, source->slot, source->tsc,
			     from->guest->conf.addresses);
	to = where_to(job, eth, source->tsc);
	if (to == source->slot) {
		vb_drop(from == NULL ? &job->lanes[0]->in : &from->out, VB_DROP_SAME_PORT, m);
		return;
	}
	if (to == VB_SLOT_TAP) {
		vb_add_to_tap(job, from, m);
		return;
	}
	if (to != VB_SLOT_UNKNOWN) {
		switch_to_guest(job, source, job->by_slot[to], m, false);
		return;
	}
	/* To all others; the original goes to the last, or to the tap. */
	for (i = 0; i < job->nb_lanes; i++) {
		struct vb_lane *lane = job->lanes[i];

		if (lane == from || !vb_guest_there(lane))
			continue;
		if (last != NULL)
			switch_to_guest(job, source, last, m, true);
		last = lane;
	}
	if (last != NULL)
		switch_to_guest(job, source, last, m, from != NULL);
	else if (from == NULL)
		vb_drop(&job->lanes[0]->in, VB_DROP_NO_GUEST, m);
	if (from != NULL)
		vb_add_to_tap(job, from, m);
}

static unsigned int
from_tap(const struct vb_job *job, uint64_t tsc)
{
	struct vb_tap *tap = job->tap;
	struct source source = { .slot = VB_SLOT_TAP, .port = tap->port, .tsc = tsc };
	struct rte_mbuf *pkts[VB_BURST];
	uint16_t n = rte_eth_rx_burst(tap->port, job->queue, pkts, VB_BURST);
	uint16_t i;

	if (n == 0)
		return 0;
	source.limit = waiting_limit(tap->pool, tap->conf.queues);
	look_what_is_left(job, &source);
	for (i = 0; i < n; i++) {
		if (unlikely(pkts[i]->data_len < RTE_ETHER_HDR_LEN))
			vb_drop(&job->lanes[0]->in, VB_DROP_RUNT, pkts[i]);
		else
			switch_frame(job, &source, pkts[i]);
	}
	return n;
}

static unsigned int
from_guest(const struct vb_job *job, struct vb_lane *lane, uint64_t tsc)
{
	struct vb_guest *guest = lane->guest;
	struct source source = { lane, guest->slot, guest->port, 0, 0, tsc };
	unsigned int moved = vb_flush_to_tap(job, lane);
	struct rte_mbuf *pkts[VB_BURST];
	uint16_t n;
	uint16_t i;

	if (lane->to_tap.n > 0 || !vb_guest_there(lane))
		return moved;
	/* Its pool has mbufs for the longest burst: the limit leaves as many. The library
	 * would drop frames, and count them nowhere, if it had not.
	 */
	n = rte_eth_rx_burst(guest->port, lane->queue, pkts, VB_BURST);
	if (n == 0)
		return moved;
	source.limit = waiting_limit(guest->pool, guest->conf.queues);
	look_what_is_left(job, &source);
	for (i = 0; i < n; i++)
		if (vb_accept_from_guest(lane, pkts[i]))
			switch_frame(job, &source, pkts[i]);
	vb_flush_to_tap(job, lane);
	return moved + n;
}

unsigned int
vb_switch_forward(const struct vb_job *job)
{
	uint64_t tsc = rte_rdtsc();
	unsigned int moved = 0;
	uint16_t i;

	for (i = 0; i < job->nb_lanes; i++)
		if (vb_guest_there(job->lanes[i]))
			moved += vb_flush_to_guest(job->lanes[i]);
	moved += from_tap(job, tsc);
	for (i = 0; i < job->nb_lanes; i++)
		moved += from_guest(job, job->lanes[i], tsc);
	for (i = 0; i < job->nb_lanes; i++)
		if (vb_guest_there(job->lanes[i]))
			vb_flush_to_guest(job->lanes[i]);
	return moved;
}

/* Drops the frames of a pool that wait for another guest. */
static void
drop_from_pool(struct vb_lane *lane, const struct rte_mempool *pool)
{
	struct vb_hold *hold = &lane->to_guest;
	uint16_t kept = 0;
	uint16_t i;

	for (i = 0; i < hold->n; i++) {
		struct rte_mbuf *m = hold->pkts[hold->head + i];

		if (m->pool != pool) {
			hold->pkts[kept++] = m;
			continue;
		}
		vb_count_waiting(lane->waiting, &m, 1, -1);
		vb_drop(&lane->in, VB_DROP_REMOVED, m);
	}
	hold->head = 0;
	hold->n = kept;
}

void
vb_switch_forget(struct vb_guest *guest)
{
	struct vb_tap *tap = guest->tap;
	unsigned int s;
	uint16_t q;

	vb_fdb_forget(tap->fdb, guest->slot);
	for (s = 0; s < VB_MAX_GUESTS; s++) {
		struct vb_guest *other = tap->guests[s];

		if (other == NULL || other == guest)
			continue;
		for (q = 0; q < other->conf.queues; q++)
			drop_from_pool(&other->lanes[q], guest->pool);
	}
}
