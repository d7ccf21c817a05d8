/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Programs that forward between two ports: testpmd in io mode, the vhost bridge, or
 * the raw loop; and the guest behind a vhost-user socket.
 */

#ifndef PERF_FORWARDER_H
#define PERF_FORWARDER_H

#include "run_private.h"

struct forwarder {
	struct process process;
	struct process guest; /* of a stream: forwards between the socket and a tap */
	char folder[40];      /* of the socket */
	char socket[64];
};

/* The port of a guest: virtio-user in a DPDK process, on a vhost-user socket. */
extern const struct driver driver_guest;

/* Between ports fwa and fwb of the compared driver. */
bool forwarder_start(struct forwarder *f, const struct run *run, const struct run_times *times,
		     struct sample *s);

/* Between the tap iface, made by the forwarder, and a new socket. */
bool forwarder_start_vhost(struct forwarder *f, const struct run *run,
			   const struct run_times *times, const char *iface, struct sample *s);

/* The guest that forwards between the socket and its tap iface, whole superframes. */
bool forwarder_start_guest(struct forwarder *f, const struct run *run,
			   const struct run_times *times, const char *iface, struct sample *s);

/* Ends all of it, and removes the socket. */
void forwarder_end(struct forwarder *f);

#endif /* PERF_FORWARDER_H */
