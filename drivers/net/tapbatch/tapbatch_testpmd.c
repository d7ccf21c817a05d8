/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The driver's commands for testpmd: their words, help, and what they call. Part of a
 * testpmd that is built with the driver in its tree; else a plug-in, see app/testpmd.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <cmdline_parse_num.h>
#include <cmdline_parse_string.h>

#include "testpmd.h"

#include "rte_pmd_tapbatch.h"
#include "tapbatch_testpmd.h"

#define MAX_SECONDS 86400

/* What any of the commands is parsed into. */
struct command {
	cmdline_fixed_string_t verb;
	cmdline_fixed_string_t port;
	portid_t port_id;
	cmdline_fixed_string_t tapbatch;
	cmdline_fixed_string_t what;
	uint16_t packets;
	cmdline_fixed_string_t kinds;
	uint32_t seconds;
};

#define WORD(name, field, text)                            \
	static cmdline_parse_token_string_t token_##name = \
		TOKEN_STRING_INITIALIZER(struct command, field, text)
#define NUMBER(name, type)                                                                    \
	static cmdline_parse_token_num_t token_##name = TOKEN_NUM_INITIALIZER(struct command, \
									      name, type)

WORD(show, verb, "show");
WORD(clear, verb, "clear");
WORD(set, verb, "set");
WORD(port, port, "port");
NUMBER(port_id, RTE_UINT16);
WORD(tapbatch, tapbatch, "tapbatch");
WORD(batches, what, "batches");
WORD(config, what, "config");
WORD(tx_batched, what, "tx_batched");
NUMBER(packets, RTE_UINT16);
WORD(coalesce, what, "coalesce");
WORD(kinds, kinds, "none#tcp#udp#tcp+udp");
WORD(watch, what, "watch");
WORD(sweep, what, "sweep");
NUMBER(seconds, RTE_UINT32);

static void
show_batches(void *parsed, __rte_unused struct cmdline *cl, __rte_unused void *data)
{
	const struct command *c = parsed;

	tapbatch_testpmd_show_batches(c->port_id);
}

static cmdline_parse_inst_t cmd_show_batches = {
	.f = show_batches,
	.help_str = "show port <port_id> tapbatch batches: Show how packets were batched",
	.tokens = {
		(void *)&token_show,
		(void *)&token_port,
		(void *)&token_port_id,
		(void *)&token_tapbatch,
		(void *)&token_batches,
		NULL,
	},
};

static void
show_config(void *parsed, __rte_unused struct cmdline *cl, __rte_unused void *data)
{
	const struct command *c = parsed;

	tapbatch_testpmd_show_config(c->port_id);
}

static cmdline_parse_inst_t cmd_show_config = {
	.f = show_config,
	.help_str = "show port <port_id> tapbatch config: Show tx_batched and coalesce",
	.tokens = {
		(void *)&token_show,
		(void *)&token_port,
		(void *)&token_port_id,
		(void *)&token_tapbatch,
		(void *)&token_config,
		NULL,
	},
};

static void
clear_batches(void *parsed, __rte_unused struct cmdline *cl, __rte_unused void *data)
{
	const struct command *c = parsed;
	int ret = rte_pmd_tapbatch_batches_clear(c->port_id);

	if (ret != 0)
		tapbatch_testpmd_complain(c->port_id, ret);
	else
		printf("\n  Batches for port %u cleared\n", c->port_id);
}

static cmdline_parse_inst_t cmd_clear_batches = {
	.f = clear_batches,
	.help_str = "clear port <port_id> tapbatch batches: Let these counters begin at 0",
	.tokens = {
		(void *)&token_clear,
		(void *)&token_port,
		(void *)&token_port_id,
		(void *)&token_tapbatch,
		(void *)&token_batches,
		NULL,
	},
};

static void
set_tx_batched(void *parsed, __rte_unused struct cmdline *cl, __rte_unused void *data)
{
	const struct command *c = parsed;
	int ret = rte_pmd_tapbatch_tx_batched_set(c->port_id, c->packets);

	if (ret == -EINVAL)
		fprintf(stderr, "tx_batched %u is not allowed: a number of packets, 0 to 64\n",
			c->packets);
	else if (ret != 0)
		tapbatch_testpmd_complain(c->port_id, ret);
}

static cmdline_parse_inst_t cmd_set_tx_batched = {
	.f = set_tx_batched,
	.help_str = "set port <port_id> tapbatch tx_batched <packets>: "
		    "Set how many packets at most go into the kernel together, 0 to 64",
	.tokens = {
		(void *)&token_set,
		(void *)&token_port,
		(void *)&token_port_id,
		(void *)&token_tapbatch,
		(void *)&token_tx_batched,
		(void *)&token_packets,
		NULL,
	},
};

