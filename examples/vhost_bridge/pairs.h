/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * All pairs there are, and how to get from those to the ones there should be.
 * Main lcore only, except for reading, which takes the lock.
 */

#ifndef VHOST_BRIDGE_PAIRS_H
#define VHOST_BRIDGE_PAIRS_H

#include "bridge.h"
#include "worker.h"

struct vb_pairs {
	struct vb_options *options;
	struct vb_worker *workers;
	unsigned int nb_workers;
	struct vb_tap *taps;
};

/*
 * Looks for what would make vb_pairs_apply() fail, as far as that can be seen before.
 *
 * @return 0, or -1: said what is wrong; nothing was changed
 */
int vb_pairs_check(const struct vb_pairs *pairs, const struct vb_conf *conf);

/*
 * Removes the pairs that conf does not have, or has otherwise, or whose tap is gone, adds
 * those that are missing; all others go on undisturbed. A pair that cannot be changed is
 * added again as it was.
 *
 * @return number of pairs that could not be added or changed (said why)
 */
unsigned int vb_pairs_apply(struct vb_pairs *pairs, const struct vb_conf *conf);

/* Held while a list of taps and guests is walked outside the main lcore. */
void vb_pairs_lock(void);
void vb_pairs_unlock(void);

/* Sums over a guest's lanes. */
void vb_guest_counts(const struct vb_guest *guest, struct vb_count *in, struct vb_count *out);

#endif /* VHOST_BRIDGE_PAIRS_H */
