/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* The files: JSON with every sample, CSV, and the report that plot.py makes of the JSON. */

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <rte_version.h>

#include "events.h"
#include "original.h"
#include "process.h"
#include "report.h"

#define PLOT_TIMEOUT_MS 120000

static const char *const status_name[] = { "ok", "invalid", "unsupported", "failed" };

struct report {
	const struct options *options;
	json_t *root;
	json_t *experiments;
};

static json_t *
cpu_model(void)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256], model[200] = "unknown";

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "model name : %199[^\n]", model) == 1)
			break;
	if (f != NULL)
		fclose(f);
	return json_string(model);
}

struct report *
report_new(const struct options *o)
{
	struct report *r = calloc(1, sizeof(*r));
	time_t now = time(NULL);
	struct utsname uts;
	struct tm tm;
	const char *wakeups, *counters;
	char date[32];

	if (r == NULL)
		return NULL;
	uname(&uts);
	gmtime_r(&now, &tm);
	strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", &tm);
	r->options = o;
	r->experiments = json_array();
	wakeups = run_tracepoint != 0 ? "sched:sched_waking" :
					"no tracepoint here; context switches stand for them";
	counters = events_hardware() ? "cycles, instructions, cache misses" :
				       "this machine has none (perf_event_open(2))";
	r->root = json_pack("{s:s, s:s, s:s, s:s, s:o, s:I, s:s, s:s, s:O}", "command", o->command,
			    "date", date, "kernel", uts.release, "dpdk", rte_version(), "cpu",
			    cpu_model(), "cores", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN),
			    "wake-ups", wakeups, "processor counters", counters, "experiments",
			    r->experiments);
	return r;
}

static json_t *
summary_json(struct summary s)
{
	return json_pack("{s:I, s:f, s:f, s:f}", "n", (json_int_t)s.n, "median", s.median, "min",
			 s.min, "max", s.max);
}

static json_t *
metric_json(const struct perf_case *c, enum metric m)
{
	struct summary s = case_summary(c, m);
	json_t *object, *samples;

	if (s.n == 0)
		return NULL;
	object = summary_json(s);
	samples = json_array();
	for (size_t i = 0; i < c->nb_samples; i++) {
		double v = c->samples[i].value[m];

		json_array_append_new(samples, c->samples[i].status != RUN_OK || isnan(v) ?
						       json_null() :
						       json_real(v));
	}
	json_object_set_new(object, "unit", json_string(metric_info[m].unit));
	json_object_set_new(object, "samples", samples);
	return object;
}

static json_t *
case_json(const struct experiment *e, const struct case_list *list, const struct perf_case *c)
{
	struct summary ratio = case_ratio(e, list, c);
	json_t *metrics = json_object();
	json_t *object;
	const char *why;
	enum run_status status = case_status(c, &why);

	for (int m = 0; m < METRICS; m++) {
		json_t *value = metric_json(c, (enum metric)m);

		if (value != NULL)
			json_object_set_new(metrics, metric_info[m].name, value);
	}
	object = json_pack("{s:s, s:s, s:s, s:s, s:o}", "driver", c->driver, "parameter",
			   c->parameter, "status", status_name[status], "why", why, "metrics",
			   metrics);
	if (c->repeated > 0)
		json_object_set_new(object, "repeated",
				    json_pack("{s:I, s:s}", "runs", (json_int_t)c->repeated, "why",
					      c->repeated_why));
	if (c->main != METRICS)
		json_object_set_new(object, "main", json_string(metric_info[c->main].name));
	if (ratio.n > 0)
		json_object_set_new(object, "ratio", summary_json(ratio));
	return object;
}

static json_t *
originals_json(const struct experiment *e, const struct case_list *list)
{
	json_t *all = json_array();
	const struct original *o;

	for (size_t i = 0; (o = original_get(e, i)) != NULL; i++) {
		json_t *object = json_pack("{s:s, s:s, s:f, s:f}", "what", o->what, "unit", o->unit,
					   "before", o->before, "after", o->after);
		double ours[2];

		original_ours(o, list, ours);
		if (!isnan(ours[0]) && !isnan(ours[1]))
			json_object_set_new(object, "ours",
					    json_pack("{s:f, s:f, s:s, s:s, s:s, s:s}", "before",
						      ours[0], "after", ours[1], "driver_before",
						      o->driver[0], "driver_after", o->driver[1],
						      "case_before", o->parameter[0], "case_after",
						      o->parameter[1]));
		json_array_append_new(all, object);
	}
	return all;
}

