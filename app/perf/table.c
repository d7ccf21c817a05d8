/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* The table of an experiment on the terminal, 100 columns at most. */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report.h"

#define CELL 11

static int
parameter_width(const struct experiment *e, const struct case_list *list)
{
	size_t width = e->parameter == NULL ? 0 : strlen(e->parameter);

	for (size_t i = 0; e->parameter != NULL && i < list->n; i++)
		if (strlen(list->cases[i].parameter) > width)
			width = strlen(list->cases[i].parameter);
	return (int)width;
}

static void
heading(const struct experiment *e, int parameter)
{
	char ratio[40] = "";

	printf("%-15s", "driver");
	if (parameter > 0)
		printf(" %-*s", parameter, e->parameter);
	for (int i = 0; i < EXPERIMENT_COLUMNS && e->column[i] != METRICS; i++)
		printf(" %*s", CELL - 2, metric_info[e->column[i]].heading);
	if (e->reference != NULL)
		snprintf(ratio, sizeof(ratio), "x %s", e->reference);
	printf(" %15s  %s\n", "least - most", ratio);

	printf("%-15s", "");
	if (parameter > 0)
		printf(" %-*s", parameter, "");
	for (int i = 0; i < EXPERIMENT_COLUMNS && e->column[i] != METRICS; i++)
		printf(" %*s", CELL - 2, metric_info[e->column[i]].unit);
	printf(" %15s\n", metric_info[e->main].unit);
}

static void
row(const struct experiment *e, const struct case_list *list, const struct perf_case *c,
    int parameter)
{
	struct summary main = case_summary(c, e->main);
	struct summary ratio = case_ratio(e, list, c);
	const char *why;
	enum run_status status = case_status(c, &why);
	char spread[32];

	printf("%-15s", c->driver);
	if (parameter > 0)
		printf(" %-*s", parameter, c->parameter);
	if (main.n == 0) {
		printf("  %s: %.*s\n", status == RUN_UNSUPPORTED ? "not possible" :
		       status == RUN_INVALID ? "INVALID" : "FAILED", 70, why);
		return;
	}
	for (int i = 0; i < EXPERIMENT_COLUMNS && e->column[i] != METRICS; i++) {
		struct summary s = case_summary(c, e->column[i]);

		if (s.n == 0)
			printf(" %*s", CELL - 2, "-");
		else
			printf(" %*.*f", CELL - 2, metric_info[e->column[i]].decimals, s.median);
	}
	snprintf(spread, sizeof(spread), "%.*f - %.*f", metric_info[e->main].decimals, main.min,
		 metric_info[e->main].decimals, main.max);
	printf(" %15s", spread);
	if (ratio.n > 0)
		printf("  %.*f", ratio.median < 10 ? 2 : 1, ratio.median);
	printf("\n");
	if (status != RUN_OK)
		printf("  (only %zu of %zu runs count: %s)\n", main.n, c->nb_samples, why);
}

void
report_table(const struct experiment *e, const struct case_list *list)
{
	int parameter = parameter_width(e, list);

	printf("\n%s: %s\n\n", e->name, e->title);
	heading(e, parameter);
	for (size_t i = 0; i < list->n; i++)
		row(e, list, &list->cases[i], parameter);
	if (e->origin != NULL)
		printf("\n  %s\n", e->origin);
	fflush(stdout);
}
