/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* The builders of cases, one for each experiment, and what they share. */

#ifndef PERF_CASES_H
#define PERF_CASES_H

#include "experiment.h"

#define ALL_FLOWS 1024 /* more than a burst: each packet another flow */

#define STEPS(array) (sizeof(array) / sizeof((array)[0]))

/* Of n steps that a parameter goes through, a quick run takes first, middle and last. */
bool skip_step(const struct case_list *list, size_t i, size_t n);

/* 64 bytes, UDP, each packet another flow, bursts of 32: what most cases start from. */
struct run small_packets(void);

void build_pps(struct case_list *list);
void build_single(struct case_list *list);
void build_flood(struct case_list *list);
void build_merge(struct case_list *list);
void build_overhead(struct case_list *list);
void build_latency(struct case_list *list);
void build_stream(struct case_list *list);
void build_flows(struct case_list *list);
void build_scale(struct case_list *list);
void build_generator(struct case_list *list);
void build_start_up(struct case_list *list);
void build_reader(struct case_list *list);
void build_no_wakeups(struct case_list *list);
void build_batching(struct case_list *list);
void build_congestion(struct case_list *list);
void build_dequeue(struct case_list *list);
void build_bridge(struct case_list *list);

#endif /* PERF_CASES_H */
