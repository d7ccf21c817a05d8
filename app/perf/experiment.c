/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* Runs the cases of an experiment, repetition by repetition, and sums them up. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "distance.h"
#include "experiment.h"
#include "process.h"
#include "worker.h"

#define QUICK_MS 150
#define QUICK_WARM_UP_MS 50
#define RETRIES 1        /* of a run that failed, was disturbed, or does not balance */
#define DISTURBED_PCT 94 /* less of a core than this, and somebody else was there */

bool
add_case(struct case_list *list, const char *driver, const char *sender, const char *parameter,
	 const struct run *run)
{
	struct perf_case *grown = realloc(list->cases, (list->n + 1) * sizeof(*grown));
	const struct driver *d = driver_find(driver);
	struct perf_case *c;
	const char *more = list->options->devargs;

	if (grown == NULL)
		return false;
	list->cases = grown;
	c = &grown[list->n++];
	*c = (struct perf_case){ .run = *run, .main = list->main };
	snprintf(c->driver, sizeof(c->driver), "%s", driver);
	snprintf(c->parameter, sizeof(c->parameter), "%s", parameter);
	c->run.receiver = d;
	c->run.sender = sender != NULL ? driver_find(sender) : d;
	if (d->kind == DRIVER_TAPBATCH && more[0] != '\0') {
		size_t rx = strlen(c->run.rx_devargs), tx = strlen(c->run.tx_devargs);

		snprintf(c->run.rx_devargs + rx, sizeof(c->run.rx_devargs) - rx, ",%s", more);
		snprintf(c->run.tx_devargs + tx, sizeof(c->run.tx_devargs) - tx, ",%s", more);
	}
	return true;
}

void
add_cases(struct case_list *list, const char *parameter, const struct run *run)
{
	for (size_t i = 0; list->drivers[i] != NULL; i++)
		add_case(list, list->drivers[i], NULL, parameter, run);
}

static bool
fits(const struct experiment *e, const struct options *o, const struct driver *d)
{
	return (d->kind == DRIVER_VHOST) == e->forwarders &&
	       !(o->quick && o->drivers[0] == NULL && d->thorough);
}

bool
experiment_cases(const struct experiment *e, const struct options *o, struct case_list *list)
{
	const char *const *drivers = o->drivers[0] != NULL ? o->drivers : e->drivers;
	size_t n = 0;

	*list = (struct case_list){ .options = o, .main = METRICS };
	for (size_t i = 0; drivers[i] != NULL && n + 1 < OPTIONS_MAX_LIST; i++)
		if (fits(e, o, driver_find(drivers[i])))
			list->drivers[n++] = drivers[i];
	e->build(list);
	for (size_t i = 0; i < list->n; i++) {
		unsigned int reps = o->reps ? o->reps : o->quick ? 1 : e->reps;

		list->cases[i].samples = calloc(reps, sizeof(struct sample));
		if (list->cases[i].samples == NULL)
			return false;
	}
	return list->n > 0;
}

void
experiment_free(struct case_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->cases[i].samples);
	free(list->cases);
	*list = (struct case_list){ 0 };
}

static void
progress(const struct experiment *e, const struct perf_case *c, size_t done, size_t all)
{
	if (!isatty(STDERR_FILENO))
		return;
	if (c == NULL)
		fprintf(stderr, "\r\033[K");
	else
		fprintf(stderr, "\r\033[K%s %zu/%zu: %s %s", e->name, done + 1, all, c->driver,
			c->parameter);
	fflush(stderr);
}

static bool
disturbed(const struct sample *s)
{
	return s->value[M_CORE_PCT] < DISTURBED_PCT;
}

static bool
better(const struct sample *a, const struct sample *b)
{
	if (a->status != b->status)
		return a->status < b->status;
	return a->value[M_CORE_PCT] > b->value[M_CORE_PCT];
}

static void
run_case(struct perf_case *c, const struct run_times *times, bool quick)
{
	struct sample *s = &c->samples[c->nb_samples++];
	static uint16_t mark;
	const char *missing = driver_missing(c->run.forwarder ? c->run.forwarder : c->run.receiver);

	if (c->skipped || missing != NULL) {
		*s = c->samples[0];
		s->status = RUN_UNSUPPORTED;
		if (missing != NULL)
			snprintf(s->why, sizeof(s->why), "%s", missing);
		for (int i = 0; i < METRICS; i++)
			s->value[i] = NAN;
		return;
	}
	*s = (struct sample){ .status = RUN_FAILED };
	for (int try = 0; try <= RETRIES && !process_interrupted; try++) {
		struct sample again;

		c->run.traffic.mark = (uint16_t)(0x7462 + mark++);
		run_once(&c->run, times, &again);
		again.value[M_LINE_NS] = distance_ns(times->tx_core, times->rx_core);
		if (again.status != RUN_OK && again.status != RUN_UNSUPPORTED && c->repeated++ == 0)
			snprintf(c->repeated_why, sizeof(c->repeated_why), "%.*s",
				 (int)sizeof(c->repeated_why) - 1, again.why);
		if (try == 0 || better(&again, s))
			*s = again;
		if (s->status == RUN_UNSUPPORTED ||
		    (s->status == RUN_OK && (quick || !disturbed(s))))
			break;
	}
	c->skipped = s->status == RUN_UNSUPPORTED;
}