static void
set_coalesce(void *parsed, __rte_unused struct cmdline *cl, __rte_unused void *data)
{
	const struct command *c = parsed;
	uint32_t kinds = 0;
	int ret;

	if (strstr(c->kinds, "tcp") != NULL)
		kinds |= RTE_PMD_TAPBATCH_COALESCE_TCP;
	if (strstr(c->kinds, "udp") != NULL)
		kinds |= RTE_PMD_TAPBATCH_COALESCE_UDP;
	ret = rte_pmd_tapbatch_coalesce_set(c->port_id, kinds);
	if (ret == -EPROTONOSUPPORT)
		fprintf(stderr, "coalesce %s: this kernel does not segment all of it soundly\n",
			c->kinds);
	else if (ret != 0)
		tapbatch_testpmd_complain(c->port_id, ret);
}

static cmdline_parse_inst_t cmd_set_coalesce = {
	.f = set_coalesce,
	.help_str = "set port <port_id> tapbatch coalesce none|tcp|udp|tcp+udp: "
		    "Set which packets may become superframes",
	.tokens = {
		(void *)&token_set,
		(void *)&token_port,
		(void *)&token_port_id,
		(void *)&token_tapbatch,
		(void *)&token_coalesce,
		(void *)&token_kinds,
		NULL,
	},
};

static bool
sane_seconds(uint32_t seconds)
{
	if (seconds >= 1 && seconds <= MAX_SECONDS)
		return true;
	fprintf(stderr, "%u seconds are not allowed: 1 to %u\n", seconds, MAX_SECONDS);
	return false;
}

static void
watch(void *parsed, __rte_unused struct cmdline *cl, __rte_unused void *data)
{
	const struct command *c = parsed;

	if (sane_seconds(c->seconds))
		tapbatch_testpmd_watch(c->port_id, c->seconds);
}

static cmdline_parse_inst_t cmd_watch = {
	.f = watch,
	.help_str = "tapbatch watch <port_id> <seconds>: Show rates each second; "
		    "a key ends it before",
	.tokens = {
		(void *)&token_tapbatch,
		(void *)&token_watch,
		(void *)&token_port_id,
		(void *)&token_seconds,
		NULL,
	},
};

static void
sweep(void *parsed, __rte_unused struct cmdline *cl, __rte_unused void *data)
{
	const struct command *c = parsed;

	if (sane_seconds(c->seconds))
		tapbatch_testpmd_sweep(c->port_id, c->seconds);
}

static cmdline_parse_inst_t cmd_sweep = {
	.f = sweep,
	.help_str = "tapbatch sweep <port_id> <seconds>: Forward in the current mode with each "
		    "tx_batched of 0, 4, 8, 16, 32, 48, 64 for so long, show a table and CSV",
	.tokens = {
		(void *)&token_tapbatch,
		(void *)&token_sweep,
		(void *)&token_port_id,
		(void *)&token_seconds,
		NULL,
	},
};

static struct testpmd_driver_commands tapbatch_cmds = {
	.commands = {
	{
		&cmd_show_batches,
		"show port (port_id) tapbatch batches\n"
		"    Show per queue how packets were batched: sizes of batches and superframes,\n"
		"    reasons for not merging, system calls, drops of the kernel.\n",
	},
	{
		&cmd_show_config,
		"show port (port_id) tapbatch config\n"
		"    Show tx_batched and coalesce.\n",
	},
	{
		&cmd_clear_batches,
		"clear port (port_id) tapbatch batches\n"
		"    Let these counters begin at 0; statistics and xstats stay.\n",
	},
	{
		&cmd_set_tx_batched,
		"set port (port_id) tapbatch tx_batched (packets)\n"
		"    Set how many packets at most go into the kernel together, 0 to 64.\n",
	},
	{
		&cmd_set_coalesce,
		"set port (port_id) tapbatch coalesce (none|tcp|udp|tcp+udp)\n"
		"    Set which packets may become superframes.\n",
	},
	{
		&cmd_watch,
		"tapbatch watch (port_id) (seconds)\n"
		"    Show rates each second, for so many; a key ends it before.\n",
	},
	{
		&cmd_sweep,
		"tapbatch sweep (port_id) (seconds)\n"
		"    Forward in the current mode with each tx_batched of 0, 4, 8, 16, 32, 48, 64\n"
		"    for so long; show a table and CSV.\n",
	},
	{ NULL, NULL },
	},
};
TESTPMD_ADD_DRIVER_COMMANDS(tapbatch_cmds)
