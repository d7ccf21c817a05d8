/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Device arguments: from text to values, each checked.
 */

#ifndef TAPBATCH_ARGS_H
#define TAPBATCH_ARGS_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_ether.h>

enum tapbatch_engine_kind {
	TAPBATCH_ENGINE_AUTO,
	TAPBATCH_ENGINE_RW,
	TAPBATCH_ENGINE_URING,
	TAPBATCH_ENGINE_VHOST,
};

enum tapbatch_mac_kind {
	TAPBATCH_MAC_RANDOM,
	TAPBATCH_MAC_FIXED,
	TAPBATCH_MAC_GIVEN,
};

struct tapbatch_args {
	char iface[IF_NAMESIZE];
	bool l3_only; /* type=tun */
	enum tapbatch_engine_kind engine;
	uint16_t tx_batched; /* packets, 0..TAPBATCH_MAX_BATCH */
	uint32_t coalesce;   /* TAPBATCH_COALESCE_* */
	enum tapbatch_mac_kind mac_kind;
	struct rte_ether_addr mac; /* for TAPBATCH_MAC_GIVEN */
	uint32_t txqlen;           /* packets, 0: the kernel's default */
	bool persist;
	int64_t owner;            /* user id, -1: not set */
	int64_t group;            /* group id, -1: not set */
	char remote[IF_NAMESIZE]; /* empty: none */
	unsigned int vhost_cpu;   /* the first of those that workers are pinned to */
	unsigned int vhost_cpus;  /* how many, 0: not pinned */
};

/*
 * Reads the arguments of one device.
 *
 * @param name    of the device, for messages
 * @param params  "key=value,..." or NULL
 * @return 0, or -EINVAL after a message that names the argument, its value, and
 *         what is allowed
 */
int tapbatch_args_parse(const char *name, const char *params, struct tapbatch_args *args);

/* The list of arguments, in the form of RTE_PMD_REGISTER_PARAM_STRING. */
#define TAPBATCH_ARG_IFACE "iface"
#define TAPBATCH_ARG_TYPE "type"
#define TAPBATCH_ARG_ENGINE "engine"
#define TAPBATCH_ARG_TX_BATCHED "tx_batched"
#define TAPBATCH_ARG_COALESCE "coalesce"
#define TAPBATCH_ARG_MAC "mac"
#define TAPBATCH_ARG_TXQLEN "txqlen"
#define TAPBATCH_ARG_PERSIST "persist"
#define TAPBATCH_ARG_OWNER "owner"
#define TAPBATCH_ARG_GROUP "group"
#define TAPBATCH_ARG_REMOTE "remote"
#define TAPBATCH_ARG_VHOST_CPU "vhost_cpu"

#endif /* TAPBATCH_ARGS_H */
