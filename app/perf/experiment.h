/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * An experiment is a list of cases, drivers times parameters, whose repetitions
 * are run interleaved, so that a machine that drifts does so for all of them.
 */

#ifndef PERF_EXPERIMENT_H
#define PERF_EXPERIMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "options.h"
#include "run.h"

#define EXPERIMENT_COLUMNS 7

struct perf_case {
	char driver[32];
	char parameter[32]; /* may be empty */
	struct run run;
	struct sample *samples;
	size_t nb_samples;
	size_t repeated; /* runs that failed, or did not balance: each is tried once more */
	char repeated_why[160];
	enum metric main; /* what ratios are taken of, METRICS: the experiment's */
	bool skipped;     /* found unsupported: not tried again */
};

struct case_list {
	struct perf_case *cases;
	size_t n;
	const struct options *options;
	const char *drivers[OPTIONS_MAX_LIST]; /* to be compared, ends with NULL */
	enum metric main; /* of the cases that are added next, METRICS: the experiment's */
};

struct experiment {
	const char *name;
	const char *title;
	const char *origin;              /* the change to the kernel that it is named after */
	const char *parameter;           /* what varies beside the driver; NULL: nothing */
	const char *reference;           /* driver that ratios are taken against */
	const char *reference_parameter; /* or else: the same driver with this number first */
	enum metric main;                /* what ratios are taken of */
	bool less_is_better;
	bool forwarders; /* compares programs that forward, not drivers */
	enum metric column[EXPERIMENT_COLUMNS];
	unsigned int reps;
	unsigned int measure_ms;
	const char *const *drivers; /* compared unless the user names others; ends with NULL */
	void (*build)(struct case_list *list);
};

/* The i-th, NULL at the end of the list. */
const struct experiment *experiment_get(size_t i);
const struct experiment *experiment_find(const char *name);

/* Fills in the cases; false without memory. To be freed with experiment_free(). */
bool experiment_cases(const struct experiment *e, const struct options *o, struct case_list *list);
/* Repetition by repetition; none is begun after until_s seconds of experiment_clock(), but
 * the first.
 */
void experiment_run(const struct experiment *e, const struct options *o, struct case_list *list,
		    double until_s);

/* About how many seconds it takes with all repetitions. */
double experiment_seconds(const struct experiment *e, const struct options *o,
			  const struct case_list *list);
double experiment_clock(void);

void experiment_free(struct case_list *list);

/* Median and spread of a metric over the samples that count. */
struct summary case_summary(const struct perf_case *c, enum metric m);

/* The same of the ratio to the reference case, repetition by repetition. */
struct summary case_ratio(const struct experiment *e, const struct case_list *list,
			  const struct perf_case *c);

/* The i-th column, METRICS behind the last. Where wake-ups cannot be counted, context switches
 * stand for them.
 */
enum metric experiment_column(const struct experiment *e, int i);

/* What ratios are taken of, and the spread that is shown. */
enum metric case_main(const struct experiment *e, const struct perf_case *c);

/* Worst status of all samples, with its reason. */
enum run_status case_status(const struct perf_case *c, const char **why);

/* Runs in which another process took a share of a worker's core, each time they were tried. */
size_t case_disturbed(const struct perf_case *c);

/* For the builders: all drivers of the experiment with a parameter. */
void add_cases(struct case_list *list, const char *parameter, const struct run *run);
/* One driver. sender: NULL, the driver itself. False without memory. */
bool add_case(struct case_list *list, const char *driver, const char *sender, const char *parameter,
	      const struct run *run);

#endif /* PERF_EXPERIMENT_H */