static struct run_times
run_times(const struct experiment *e, const struct options *o)
{
	return (struct run_times){
		.measure_ms = o->measure_ms ? o->measure_ms :
			      o->quick      ? QUICK_MS :
					      e->measure_ms,
		.warm_up_ms = o->quick ? QUICK_WARM_UP_MS : o->warm_up_ms,
		.tx_core = o->tx_core,
		.rx_core = o->rx_core,
	};
}

static unsigned int
repetitions(const struct experiment *e, const struct options *o)
{
	return o->reps ? o->reps : o->quick ? 1 : e->reps;
}

double
experiment_clock(void)
{
	return (double)monotonic_ns() / 1e9;
}

double
experiment_seconds(const struct experiment *e, const struct options *o,
		   const struct case_list *list)
{
	/* Beside the window: processes, network, ports; and of iperf3 the second left out. */
	static const double more[] = {
		[RUN_BRIDGE] = 0.75, [RUN_ECHO] = 0.75, [RUN_STREAM] = 2.5,
		[RUN_PORT] = 0.5,    [RUN_SINK] = 0.5,
	};
	struct run_times times = run_times(e, o);
	double seconds = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct run *run = &list->cases[i].run;

		if (driver_missing(run->forwarder ? run->forwarder : run->receiver) != NULL)
			continue;
		seconds += more[run->kind] + (run->forwarder != NULL ? 0.8 : 0);
		if (run->kind == RUN_STREAM)
			seconds += fmax(1, round(times.measure_ms / 1e3));
		else if (run->kind != RUN_PORT)
			seconds += (times.warm_up_ms + times.measure_ms) / 1e3;
	}
	return seconds * repetitions(e, o);
}

void
experiment_run(const struct experiment *e, const struct options *o, struct case_list *list,
	       double until_s)
{
	struct run_times times = run_times(e, o);
	unsigned int reps = repetitions(e, o);
	double last = 0;

	for (unsigned int rep = 0; rep < reps; rep++) {
		/* Not begun what cannot be ended in time. */
		double begin = experiment_clock();

		if (rep > 0 && begin + last > until_s)
			break;
		for (size_t i = 0; i < list->n && !process_interrupted; i++) {
			progress(e, &list->cases[i], rep * list->n + i, reps * list->n);
			run_case(&list->cases[i], &times, o->quick);
		}
		last = experiment_clock() - begin;
	}
	progress(e, NULL, 0, 0);
}

/* Values of samples whose books balance; NAN for the others, so that places stay. */
static struct summary
over_samples(const struct perf_case *c, const struct perf_case *reference, enum metric m)
{
	double *values = malloc((c->nb_samples + 1) * sizeof(*values));
	struct summary s = { 0, NAN, NAN, NAN };

	if (values == NULL)
		return s;
	for (size_t i = 0; i < c->nb_samples; i++) {
		values[i] = c->samples[i].status == RUN_OK ? c->samples[i].value[m] : NAN;
		if (reference == NULL)
			continue;
		if (i < reference->nb_samples && reference->samples[i].status == RUN_OK &&
		    reference->samples[i].value[m] > 0)
			values[i] /= reference->samples[i].value[m];
		else
			values[i] = NAN;
	}
	s = summarize(values, c->nb_samples);
	free(values);
	return s;
}

struct summary
case_summary(const struct perf_case *c, enum metric m)
{
	return over_samples(c, NULL, m);
}

/* Parameters are "number rest"; these have the same rest, and this one that number. */
static bool
same_but_number(const char *parameter, const char *other, const char *number)
{
	size_t n = strcspn(other, " ");

	return n == strlen(number) && strncmp(other, number, n) == 0 &&
	       strcmp(other + n, parameter + strcspn(parameter, " ")) == 0;
}

static const struct perf_case *
reference(const struct experiment *e, const struct case_list *list, const struct perf_case *c)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct perf_case *r = &list->cases[i];

		if (e->reference != NULL && strcmp(r->driver, e->reference) == 0 &&
		    strcmp(r->parameter, c->parameter) == 0)
			return r;
		if (e->reference_parameter != NULL && strcmp(r->driver, c->driver) == 0 &&
		    same_but_number(c->parameter, r->parameter, e->reference_parameter))
			return r;
	}
	/* A parameter that only others have: the reference's first case. */
	for (size_t i = 0; e->reference != NULL && i < list->n; i++)
		if (strcmp(list->cases[i].driver, e->reference) == 0)
			return &list->cases[i];
	return NULL;
}

struct summary
case_ratio(const struct experiment *e, const struct case_list *list, const struct perf_case *c)
{
	const struct perf_case *r = reference(e, list, c);

	return r == NULL || case_main(e, r) != case_main(e, c) ?
		       (struct summary){ 0, NAN, NAN, NAN } :
		       over_samples(c, r, case_main(e, c));
}

enum metric
experiment_column(const struct experiment *e, int i)
{
	if (i == EXPERIMENT_COLUMNS)
		return METRICS;
	return e->column[i] == M_WAKEUPS && run_tracepoint == 0 ? M_SWITCHES : e->column[i];
}

enum metric
case_main(const struct experiment *e, const struct perf_case *c)
{
	return c->main == METRICS ? e->main : c->main;
}

enum run_status
case_status(const struct perf_case *c, const char **why)
{
	enum run_status worst = RUN_OK;

	*why = "";
	for (size_t i = 0; i < c->nb_samples; i++)
		if (c->samples[i].status > worst) {
			worst = c->samples[i].status;
			*why = c->samples[i].why;
		}
	return worst;
}

size_t
case_disturbed(const struct perf_case *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->nb_samples; i++)
		n += c->samples[i].status == RUN_OK && disturbed(&c->samples[i]);
	return n;
}
