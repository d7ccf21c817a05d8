/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* Entry of both: the parent that runs experiments, and the workers it starts. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* @return false if a run was invalid or failed */
static bool
measure(const struct experiment *e, const struct options *o, struct report *report)
{
	struct case_list list;
	const char *why;
	bool ok = true;

	if (!experiment_cases(e, o, &list)) {
		experiment_free(&list);
		return true;
	}
	experiment_run(e, o, &list);
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
	int status;

	if (argc == 3 && strcmp(argv[1], "--worker") == 0)
		return worker_main(argv[0], atoi(argv[2]));
	status = options_parse(&options, argc, argv);
	if (status >= 0)
		return status;
	if (geteuid() != 0) {
		fprintf(stderr, "network namespaces and taps need root\n");
		return 1;
	}
	process_catch_signals();
	report = report_new(&options);
	if (report == NULL)
		return 1;
	for (size_t i = 0; experiment_get(i) != NULL && !process_interrupted; i++)
		if (chosen(&options, experiment_get(i)))
			ok = measure(experiment_get(i), &options, report) && ok;
	if (!report_write(report, argv[0]))
		return 1;
	if (process_interrupted)
		return 128 + process_interrupted;
	return options.strict && !ok ? 1 : 0;
}