void
report_add(struct report *r, const struct experiment *e, const struct case_list *list)
{
	json_t *cases = json_array(), *columns = json_array(), *object;

	for (size_t i = 0; i < list->n; i++)
		json_array_append_new(cases, case_json(e, list, &list->cases[i]));
	for (int i = 0; experiment_column(e, i) != METRICS; i++)
		json_array_append_new(
			columns, json_pack("{s:s, s:s, s:s, s:i}", "metric",
					   metric_info[experiment_column(e, i)].name, "heading",
					   metric_info[experiment_column(e, i)].heading, "unit",
					   metric_info[experiment_column(e, i)].unit, "decimals",
					   metric_info[experiment_column(e, i)].decimals));
	object = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:o, s:o}", "name", e->name,
			   "title", e->title, "origin", e->origin ? e->origin : "", "parameter",
			   e->parameter ? e->parameter : "", "reference",
			   e->reference ? e->reference : "", "main", metric_info[e->main].name,
			   "less_is_better", e->less_is_better, "columns", columns, "cases", cases);
	json_object_set_new(object, "original", originals_json(e, list));
	json_array_append_new(r->experiments, object);
}

static bool
write_csv(const struct report *r, const char *path)
{
	FILE *f = fopen(path, "we");
	size_t i, k;
	json_t *e, *c, *m;
	const char *name;

	if (f == NULL) {
		fprintf(stderr, "%s cannot be written: %s\n", path, strerror(errno));
		return false;
	}
	fprintf(f, "experiment,driver,parameter,status,metric,unit,n,median,min,max\n");
	json_array_foreach(r->experiments, i, e)
		json_array_foreach(json_object_get(e, "cases"), k, c)
			json_object_foreach(json_object_get(c, "metrics"), name, m)
				fprintf(f, "%s,%s,\"%s\",%s,%s,%s,%d,%.6g,%.6g,%.6g\n",
					json_string_value(json_object_get(e, "name")),
					json_string_value(json_object_get(c, "driver")),
					json_string_value(json_object_get(c, "parameter")),
					json_string_value(json_object_get(c, "status")), name,
					json_string_value(json_object_get(m, "unit")),
					(int)json_integer_value(json_object_get(m, "n")),
					json_real_value(json_object_get(m, "median")),
					json_real_value(json_object_get(m, "min")),
					json_real_value(json_object_get(m, "max")));
	if (fclose(f) == 0)
		return true;
	fprintf(stderr, "%s: %s\n", path, strerror(errno));
	return false;
}

static bool
write_json(const struct report *r, const char *path)
{
	if (json_dump_file(r->root, path, JSON_INDENT(1) | JSON_REAL_PRECISION(7)) == 0)
		return true;
	fprintf(stderr, "%s cannot be written\n", path);
	return false;
}

/* plot.py lies beside the program, or where it was installed. */
static void
find_plotter(char *path, size_t size)
{
	char *slash;
	ssize_t n = readlink("/proc/self/exe", path, size - 16);

	path[n < 0 ? 0 : n] = '\0';
	slash = strrchr(path, '/');
	snprintf(slash != NULL ? slash + 1 : path, 16, "plot.py");
	if (access(path, R_OK) < 0)
		snprintf(path, size, "%s", PERF_PLOTTER);
}

static bool
write_report(const struct report *r, const char *dir)
{
	char script[512], json[512], tail[512];
	char *argv[] = { "/usr/bin/python3", script, json, (char *)(uintptr_t)dir, NULL };
	struct process p = { 0 };
	bool ok;

	if (mkdir(dir, 0777) < 0 && errno != EEXIST) {
		fprintf(stderr, "%s cannot be made: %s\n", dir, strerror(errno));
		return false;
	}
	snprintf(json, sizeof(json), "%s/results.json", dir);
	if (!write_json(r, json))
		return false;
	find_plotter(script, sizeof(script));
	ok = program_start(&p, -1, -1, argv) && program_wait(&p, PLOT_TIMEOUT_MS) == 0;
	if (ok) {
		printf("\nreport: %s/report.html\n", dir);
	} else {
		process_log_tail(&p, tail, sizeof(tail));
		fprintf(stderr, "%s failed: %s\n", script, tail);
	}
	process_end(&p);
	return ok;
}

bool
report_write(struct report *r)
{
	const struct options *o = r->options;
	bool ok = true;

	if (o->json != NULL)
		ok = write_json(r, o->json) && ok;
	if (o->csv != NULL)
		ok = write_csv(r, o->csv) && ok;
	if (o->report != NULL)
		ok = write_report(r, o->report) && ok;
	json_decref(r->experiments);
	json_decref(r->root);
	free(r);
	return ok;
}
