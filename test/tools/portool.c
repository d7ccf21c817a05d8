/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * portool's command line: reads, splits and runs commands, see portool.h.
 *	portool [EAL-ARGUMENT...]
 */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_ethdev.h>

#include "portool.h"

const char *
arg_text(char **argv, const char *key, const char *otherwise)
{
	size_t len = strlen(key);
	int i;

	for (i = 1; i < MAX_ARGS; i++)
		if (strncmp(argv[i], key, len) == 0 && argv[i][len] == '=')
			return argv[i] + len + 1;
	return otherwise;
}

long
arg_number(char **argv, const char *key, long otherwise)
{
	const char *text = arg_text(argv, key, NULL);

	return text == NULL ? otherwise : strtol(text, NULL, 0);
}

int
mismatch(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	return -EBADMSG;
}

uint64_t
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static int
run_line(char *line)
{
	static const struct command *const tables[] = {
		batches_commands,
		control_commands,
		data_commands,
		loop_commands,
		memory_commands,
		press_commands, harm_commands,
	};
	static char none[] = "";
	char *argv[MAX_ARGS];
	char *save = NULL;
	unsigned int t;
	int i;

	for (i = 0; i < MAX_ARGS; i++) {
		argv[i] = strtok_r(i == 0 ? line : NULL, " \n", &save);
		if (argv[i] == NULL)
			break;
	}
	for (; i < MAX_ARGS; i++)
		argv[i] = none;
	for (t = 0; t < RTE_DIM(tables); t++) {
		const struct command *c;

		for (c = tables[t]; c->name != NULL; c++)
			if (strcmp(c->name, argv[0]) == 0)
				return c->run(argv);
	}
	printf("no such command: %s; there are:\n", argv[0]);
	for (t = 0; t < RTE_DIM(tables); t++) {
		const struct command *c;

		for (c = tables[t]; c->name != NULL; c++)
			printf("  %s %s\n", c->name, c->usage);
	}
	return -EINVAL;
}

int
main(int argc, char **argv)
{
	size_t size = 0;
	char *line = NULL;
	uint16_t port;
	int ret;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (rte_eal_init(argc, argv) < 0)
		return 1;
	printf("= 0\n");
	while (getline(&line, &size, stdin) > 0) {
		if (strcmp(line, "quit\n") == 0)
			break;
		ret = run_line(line);
		if (ret == 0)
			printf("= 0\n");
		else
			printf("= %d %s\n", -ret, strerror(-ret));
	}
	free(line);
	RTE_ETH_FOREACH_DEV(port) {
		rte_eth_dev_stop(port);
		rte_eth_dev_close(port);
	}
	return rte_eal_cleanup() != 0;
}
