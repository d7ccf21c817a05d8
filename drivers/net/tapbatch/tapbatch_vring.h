/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The driver's side of a split virtqueue: Virtual I/O Device (VIRTIO) 1.2, 2.7. Memory
 * and indices only, so that a test can play the device. What the device's side says is
 * checked before it is believed.
 */

#ifndef TAPBATCH_VRING_H
#define TAPBATCH_VRING_H

#include <errno.h>
#include <linux/virtio_ring.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_common.h>

/* Indices run over all of 16 bits; the queue's size, a power of 2, masks them. */
struct tapbatch_vring {
	uint16_t size;
	uint16_t mask;
	uint16_t avail_idx; /* of the next descriptor to be made available */
	uint16_t published; /* avail_idx as the device knows it */
	uint16_t used_seen; /* of the next element of the used ring to be looked at */
	uint16_t armed;     /* used_event as it was last written */
	struct vring_desc *desc;
	struct vring_avail *avail;
	struct vring_used *used;
};

/* Distance from what was seen to where used_event is put when nothing is to be
 * signalled: no index that the device writes before it is moved on comes near, since a
 * queue has at most TAPBATCH_VRING_MAX entries.
 */
#define TAPBATCH_VRING_FAR 0x8000
#define TAPBATCH_VRING_MAX 8192

/* Bytes of memory for a queue, to be aligned to a cache line. */
static inline size_t
tapbatch_vring_bytes(uint16_t size)
{
	size_t desc = sizeof(struct vring_desc) * size;
	size_t avail = RTE_ALIGN_CEIL(sizeof(uint16_t) * (3u + size), RTE_CACHE_LINE_SIZE);
	size_t used = sizeof(uint16_t) * 3 + sizeof(struct vring_used_elem) * size;

	return RTE_ALIGN_CEIL(desc, RTE_CACHE_LINE_SIZE) + avail + used;
}

/* The last field of the available ring: up to where the device need not signal. */
static inline uint16_t *
tapbatch_vring_used_event(const struct tapbatch_vring *vr)
{
	return &vr->avail->ring[vr->size];
}

/* The last field of the used ring: up to where the device needs no kick. Not aligned to
 * the elements in front of it.
 */
static inline uint16_t *
tapbatch_vring_avail_event(const struct tapbatch_vring *vr)
{
	return (uint16_t *)(void *)&vr->used->ring[vr->size];
}

/*
 * Lays a queue out in zeroed memory, empty, with notifications of the device off.
 *
 * @param memory  tapbatch_vring_bytes(size) bytes; stays the caller's
 * @param size    a power of 2, TAPBATCH_VRING_MAX at most
 */
static inline void
tapbatch_vring_init(struct tapbatch_vring *vr, void *memory, uint16_t size)
{
	uint8_t *p = memory;

	*vr = (struct tapbatch_vring){ .size = size, .mask = size - 1 };
	vr->desc = (struct vring_desc *)(void *)p;
	p += RTE_ALIGN_CEIL(sizeof(struct vring_desc) * size, RTE_CACHE_LINE_SIZE);
	vr->avail = (struct vring_avail *)(void *)p;
	p += RTE_ALIGN_CEIL(sizeof(uint16_t) * (3u + size), RTE_CACHE_LINE_SIZE);
	vr->used = (struct vring_used *)(void *)p;
	vr->armed = TAPBATCH_VRING_FAR;
	*tapbatch_vring_used_event(vr) = vr->armed;
}

/* Entries that the device has and did not give back, as far as was seen. */
static inline uint16_t
tapbatch_vring_in_flight(const struct tapbatch_vring *vr)
{
	return (uint16_t)(vr->avail_idx - vr->used_seen);
}

/*
 * Makes everything up to avail_idx available to the device.
 *
 * @return whether the device sleeps and wants a kick (VIRTIO 1.2, 2.7.10)
 */
static inline bool
tapbatch_vring_publish(struct tapbatch_vring *vr)
{
	uint16_t old = vr->published;
	uint16_t event;

	__atomic_store_n(&vr->avail->idx, vr->avail_idx, __ATOMIC_RELEASE);
	vr->published = vr->avail_idx;
	/* The device sets its event, then looks at the index once more; here it is the
	 * other way round, and one of both must see the other's.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	event = __atomic_load_n(tapbatch_vring_avail_event(vr), __ATOMIC_RELAXED);
	return vring_need_event(event, vr->avail_idx, old);
}

/*
 * New elements of the used ring.
 *
 * @return their number; -EPROTO: more than the device had entries
 */
static inline int
tapbatch_vring_used(const struct tapbatch_vring *vr)
{
	uint16_t idx = __atomic_load_n(&vr->used->idx, __ATOMIC_ACQUIRE);
	uint16_t n = (uint16_t)(idx - vr->used_seen);

	if (unlikely(n > (uint16_t)(vr->published - vr->used_seen)))
		return -EPROTO;
	return n;
}

/* The element of the used ring at used_seen, read once: what is checked is what is used,
 * whatever the device writes there meanwhile.
 */
static inline struct vring_used_elem
tapbatch_vring_next_used(const struct tapbatch_vring *vr)
{
	const struct vring_used_elem *elem = &vr->used->ring[vr->used_seen & vr->mask];

	return (struct vring_used_elem){
		.id = __atomic_load_n(&elem->id, __ATOMIC_RELAXED),
		.len = __atomic_load_n(&elem->len, __ATOMIC_RELAXED),
	};
}

/* Keeps used_event out of the device's way while it is polled: to be called now and
 * then, at least each TAPBATCH_VRING_FAR / 2 elements.
 */
static inline void
tapbatch_vring_stay_quiet(struct tapbatch_vring *vr)
{
	if (unlikely((uint16_t)(vr->armed - vr->used_seen) < TAPBATCH_VRING_FAR / 2)) {
		vr->armed = (uint16_t)(vr->used_seen + TAPBATCH_VRING_FAR);
		__atomic_store_n(tapbatch_vring_used_event(vr), vr->armed, __ATOMIC_RELAXED);
	}
}

/*
 * Asks for a signal at the next element, or for none.
 *
 * @return with on: whether such an element is there already, for which none will come
 */
static inline bool
tapbatch_vring_arm(struct tapbatch_vring *vr, bool on)
{
	vr->armed = (uint16_t)(vr->used_seen + (on ? 0 : TAPBATCH_VRING_FAR));
	__atomic_store_n(tapbatch_vring_used_event(vr), vr->armed, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return on && __atomic_load_n(&vr->used->idx, __ATOMIC_RELAXED) != vr->used_seen;
}

#endif /* TAPBATCH_VRING_H */
