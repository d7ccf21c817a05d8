/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The network namespace that a tun interface is in now, wherever somebody moved
 * it, and a short visit of the calling thread there.
 */

#ifndef TAPBATCH_NETNS_H
#define TAPBATCH_NETNS_H

struct tapbatch_netns_visit {
	int home; /* descriptor of the namespace to return to, -1: never left */
};

/*
 * Takes the calling thread into the namespace of the interface behind tun_fd
 * (TUNGETDEVNETNS, Linux 5.2). On older kernels, or without the privileges, the
 * thread stays where it is, which is right as long as nobody moves interfaces.
 *
 * @return 0; -EBADFD: the interface is gone; other negative errno: the namespace
 *         is another one and cannot be entered
 */
int tapbatch_netns_enter(int tun_fd, struct tapbatch_netns_visit *visit);

/* Brings the thread back. Safe after an enter that failed. */
void tapbatch_netns_leave(struct tapbatch_netns_visit *visit);

#endif /* TAPBATCH_NETNS_H */
