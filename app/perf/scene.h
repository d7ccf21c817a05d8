/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The network that a measurement runs in. The parent itself enters a new network
 * namespace for each; leaving it, or dying, is what removes everything in it, so
 * there is no name to choose and none to clean up.
 */

#ifndef PERF_SCENE_H
#define PERF_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCENE_SIDES 2

struct scene {
	int side[SCENE_SIDES]; /* descriptors of further namespaces, -1: none */
	char *commands;        /* for ip(8), collected until scene_apply() */
	size_t commands_len;
};

struct interface_counters {
	uint64_t rx_packets, rx_dropped;
	uint64_t tx_packets, tx_dropped;
};

/* Enters a new namespace without IPv6, with nothing but a loopback in it. */
bool scene_enter(struct scene *s);

/* Makes a further namespace. */
bool scene_add_side(struct scene *s, int side);

void scene_leave(struct scene *s);

/* Adds a line for ip(8). */
void scene_ip(struct scene *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Runs the lines collected. side: -1 is the scene's own namespace. */
bool scene_apply(struct scene *s, int side);

/* Lets an interface have IPv6. */
bool scene_ipv6(struct scene *s, int side, const char *iface);

/* Runs one program to its end; its words are shown when it fails. */
bool scene_run(struct scene *s, int side, char *const argv[]);

/* A bridge without snooping and STP. The lines are only collected. */
void scene_bridge(struct scene *s, const char *name);

/* Puts an interface into a bridge; packets to mac go there. */
bool scene_attach(struct scene *s, const char *bridge, const char *iface, const char *mac);

bool scene_counters(const char *iface, struct interface_counters *c);

#endif /* PERF_SCENE_H */
