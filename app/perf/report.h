/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* What is shown of an experiment: a table, JSON, CSV, and a report with plots. */

#ifndef PERF_REPORT_H
#define PERF_REPORT_H

#include <stdbool.h>

#include "experiment.h"

struct report; /* collects experiments for the files */

struct report *report_new(const struct options *o);
void report_add(struct report *r, const struct experiment *e, const struct case_list *list);

/* Writes the files asked for, frees the report. False: one could not be written. */
bool report_write(struct report *r);

void report_table(const struct experiment *e, const struct case_list *list);

#endif /* PERF_REPORT_H */
