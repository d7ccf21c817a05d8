/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* The table of an experiment on the terminal, 100 columns at most. */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "original.h"
#include "report.h"

#define CELL 8 /* characters of a number or its heading */
#define SPREAD 13

static int
parameter_width(const struct experiment *e, const struct case_list *list)
{
	size_t width = e->parameter == NULL ? 0 : strlen(e->parameter);

	for (size_t i = 0; e->parameter != NULL && i < list->n; i++)
		if (strlen(list->cases[i].parameter) > width)
			width = strlen(list->cases[i].parameter);
	return (int)width;
}

static int
driver_width(const struct case_list *list)
{
	size_t width = strlen("driver");

	for (size_t i = 0; i < list->n; i++)
		if (strlen(list->cases[i].driver) > width)
			width = strlen(list->cases[i].driver);
	return (int)width;
}

static void
heading(const struct experiment *e, int driver, int parameter)
{
	char ratio[40] = "";

	printf("%-*s", driver + 1, "driver");
	if (parameter > 0)
		printf(" %-*s", parameter, e->parameter);
	for (int i = 0; experiment_column(e, i) != METRICS; i++)
		printf(" %*s", CELL, metric_info[experiment_column(e, i)].heading);
	if (e->reference != NULL)
		snprintf(ratio, sizeof(ratio), "x %s", e->reference);
	else if (e->reference_parameter != NULL)
		snprintf(ratio, sizeof(ratio), "x at %s", e->reference_parameter);
	printf(" %*s %s\n", SPREAD, "least-most", ratio);

	printf("%-*s", driver + 1, "");
	if (parameter > 0)
		printf(" %-*s", parameter, "");
	for (int i = 0; experiment_column(e, i) != METRICS; i++)
		printf(" %*s", CELL, metric_info[experiment_column(e, i)].unit);
	printf(" %*s\n", SPREAD, metric_info[e->main].unit);
}

static void
row(const struct experiment *e, const struct case_list *list, const struct perf_case *c, int driver,
    int parameter)
{
	enum metric metric = case_main(e, c);
	struct summary main = case_summary(c, metric);
	struct summary ratio = case_ratio(e, list, c);
	const char *why;
	enum run_status status = case_status(c, &why);
	char spread[32];

	printf("%-*s%c", driver, c->driver, case_disturbed(c) > 0 ? '*' : ' ');
	if (parameter > 0)
		printf(" %-*s", parameter, c->parameter);
	if (status != RUN_OK && main.n == 0) {
		printf("  %s: %.*s\n",
		       status == RUN_UNSUPPORTED ? "not possible" :
		       status == RUN_INVALID     ? "INVALID" :
						   "FAILED",
		       70, why);
		return;
	}
	for (int i = 0; experiment_column(e, i) != METRICS; i++) {
		struct summary s = case_summary(c, experiment_column(e, i));

		if (s.n == 0)
			printf(" %*s", CELL, "-");
		else
			printf(" %*.*f", CELL, metric_info[experiment_column(e, i)].decimals,
			       s.median);
	}
	if (main.n > 0)
		snprintf(spread, sizeof(spread), "%.*f-%.*f", metric_info[metric].decimals,
			 main.min, metric_info[metric].decimals, main.max);
	else
		snprintf(spread, sizeof(spread), "-");
	printf(" %*s", SPREAD, spread);
	if (ratio.n > 0)
		printf(" %.*f", ratio.median < 1.1 ? 3 : ratio.median < 10 ? 2 : 1, ratio.median);
	printf("\n");
	if (status != RUN_OK)
		printf("  ^ only %zu of %zu runs count: %s\n", main.n, c->nb_samples, why);
}

/* Where a host moves virtual CPUs about, rows may be of what are different machines. */
static void
core_notes(const struct case_list *list)
{
	double nearest = INFINITY, farthest = 0;

	for (size_t i = 0; i < list->n; i++) {
		struct summary s = case_summary(&list->cases[i], M_LINE_NS);

		if (s.n > 0) {
			nearest = fmin(nearest, s.min);
			farthest = fmax(farthest, s.max);
		}
	}
	if (farthest == 0)
		return;
	printf("\n  a cache line takes %.0f to %.0f ns from one core to the other", nearest,
	       farthest);
	if (farthest > 2 * nearest)
		printf(": they were moved about,\n  compare rows of the same run only");
	printf("\n");
}

/* What takes from the worth of the figures above. */
static void
notes(const struct experiment *e, const struct case_list *list)
{
	size_t disturbed = 0, runs = 0;
	double least = 100;

	for (size_t i = 0; i < list->n; i++) {
		const struct perf_case *c = &list->cases[i];
		size_t n = case_disturbed(c);

		runs += c->nb_samples;
		disturbed += n;
		if (n > 0)
			least = fmin(least, case_summary(c, M_CORE_PCT).min);
	}
	core_notes(list);
	for (int i = 0; experiment_column(e, i) != METRICS; i++) {
		if (experiment_column(e, i) == M_WAKEUPS)
			printf("\n  wake-ups: of the receiving thread, by tracepoint "
			       "sched:sched_waking\n");
		else if (experiment_column(e, i) == M_SWITCHES)
			printf("\n  switches: context switches of the receiving process that "
			       "waits; "
			       "there are no\n  tracepoints here, which would tell wake-ups\n");
	}
	for (size_t i = 0; i < list->n; i++)
		if (list->cases[i].repeated > 0)
			printf("\n  %s %s: %zu runs did not count and were tried again, the first: "
			       "%.*s\n",
			       list->cases[i].driver, list->cases[i].parameter,
			       list->cases[i].repeated, 70, list->cases[i].repeated_why);
	if (disturbed > 0)
		printf("\n  * disturbed: in %zu of %zu runs other processes took part of a "
		       "worker's core, up to %.0f %%.\n",
		       disturbed, runs, 100 - least);
}

/* The kernel's figures, and ours. */
static void
originals(const struct experiment *e, const struct case_list *list)
{
	const struct original *o;

	if (e->origin == NULL)
		return;
	printf("\n  After \"%s\":\n", e->origin);
	for (size_t i = 0; (o = original_get(e, i)) != NULL; i++) {
		double ours[2];

		original_ours(o, list, ours);
		printf("  %-25s there %g -> %g %s (x%.2f)", o->what, o->before, o->after, o->unit,
		       o->after / o->before);
		if (ours[0] > 0 && !isnan(ours[1]))
			printf(", here %.*f -> %.*f (x%.2f)", ours[1] < 10 ? 2 : 0, ours[0],
			       ours[1] < 10 ? 2 : 0, ours[1], ours[1] / ours[0]);
		printf("\n");
	}
}

void
report_table(const struct experiment *e, const struct case_list *list)
{
	int parameter = parameter_width(e, list);
	int driver = driver_width(list);

	printf("\n%s: %s\n\n", e->name, e->title);
	heading(e, driver, parameter);
	for (size_t i = 0; i < list->n; i++)
		row(e, list, &list->cases[i], driver, parameter);
	notes(e, list);
	originals(e, list);
	fflush(stdout);
}
