/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Forwarding. What the next port has no room for is kept, and while anything is
 * kept nothing more is read from where it came: so the queue grows in the kernel,
 * or in the guest's ring, and not here.
 */

#include "forward.h"

#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_vhost.h>

#include "fdb.h"
#include "offload.h"
#include "segment.h"

static void
drop(struct vb_count *count, enum vb_drop reason, struct rte_mbuf *m)
{
	count->drops[reason]++;
	rte_pktmbuf_free(m);
}

/* Room for n more at the end; what is there moves to the front if need be. */
static bool
hold_reserve(struct vb_hold *hold, unsigned int n)
{
	if (hold->head + hold->n + n <= RTE_DIM(hold->pkts))
		return true;
	if (hold->n + n > RTE_DIM(hold->pkts))
		return false;
	memmove(hold->pkts, hold->pkts + hold->head, hold->n * sizeof(hold->pkts[0]));
	hold->head = 0;
	return true;
}

static void
hold_add(struct vb_hold *hold, struct rte_mbuf *m)
{
	hold->pkts[hold->head + hold->n++] = m;
}

static void
hold_take(struct vb_hold *hold, uint16_t n)
{
	hold->n -= n;
	hold->head = hold->n == 0 ? 0 : hold->head + n;
}

/* Counted before the port frees or changes them; undone for those it did not take. */
static void
count_frames(struct vb_count *count, struct rte_mbuf *const *pkts, uint16_t n)
{
	uint16_t i;

	for (i = 0; i < n; i++) {
		count->bytes += pkts[i]->pkt_len;
		count->superframes += pkts[i]->tso_segsz != 0;
	}
	count->frames += n;
}

static void
uncount_frames(struct vb_count *count, struct rte_mbuf *const *pkts, uint16_t n)
{
	uint16_t i;

	for (i = 0; i < n; i++) {
		count->bytes -= pkts[i]->pkt_len;
		count->superframes -= pkts[i]->tso_segsz != 0;
	}
	count->frames -= n;
}

/* Sends from a hold. Returns how many the port took. */
static uint16_t
flush(struct vb_hold *hold, uint16_t port, uint16_t queue, struct vb_count *count)
{
	uint16_t total = 0;

	while (hold->n > 0) {
		uint16_t n = RTE_MIN(hold->n, VB_BURST);
		struct rte_mbuf **pkts = hold->pkts + hold->head;
		uint16_t sent;

		count_frames(count, pkts, n);
		sent = rte_eth_tx_burst(port, queue, pkts, n);
		if (sent > 0)
			count->bursts++;
		if (sent < n) {
			uncount_frames(count, pkts + sent, n - sent);
			hold_take(hold, sent);
			return total + sent;
		}
		hold_take(hold, sent);
		total += sent;
	}
	return total;
}

void
vb_lane_drop_all(struct vb_lane *lane, enum vb_drop reason)
{
	struct vb_hold *hold = &lane->to_guest;

	lane->in.drops[reason] += hold->n + lane->raw_n - lane->raw_at;
	rte_pktmbuf_free_bulk(hold->pkts + hold->head, hold->n);
	rte_pktmbuf_free_bulk(lane->raw + lane->raw_at, lane->raw_n - lane->raw_at);
	hold_take(hold, hold->n);
	lane->raw_at = lane->raw_n = 0;
	lane->blocked = false;
	if (reason != VB_DROP_REMOVED)
		return;
	hold = &lane->to_tap;
	lane->out.drops[reason] += hold->n;
	rte_pktmbuf_free_bulk(hold->pkts + hold->head, hold->n);
	hold_take(hold, hold->n);
}

/*
 * Brings the lane up to date with its guest. A guest that came back may have
 * negotiated less: what was made ready for the one before is of no use to it.
 */
static bool
guest_there(struct vb_lane *lane)
{
	uint32_t epoch = __atomic_load_n(&lane->guest->epoch, __ATOMIC_ACQUIRE);

	if (unlikely(epoch != lane->epoch)) {
		vb_lane_drop_all(lane, VB_DROP_GUEST_GONE);
		lane->epoch = epoch;
		lane->features = lane->guest->features;
	}
	return epoch & 1;
}

/*
 * The guest's queue for frames of a lane: its own, or if the guest enabled fewer
 * than the tap has, one of those. -1: none.
 */
