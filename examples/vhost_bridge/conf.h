/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * What the bridge is told to do: by command line, and by a file that can be
 * read again while it runs.
 */

#ifndef VHOST_BRIDGE_CONF_H
#define VHOST_BRIDGE_CONF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <net/if.h>

#define VB_NAME_LEN 32
#define VB_SOCKET_LEN 108 /* sun_path */
#define VB_ARGS_LEN 192
#define VB_MAX_QUEUES 16
#define VB_MAX_PAIRS 256

struct vb_pair_conf {
	char name[VB_NAME_LEN];
	char tap[IFNAMSIZ];
	char socket[VB_SOCKET_LEN];
	char tap_args[VB_ARGS_LEN]; /* further device arguments of the tap's driver */
	bool client;                /* connect to the socket, instead of listening on it */
	bool switched;              /* may share its tap with other pairs */
	uint16_t queues;
	uint16_t mtu; /* 0: the interface's own */
	int core;     /* lcore; -1: the bridge chooses */
	uid_t owner;  /* of the socket file; -1: as it comes */
	gid_t group;
	mode_t mode;
	uint32_t age;       /* switch: seconds until a silent address is forgotten */
	uint32_t addresses; /* switch: most addresses behind this guest */
};

struct vb_conf {
	struct vb_pair_conf pairs[VB_MAX_PAIRS];
	unsigned int nb_pairs;
};

struct vb_options {
	const char *config;     /* file, or NULL */
	const char *tap_driver; /* vdev name, "net_tapbatch" */
	const char *user;       /* whom to run as, or NULL */
	uint32_t idle_us;       /* polls that find nothing this long end in sleep */
	bool busy;              /* never sleep */
	unsigned int table;     /* seconds between tables on the terminal, 0: none */
	struct vb_conf pairs;   /* given by --pair: stay over a reload */
};

/*
 * Reads the application's part of the command line.
 *
 * @return 0, 1: help was asked for and printed, or -1: said what is wrong
 */
int vb_options_parse(struct vb_options *options, int argc, char **argv);

/*
 * The pairs that there should be: those of the command line, then those of the
 * file (read anew). Checked against each other.
 *
 * @return 0, or -1: said what is wrong, conf is undefined
 */
int vb_conf_load(struct vb_conf *conf, const struct vb_options *options);

/* May both be there at once? @return 0, or -1: said why not */
int vb_pair_conf_fit(const struct vb_pair_conf *a, const struct vb_pair_conf *b);

/* Same in all that matters to a running pair. */
bool vb_pair_conf_equal(const struct vb_pair_conf *a, const struct vb_pair_conf *b);

#endif /* VHOST_BRIDGE_CONF_H */
