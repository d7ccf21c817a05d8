/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* portool's commands for the driver's own functions, rte_pmd_tapbatch.h. */

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "portool.h"
#include "rte_pmd_tapbatch.h"

/* The driver was loaded by EAL, which shares its symbols with nobody. NULL: not there. */
static void *
driver_function(const char *name)
{
	const char *path = getenv("TAPBATCH_PMD");
	void *driver = path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_NOLOAD);
	void *function = driver == NULL ? NULL : dlsym(driver, name);

	if (function == NULL)
		printf("%s is not in %s, or that is not loaded\n", name, path ? path : "(nothing)");
	return function;
}

/* Declares a pointer to one of the functions, and returns if there is none. */
#define FIND(name)                                                             \
	typeof(&rte_pmd_tapbatch_##name) name = (typeof(name))driver_function( \
		"rte_pmd_tapbatch_" #name);                                    \
	if (name == NULL)                                                      \
	return -ENOSYS

static uint16_t
number(const char *text)
{
	return (uint16_t)strtoul(text, NULL, 0);
}

static int
tx_batched(char **argv)
{
	FIND(tx_batched_get);
	FIND(tx_batched_set);
	uint16_t packets = 0;
	int ret;

	if (argv[2][0] != '\0')
		return tx_batched_set(number(argv[1]), number(argv[2]));
	ret = tx_batched_get(number(argv[1]), &packets);
	printf("%u\n", packets);
	return ret;
}

static int
coalesce(char **argv)
{
	FIND(coalesce_get);
	FIND(coalesce_set);
	uint32_t kinds = 0;
	int ret;

	if (argv[2][0] != '\0')
		return coalesce_set(number(argv[1]), number(argv[2]));
	ret = coalesce_get(number(argv[1]), &kinds);
	printf("%" PRIu32 "\n", kinds);
	return ret;
}

static void
print_sizes(const char *name, const uint64_t sizes[RTE_PMD_TAPBATCH_SIZES])
{
	unsigned int i;

	printf("%s", name);
	for (i = 0; i < RTE_PMD_TAPBATCH_SIZES; i++)
		printf(" %" PRIu64, sizes[i]);
	printf("\n");
}

static int
rx_batches(char **argv)
{
	FIND(rx_batches_get);
	struct rte_pmd_tapbatch_rx_batches b;
	int ret = rx_batches_get(number(argv[1]), number(argv[2]), &b);

	if (ret != 0)
		return ret;
	printf("packets %" PRIu64 "\nbytes %" PRIu64 "\nbatches %" PRIu64 "\nsyscalls %" PRIu64
	       "\nsuperframes %" PRIu64 "\nsplit_superframes %" PRIu64 "\nsplit_packets %" PRIu64
	       "\n",
	       b.packets, b.bytes, b.batches, b.syscalls, b.superframes, b.split_superframes,
	       b.split_packets);
	print_sizes("sizes", b.sizes);
	return 0;
}

static int
tx_batches(char **argv)
{
	FIND(tx_batches_get);
	FIND(reason_name);
	struct rte_pmd_tapbatch_tx_batches b;
	int ret = tx_batches_get(number(argv[1]), number(argv[2]), &b);
	unsigned int i;

	if (ret != 0)
		return ret;
	printf("packets %" PRIu64 "\nbytes %" PRIu64 "\nbatches %" PRIu64 "\nsyscalls %" PRIu64
	       "\nsuperframes %" PRIu64 "\ncoalesced_packets %" PRIu64 "\ndropped %" PRIu64
	       "\nno_room %" PRIu64 "\n",
	       b.packets, b.bytes, b.batches, b.syscalls, b.superframes, b.coalesced_packets,
	       b.dropped, b.no_room);
	print_sizes("sizes", b.sizes);
	print_sizes("superframe_sizes", b.superframe_sizes);
	for (i = 0; reason_name(i) != NULL; i++)
		printf("%s %" PRIu64 "\n", reason_name(i), b.unmerged[i]);
	return 0;
}

static int
kernel_drops(char **argv)
{
	FIND(kernel_drops_get);
	uint64_t rx = 0, tx = 0;
	int ret = kernel_drops_get(number(argv[1]), &rx, &tx);

	printf("rx %" PRIu64 "\ntx %" PRIu64 "\n", rx, tx);
	return ret;
}

static int
batches_clear(char **argv)
{
	FIND(batches_clear);
	return batches_clear(number(argv[1]));
}

/* Each function that fills something in, without it. */
static int
batches_null(char **argv)
{
	FIND(rx_batches_get);
	FIND(tx_batches_get);
	FIND(kernel_drops_get);
	FIND(tx_batched_get);
	FIND(coalesce_get);
	uint16_t port = number(argv[1]);
	uint64_t drops;

	if (rx_batches_get(port, 0, NULL) != -EINVAL || tx_batches_get(port, 0, NULL) != -EINVAL)
		return mismatch("batches_get without room: expected -EINVAL");
	if (kernel_drops_get(port, NULL, &drops) != -EINVAL ||
	    kernel_drops_get(port, &drops, NULL) != -EINVAL)
		return mismatch("kernel_drops_get without room: expected -EINVAL");
	if (tx_batched_get(port, NULL) != -EINVAL || coalesce_get(port, NULL) != -EINVAL)
		return mismatch("tx_batched_get, coalesce_get without room: expected -EINVAL");
	return 0;
}

const struct command batches_commands[] = {
	{ "tx_batched", tx_batched, "PORT [PACKETS]" }, { "coalesce", coalesce, "PORT [KINDS]" },
	{ "rx_batches", rx_batches, "PORT QUEUE" },     { "tx_batches", tx_batches, "PORT QUEUE" },
	{ "kernel_drops", kernel_drops, "PORT" },       { "batches_clear", batches_clear, "PORT" },
	{ "batches_null", batches_null, "PORT" },       { NULL, NULL, NULL },
};