static int
guest_queue(const struct vb_lane *lane)
{
	uint64_t enabled = __atomic_load_n(&lane->guest->to_guest, __ATOMIC_RELAXED);
	unsigned int n;

	if (likely(enabled & (1ULL << lane->queue)))
		return lane->queue;
	if (enabled == 0)
		return -1;
	for (n = lane->queue % (unsigned int)__builtin_popcountll(enabled); n > 0; n--)
		enabled &= enabled - 1;
	return __builtin_ctzll(enabled);
}

/*
 * Sends to the guest. One that has buffers in its ring and still takes nothing has
 * none, and will have none, that hold the first frame: it is dropped. Or else it
 * would stand there for ever.
 */
static uint16_t
flush_to_guest(struct vb_lane *lane)
{
	struct vb_guest *guest = lane->guest;
	struct vb_hold *hold = &lane->to_guest;
	struct rte_vhost_vring ring;
	uint16_t total;
	int queue;

	if (hold->n == 0)
		return 0;
	queue = guest_queue(lane);
	if (queue < 0) {
		lane->blocked = true;
		return 0;
	}
	total = flush(hold, guest->port, (uint16_t)queue, &lane->in);
	if (likely(hold->n == 0)) {
		lane->blocked = false;
		return total;
	}
	if (!lane->blocked)
		lane->in.stalls++;
	lane->blocked = true;
	if (total > 0)
		return total;
	/* A ring that is full of free buffers is the most there will ever be; of
	 * unmergeable buffers, one is.
	 */
	if (rte_vhost_get_vhost_vring(guest->vid, (uint16_t)(queue * 2), &ring) == 0) {
		uint16_t there = rte_vhost_avail_entries(guest->vid, (uint16_t)(queue * 2));
		uint16_t most = lane->features & VB_F_MRG_RXBUF ? ring.size : 1;

		if (there == 0 || there < most)
			return 0;
		/* They may have been put there since. */
		total = flush(hold, guest->port, (uint16_t)queue, &lane->in);
		if (total == 0 && hold->n > 0) {
			drop(&lane->in, VB_DROP_NO_BUFFER, hold->pkts[hold->head]);
			hold_take(hold, 1);
			total = 1;
		}
	}
	return total;
}

/*
 * Makes one frame ready for the guest and adds it, or its segments, to the hold.
 * Returns false when there is no mbuf for that now; the frame stays as it is.
 */
static bool
prepare(struct vb_lane *lane, struct rte_mbuf *m)
{
	struct vb_hold *hold = &lane->to_guest;
	struct vb_headers headers;
	int n;

	if (unlikely(m->data_len < RTE_ETHER_HDR_LEN)) {
		drop(&lane->in, VB_DROP_RUNT, m);
		return true;
	}
	if ((m->ol_flags & RTE_MBUF_F_RX_LRO) == 0)
		m->tso_segsz = 0;
	switch (vb_offload_to_guest(&m, lane->features, &headers)) {
	case VB_READY:
		if (!hold_reserve(hold, 1))
			drop(&lane->in, VB_DROP_GUEST_FULL, m);
		else
			hold_add(hold, m);
		return true;
	case VB_SEGMENT:
		if (!hold_reserve(hold, VB_MAX_SEGMENTS)) {
			drop(&lane->in, VB_DROP_GUEST_FULL, m);
			return true;
		}
		n = vb_segment(m, &headers, (lane->features & VB_F_GUEST_CSUM) == 0,
			       hold->pkts + hold->head + hold->n, VB_MAX_SEGMENTS);
		if (n == -ENOMEM)
			return false;
		if (n < 0) {
			drop(&lane->in, VB_DROP_BAD_OFFLOAD, m);
			return true;
		}
		hold->n += (uint16_t)n;
		lane->in.segmented++;
		return true;
	case VB_NO_MBUF:
		return false;
	default:
		drop(&lane->in, VB_DROP_BAD_OFFLOAD, m);
		return true;
	}
}

