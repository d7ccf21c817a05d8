/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* The command line. */

#ifndef PERF_OPTIONS_H
#define PERF_OPTIONS_H

#include <stdbool.h>

#define OPTIONS_MAX_LIST 32

struct options {
	const char *experiments[OPTIONS_MAX_LIST]; /* ends with NULL; empty: all */
	const char *drivers[OPTIONS_MAX_LIST];     /* empty: the experiment's own */
	unsigned int reps;                         /* 0: the experiment's own */
	unsigned int measure_ms;                   /* 0: the experiment's own */
	unsigned int warm_up_ms;
	int tx_core, rx_core;
	unsigned int threads; /* scale: most cores of each side, 0: as many as there are */
	double budget_s;      /* for all experiments; repetitions are left out rather */
	bool quick;
	bool dry_run;
	bool list;
	bool strict;         /* exit status tells of invalid runs */
	const char *devargs; /* more device arguments for our driver */
	const char *json;
	const char *csv;
	const char *report; /* folder */
	char command[512];  /* as it was called */
};

/* @return -1: go on; else the exit status to end with */
int options_parse(struct options *o, int argc, char **argv);

#endif /* PERF_OPTIONS_H */
