/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The figures that the kernel's own commits gave, before and after, beside the two cases
 * of ours that come nearest to them.
 */

#ifndef PERF_ORIGINAL_H
#define PERF_ORIGINAL_H

#include "experiment.h"

struct original {
	const char *experiment;
	const char *what; /* was measured there */
	const char *unit;
	double before, after;
	/* Ours: a metric, what it is multiplied with to have that unit, and two cases. METRICS:
	 * there is none like it.
	 */
	enum metric metric;
	double scale;
	const char *driver[2];
	const char *parameter[2];
};

/* The i-th of an experiment, NULL at its end. */
const struct original *original_get(const struct experiment *e, size_t i);

/* Medians of the two cases, NAN where a case was not run. */
void original_ours(const struct original *o, const struct case_list *list, double ours[2]);

#endif /* PERF_ORIGINAL_H */
