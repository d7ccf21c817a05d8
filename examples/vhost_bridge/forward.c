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

#include "lane.h"
#include "offload.h"
#include "segment.h"
#include "switch.h"
#include "tap.h"

/* A guest that leaves all its free buffers as they are for so long has no more. */
#define IDLE_BUFFERS_SECONDS 1

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

void
vb_count_waiting(uint32_t *waiting, struct rte_mbuf *const *pkts, uint16_t n, int sign)
{
	uint16_t i;

	for (i = 0; i < n; i++)
		waiting[pkts[i]->port] += (uint32_t)(sign * pkts[i]->nb_segs);
}

/* Sends from a hold. Returns how many the port took. waiting may be NULL. */
static uint16_t
flush(struct vb_hold *hold, uint16_t port, uint16_t queue, struct vb_count *count,
      uint32_t *waiting)
{
	uint16_t total = 0;

	while (hold->n > 0) {
		uint16_t n = RTE_MIN(hold->n, VB_BURST);
		struct rte_mbuf **pkts = hold->pkts + hold->head;
		uint16_t sent;

		count_frames(count, pkts, n);
		if (waiting != NULL)
			vb_count_waiting(waiting, pkts, n, -1);
		sent = rte_eth_tx_burst(port, queue, pkts, n);
		if (sent > 0)
			count->bursts++;
		if (sent < n) {
			uncount_frames(count, pkts + sent, n - sent);
			if (waiting != NULL)
				vb_count_waiting(waiting, pkts + sent, n - sent, 1);
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
	memset(lane->waiting, 0, sizeof(lane->waiting));
	lane->idle_buffers = 0;
	lane->raw_at = lane->raw_n = 0;
	lane->blocked = false;
	if (reason != VB_DROP_REMOVED)
		return;
	hold = &lane->to_tap;
	lane->out.drops[reason] += hold->n;
	rte_pktmbuf_free_bulk(hold->pkts + hold->head, hold->n);
	hold_take(hold, hold->n);
}

/* A guest that came back may have negotiated less: what was made ready for the one
 * before is of no use to it.
 */
bool
vb_guest_there(struct vb_lane *lane)
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
 * Whether the first frame will never fit into what the guest has offered: into a ring
 * that is full of free buffers, which is the most there will ever be; into one buffer,
 * if they can't be merged; or into fewer, of which the guest takes none away and to
 * which it adds none. That is said once in a while only: it may just have been paused.
 */
static bool
never_fits(struct vb_lane *lane, uint16_t ring_index)
{
	struct vb_guest *guest = lane->guest;
	struct rte_vhost_vring ring;
	uint64_t now = rte_rdtsc();
	uint16_t there;

	if (rte_vhost_get_vhost_vring(guest->vid, ring_index, &ring) < 0)
		return false;
	there = rte_vhost_avail_entries(guest->vid, ring_index);
	if (there == 0 || there != lane->idle_buffers) {
		lane->idle_buffers = there;
		lane->idle_since = now;
	}
	if (there == 0)
		return false;
	if (there >= (lane->features & VB_F_MRG_RXBUF ? ring.size : 1))
		return true;
	if (now - lane->idle_since < IDLE_BUFFERS_SECONDS * rte_get_tsc_hz())
		return false;
	lane->idle_since = now;
	return true;
}

/*
 * Sends to the guest. A frame that will never fit is dropped, or else it would stand
 * there for ever.
 */
uint16_t
vb_flush_to_guest(struct vb_lane *lane)
{
	struct vb_guest *guest = lane->guest;
	struct vb_hold *hold = &lane->to_guest;
	uint32_t *waiting = guest->tap->fdb != NULL ? lane->waiting : NULL;
	uint16_t total;
	int queue;

	if (hold->n == 0)
		return 0;
	queue = guest_queue(lane);
	if (queue < 0) {
		lane->blocked = true;
		return 0;
	}
	total = flush(hold, guest->port, (uint16_t)queue, &lane->in, waiting);
	if (likely(hold->n == 0)) {
		lane->blocked = false;
		return total;
	}
	if (!lane->blocked)
		lane->in.stalls++;
	lane->blocked = true;
	if (total > 0) {
		lane->idle_buffers = 0;
		return total;
	}
	if (!never_fits(lane, (uint16_t)(queue * 2)))
		return 0;
	/* Buffers may have been put there since. */
	total = flush(hold, guest->port, (uint16_t)queue, &lane->in, waiting);
	if (total == 0 && hold->n > 0) {
		if (waiting != NULL)
			vb_count_waiting(waiting, hold->pkts + hold->head, 1, -1);
		vb_drop(&lane->in, VB_DROP_NO_BUFFER, hold->pkts[hold->head]);
		hold_take(hold, 1);
		total = 1;
	}
	return total;
}

bool
vb_prepare(struct vb_lane *lane, struct rte_mbuf *m)
{
	struct vb_hold *hold = &lane->to_guest;
	struct vb_headers headers;
	int n;

	if (unlikely(m->data_len < RTE_ETHER_HDR_LEN)) {
		vb_drop(&lane->in, VB_DROP_RUNT, m);
		return true;
	}
	if ((m->ol_flags & RTE_MBUF_F_RX_LRO) == 0)
		m->tso_segsz = 0;
	switch (vb_offload_to_guest(&m, lane->features, &headers)) {
	case VB_READY:
		if (!hold_reserve(hold, 1))
			vb_drop(&lane->in, VB_DROP_GUEST_FULL, m);
		else
			hold_add(hold, m);
		return true;
	case VB_SEGMENT:
		if (!hold_reserve(hold, VB_MAX_SEGMENTS)) {
			vb_drop(&lane->in, VB_DROP_GUEST_FULL, m);
			return true;
		}
		n = vb_segment(m, &headers, (lane->features & VB_F_GUEST_CSUM) == 0,
			       hold->pkts + hold->head + hold->n, VB_MAX_SEGMENTS);
		if (n == -ENOMEM)
			return false;
		if (n < 0) {
			vb_drop(&lane->in, VB_DROP_BAD_OFFLOAD, m);
			return true;
		}
		hold->n += (uint16_t)n;
		lane->in.segmented++;
		return true;
	case VB_NO_MBUF:
		return false;
	default:
		vb_drop(&lane->in, VB_DROP_BAD_OFFLOAD, m);
		return true;
	}
}

static unsigned int
tap_to_guest(const struct vb_job *job, struct vb_lane *lane)
{
	unsigned int moved = vb_flush_to_guest(lane);

	if (lane->to_guest.n > 0)
		return moved;
	if (lane->raw_at == lane->raw_n) {
		lane->raw_at = 0;
		lane->raw_n = rte_eth_rx_burst(job->tap->port, job->queue, lane->raw, VB_BURST);
		moved += lane->raw_n;
	}
	while (lane->raw_at < lane->raw_n) {
		if (!vb_prepare(lane, lane->raw[lane->raw_at])) {
			/* Those on their way to the guest come back to the pool, so
			 * there is hope, if there are any.
			 */
			if (vb_flush_to_guest(lane) > 0)
				continue;
			if (lane->to_guest.n > 0)
				return moved;
			vb_drop(&lane->in, VB_DROP_NO_MBUF, lane->raw[lane->raw_at]);
		}
		lane->raw_at++;
		if (lane->to_guest.n >= VB_BURST) {
			vb_flush_to_guest(lane);
			if (lane->to_guest.n > 0)
				return moved;
		}
	}
	vb_flush_to_guest(lane);
	return moved;
}

bool
vb_accept_from_guest(struct vb_lane *lane, struct rte_mbuf *m)
{
	if (unlikely(m->data_len < RTE_ETHER_HDR_LEN)) {
		vb_drop(&lane->out, VB_DROP_RUNT, m);
		return false;
	}
	if (unlikely(m->pkt_len > VB_MAX_FRAME)) {
		vb_drop(&lane->out, VB_DROP_TOO_LONG, m);
		return false;
	}
	if ((m->ol_flags & RTE_MBUF_F_RX_LRO) == 0) {
		m->tso_segsz = 0;
	} else if (unlikely((m->packet_type & RTE_PTYPE_L4_MASK) == RTE_PTYPE_L4_UDP)) {
		/* All that this vhost library knows of UDP is fragmentation, which was
		 * not offered; passed on, it would be taken for segmentation.
		 */
		vb_drop(&lane->out, VB_DROP_UFO, m);
		return false;
	}
	return true;
}

void
vb_add_to_tap(const struct vb_job *job, struct vb_lane *lane, struct rte_mbuf *m)
{
	if (job->tap->translate && vb_offload_to_port(m) != VB_READY)
		vb_drop(&lane->out, VB_DROP_BAD_OFFLOAD, m);
	else
		hold_add(&lane->to_tap, m);
}

uint16_t
vb_flush_to_tap(const struct vb_job *job, struct vb_lane *lane)
{
	uint16_t total = flush(&lane->to_tap, job->tap->port, job->queue, &lane->out, NULL);

	if (unlikely(lane->to_tap.n > 0) && total > 0)
		lane->out.stalls++;
	return total;
}

static unsigned int
guest_to_tap(const struct vb_job *job, struct vb_lane *lane)
{
	struct rte_mbuf *pkts[VB_BURST];
	unsigned int moved = vb_flush_to_tap(job, lane);
	uint16_t n;
	uint16_t i;

	if (lane->to_tap.n > 0)
		return moved;
	n = rte_eth_rx_burst(lane->guest->port, lane->queue, pkts, VB_BURST);
	for (i = 0; i < n; i++)
		if (vb_accept_from_guest(lane, pkts[i]))
			vb_add_to_tap(job, lane, pkts[i]);
	vb_flush_to_tap(job, lane);
	return moved + n;
}

static unsigned int
forward_pair(const struct vb_job *job, struct vb_lane *lane)
{
	/* While no guest is there the tap is not read: what the host sends waits, or
	 * is dropped, in the kernel, which counts it.
	 */
	if (!vb_guest_there(lane))
		return vb_flush_to_tap(job, lane);
	return tap_to_guest(job, lane) + guest_to_tap(job, lane);
}

unsigned int
vb_forward(const struct vb_job *job)
{
	if (unlikely(vb_tap_gone(job->tap)))
		return 0;
	if (job->tap->fdb != NULL)
		return vb_switch_forward(job);
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