static unsigned int
tap_to_guest(const struct vb_job *job, struct vb_lane *lane)
{
	unsigned int moved = flush_to_guest(lane);

	if (lane->to_guest.n > 0)
		return moved;
	if (lane->raw_at == lane->raw_n) {
		lane->raw_at = 0;
		lane->raw_n = rte_eth_rx_burst(job->tap->port, job->queue, lane->raw, VB_BURST);
		moved += lane->raw_n;
	}
	while (lane->raw_at < lane->raw_n) {
		if (!prepare(lane, lane->raw[lane->raw_at])) {
			/* Those on their way to the guest come back to the pool, so
			 * there is hope, if there are any.
			 */
			if (flush_to_guest(lane) > 0)
				continue;
			if (lane->to_guest.n > 0)
				return moved;
			drop(&lane->in, VB_DROP_NO_MBUF, lane->raw[lane->raw_at]);
		}
		lane->raw_at++;
		if (lane->to_guest.n >= VB_BURST) {
			flush_to_guest(lane);
			if (lane->to_guest.n > 0)
				return moved;
		}
	}
	flush_to_guest(lane);
	return moved;
}

/* What may go on to the tap, or to other guests, of what a guest sent. */
static bool
accept_from_guest(struct vb_lane *lane, struct rte_mbuf *m)
{
	if (unlikely(m->data_len < RTE_ETHER_HDR_LEN)) {
		drop(&lane->out, VB_DROP_RUNT, m);
		return false;
	}
	if (unlikely(m->pkt_len > VB_MAX_FRAME)) {
		drop(&lane->out, VB_DROP_TOO_LONG, m);
		return false;
	}
	if ((m->ol_flags & RTE_MBUF_F_RX_LRO) == 0) {
		m->tso_segsz = 0;
	} else if (unlikely((m->packet_type & RTE_PTYPE_L4_MASK) == RTE_PTYPE_L4_UDP)) {
		/* All that this vhost library knows of UDP is fragmentation, which was
		 * not offered; passed on, it would be taken for segmentation.
		 */
		drop(&lane->out, VB_DROP_UFO, m);
		return false;
	}
	return true;
}

static void
add_to_tap(const struct vb_job *job, struct vb_lane *lane, struct rte_mbuf *m)
{
	if (job->tap->translate && vb_offload_to_port(m) != VB_READY)
		drop(&lane->out, VB_DROP_BAD_OFFLOAD, m);
	else
		hold_add(&lane->to_tap, m);
}

static uint16_t
flush_to_tap(const struct vb_job *job, struct vb_lane *lane)
{
	uint16_t total = flush(&lane->to_tap, job->tap->port, job->queue, &lane->out);

	if (unlikely(lane->to_tap.n > 0) && total > 0)
		lane->out.stalls++;
	return total;
}

static unsigned int
guest_to_tap(const struct vb_job *job, struct vb_lane *lane)
{
	struct rte_mbuf *pkts[VB_BURST];
	unsigned int moved = flush_to_tap(job, lane);
	uint16_t n;
	uint16_t i;

	if (lane->to_tap.n > 0)
		return moved;
	n = rte_eth_rx_burst(lane->guest->port, lane->queue, pkts, VB_BURST);
	for (i = 0; i < n; i++)
		if (accept_from_guest(lane, pkts[i]))
			add_to_tap(job, lane, pkts[i]);
	flush_to_tap(job, lane);
	return moved + n;
}

static unsigned int
forward_pair(const struct vb_job *job, struct vb_lane *lane)
{
	/* While no guest is there the tap is not read: what the host sends waits, or
	 * is dropped, in the kernel, which counts it.
	 */
	if (!guest_there(lane))
		return flush_to_tap(job, lane);
	return tap_to_guest(job, lane) + guest_to_tap(job, lane);
}

/* Adds a frame for one guest of a switch. */
static void
switch_to_guest(struct vb_lane *lane, struct rte_mbuf *m)
{
	if (!guest_there(lane))
		drop(&lane->in, VB_DROP_NO_GUEST, m);
	else if (lane->to_guest.n >= VB_SWITCH_WAITING)
		drop(&lane->in, VB_DROP_GUEST_FULL, m);
	else if (!prepare(lane, m))
		drop(&lane->in, VB_DROP_NO_MBUF, m);
}

/*
 * Sends one frame to where its destination is, or to all if that is not known.
 * from is NULL for the tap.
 */
