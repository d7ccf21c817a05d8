/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* What the kinds of runs share. */

#ifndef PERF_RUN_PRIVATE_H
#define PERF_RUN_PRIVATE_H

#include "run.h"
#include "scene.h"

/* Marks a sample; the first reason stands. Returns false. */
bool run_fail(struct sample *s, enum run_status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The interface that the kernel's side uses: the tap itself, or the veth's other end. */
void run_bridge_side(const struct driver *d, const char *iface, char *name, size_t size);

/* Collects the commands that make a port's interface, for drivers that do not. */
void run_prepare_port(struct scene *scene, const struct driver *d, const char *iface);

/* Has the kernel cut superframes and fill in checksums before they reach iface. */
bool run_kernel_cuts(struct scene *scene, int side, const char *iface);

void run_stream(const struct run *run, const struct run_times *times, struct scene *scene,
		struct sample *s);

#endif /* PERF_RUN_PRIVATE_H */
