/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* The drivers and raw loops that are compared, and how each is brought up. */

#ifndef PERF_DRIVER_H
#define PERF_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

#include "job.h"

enum driver_kind {
	DRIVER_TAPBATCH, /* ours: loaded with -d */
	DRIVER_TAP,      /* another that makes a tap */
	DRIVER_VETH,     /* one that opens an interface; it gets an end of a veth pair */
	DRIVER_RAW,      /* a loop without DPDK */
	DRIVER_VHOST,    /* a program that forwards between a tap and a vhost-user socket */
	DRIVER_GUEST,    /* virtio-user on such a socket */
};

struct driver {
	const char *name; /* as given to --drivers, and as printed */
	enum driver_kind kind;
	enum job_backend backend;
	const char *vdev; /* format of --vdev: number, interface */
	const char *what; /* one line of help */
	/* Every packet lost shows in a counter; one that does not makes a run invalid. */
	bool accounts;
	bool thorough; /* left out of quick runs, unless asked for by name */
};

/* @return NULL if there is none of that name */
const struct driver *driver_find(const char *name);

/* The i-th of the list, NULL at its end. */
const struct driver *driver_get(size_t i);

/* @return NULL, or why it cannot be measured on this machine */
const char *driver_missing(const struct driver *d);

/* Writes what EAL's --vdev takes: the i-th device, on iface, with more arguments. */
void driver_vdev(const struct driver *d, char *vdev, size_t size, unsigned int i, const char *iface,
		 const char *more);

/* The program of a DRIVER_VHOST without a vdev: beside this one, or looked up in PATH. */
const char *driver_program(const struct driver *d);

/* What is given to EAL's -d for our driver: $TAPBATCH_PMD. */
const char *driver_plugin(void);

#endif /* PERF_DRIVER_H */
