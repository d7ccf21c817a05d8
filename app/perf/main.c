/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* Entry of both: the parent that runs experiments, and the workers it starts. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "events.h"
#include "experiment.h"
#include "options.h"
#include "process.h"
#include "report.h"
#include "worker.h"

static bool
chosen(const struct options *o, const struct experiment *e)
{
	if (o->experiments[0] == NULL)
		return true;
	for (int i = 0; o->experiments[i] != NULL; i++)
		if (strcmp(o->experiments[i], e->name) == 0)
			return true;
	return false;
}

/* How long the chosen ones from the i-th on would take with all repetitions, in seconds. */
static double
planned(const struct options *o, size_t i)
{
	double seconds = 0;

	for (; experiment_get(i) != NULL; i++) {
		struct case_list list;

		if (!chosen(o, experiment_get(i)))
			continue;
		if (experiment_cases(experiment_get(i), o, &list))
			seconds += experiment_seconds(experiment_get(i), o, &list);
		experiment_free(&list);
	}
	return seconds;
}

static int
dry_run(const struct options *o)
{
	printf("%-12s %6s %8s\n", "experiment", "cases", "minutes");
	for (size_t i = 0; experiment_get(i) != NULL; i++) {
		const struct experiment *e = experiment_get(i);
		struct case_list list;

		if (!chosen(o, e))
			continue;
		if (experiment_cases(e, o, &list))
			printf("%-12s %6zu %8.1f\n", e->name, list.n,
			       experiment_seconds(e, o, &list) / 60);
		experiment_free(&list);
	}
	printf("%-12s %6s %8.1f, of which %.1f may be used\n", "all", "", planned(o, 0) / 60,
	       fmin(planned(o, 0), o->budget_s) / 60);
	return 0;
}

/*
 * until_s: when it should be over, in seconds of experiment_clock()
 *
 * @return false if a run was invalid or failed
 */
static bool
measure(const struct experiment *e, const struct options *o, struct report *report, double until_s)
{
	struct case_list list;
	const char *why;
	bool ok = true;

	if (!experiment_cases(e, o, &list)) {
		experiment_free(&list);
		return true;
	}
	experiment_run(e, o, &list, until_s);
	if (!process_interrupted) {
		report_table(e, &list);
		report_add(report, e, &list);
	}
	for (size_t i = 0; i < list.n; i++) {
		enum run_status status = case_status(&list.cases[i], &why);

		ok = ok && (status == RUN_OK || status == RUN_UNSUPPORTED);
	}
	experiment_free(&list);
	return ok;
}

int
main(int argc, char **argv)
{
	static struct options options;
	struct report *report;
	bool ok = true;
	double end;
	int status;

	if (argc == 3 && strcmp(argv[1], "--worker") == 0)
		return worker_main(argv[0], atoi(argv[2]));
	status = options_parse(&options, argc, argv);
	if (status >= 0)
		return status;
	if (options.dry_run)
		return dry_run(&options);
	if (geteuid() != 0) {
		fprintf(stderr, "network namespaces and taps need root\n");
		return 1;
	}
	process_catch_signals();
	run_tracepoint = events_tracepoint();
	report = report_new(&options);
	if (report == NULL)
		return 1;
	end = experiment_clock() + options.budget_s;
	for (size_t i = 0; experiment_get(i) != NULL && !process_interrupted; i++) {
		double now = experiment_clock();

		if (!chosen(&options, experiment_get(i)))
			continue;
		/* Each gets its share of what is left, and what others left over. */
		ok = measure(experiment_get(i), &options, report,
			     now + (end -
				    now) * (1 - planned(&options, i + 1) / planned(&options, i))) &&
		     ok;
	}
	if (!report_write(report))
		return 1;
	if (process_interrupted)
		return 128 + process_interrupted;
	return options.strict && !ok ? 1 : 0;
}