static void
switch_frame(const struct vb_job *job, struct vb_lane *from, struct rte_mbuf *m, uint64_t tsc)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	uint16_t slot = from == NULL ? VB_SLOT_TAP : from->guest->slot;
	struct vb_lane *last = NULL;
	uint16_t to;
	uint16_t i;

	vb_fdb_learn(job->tap->fdb, &eth->src_addr, slot, tsc,
		     from == NULL ? UINT32_MAX : from->guest->conf.addresses);
	to = rte_is_multicast_ether_addr(&eth->dst_addr) ?
		     VB_SLOT_UNKNOWN :
		     vb_fdb_find(job->tap->fdb, &eth->dst_addr, tsc);
	if (to < VB_MAX_GUESTS && job->by_slot[to] == NULL)
		to = VB_SLOT_UNKNOWN; /* that guest was removed */
	if (to == slot) {
		struct vb_count *count = from == NULL ? &job->lanes[0]->in : &from->out;

		drop(count, VB_DROP_SAME_PORT, m);
		return;
	}
	if (to == VB_SLOT_TAP) {
		add_to_tap(job, from, m);
		return;
	}
	if (to != VB_SLOT_UNKNOWN) {
		switch_to_guest(job->by_slot[to], m);
		return;
	}
	/* To all others, each a copy of its own, as each is changed for its receiver;
	 * the original goes to the last.
	 */
	for (i = 0; i < job->nb_lanes; i++) {
		struct vb_lane *lane = job->lanes[i];
		struct rte_mbuf *copy;

		if (lane == from || !guest_there(lane))
			continue;
		if (last != NULL) {
			copy = rte_pktmbuf_copy(m, m->pool, 0, UINT32_MAX);
			if (copy != NULL)
				switch_to_guest(last, copy);
			else
				last->in.drops[VB_DROP_NO_MBUF]++;
		}
		last = lane;
	}
	if (from == NULL) {
		if (last != NULL)
			switch_to_guest(last, m);
		else
			drop(&job->lanes[0]->in, VB_DROP_NO_GUEST, m);
		return;
	}
	if (last != NULL) {
		struct rte_mbuf *copy = rte_pktmbuf_copy(m, m->pool, 0, UINT32_MAX);

		if (copy != NULL)
			switch_to_guest(last, copy);
		else
			last->in.drops[VB_DROP_NO_MBUF]++;
	}
	add_to_tap(job, from, m);
}

static unsigned int
forward_switch(const struct vb_job *job)
{
	struct rte_mbuf *pkts[VB_BURST];
	uint64_t tsc = rte_rdtsc();
	unsigned int moved = 0;
	uint16_t n;
	uint16_t i;
	uint16_t j;

	for (i = 0; i < job->nb_lanes; i++)
		if (guest_there(job->lanes[i]))
			moved += flush_to_guest(job->lanes[i]);
	n = rte_eth_rx_burst(job->tap->port, job->queue, pkts, VB_BURST);
	for (j = 0; j < n; j++) {
		if (unlikely(pkts[j]->data_len < RTE_ETHER_HDR_LEN))
			drop(&job->lanes[0]->in, VB_DROP_RUNT, pkts[j]);
		else
			switch_frame(job, NULL, pkts[j], tsc);
	}
	moved += n;
	for (i = 0; i < job->nb_lanes; i++) {
		struct vb_lane *lane = job->lanes[i];

		moved += flush_to_tap(job, lane);
		if (lane->to_tap.n > 0 || !guest_there(lane))
			continue;
		n = rte_eth_rx_burst(lane->guest->port, lane->queue, pkts, VB_BURST);
		for (j = 0; j < n; j++)
			if (accept_from_guest(lane, pkts[j]))
				switch_frame(job, lane, pkts[j], tsc);
		flush_to_tap(job, lane);
		moved += n;
	}
	for (i = 0; i < job->nb_lanes; i++)
		if (guest_there(job->lanes[i]))
			flush_to_guest(job->lanes[i]);
	return moved;
}

unsigned int
vb_forward(const struct vb_job *job)
{
	if (job->tap->fdb != NULL)
		return forward_switch(job);
	return forward_pair(job, job->lanes[0]);
}

bool
vb_forward_waiting(const struct vb_job *job)
{
	uint16_t i;

	for (i = 0; i < job->nb_lanes; i++)
		if (job->lanes[i]->to_guest.n > 0 || job->lanes[i]->to_tap.n > 0 ||
		    job->lanes[i]->raw_at < job->lanes[i]->raw_n)
			return true;
	return false;
}
