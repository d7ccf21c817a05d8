/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * What the files behind testpmd's commands share: each command's work, and how numbers
 * and errors are told.
 */

#ifndef TAPBATCH_TESTPMD_H
#define TAPBATCH_TESTPMD_H

#include <stddef.h>
#include <stdint.h>

/* tapbatch_testpmd_show.c: counters since they were cleared. */
void tapbatch_testpmd_show_batches(uint16_t port_id);
void tapbatch_testpmd_show_config(uint16_t port_id);

/* tapbatch_testpmd_rates.c: rates of each second; what each value of tx_batched brings. */
void tapbatch_testpmd_watch(uint16_t port_id, uint32_t seconds);
void tapbatch_testpmd_sweep(uint16_t port_id, uint32_t seconds);

/* Room for a number as text, in as many characters less one. */
#define TAPBATCH_TEXT 8

/* A counter in 7 characters or less: exact below ten millions. Returns text. */
const char *tapbatch_testpmd_count(char text[TAPBATCH_TEXT], uint64_t n);
/* A rate in 6 characters or less, four digits of it. Returns text. */
const char *tapbatch_testpmd_rate(char text[TAPBATCH_TEXT], double rate);
/* As the device argument has it. */
const char *tapbatch_testpmd_coalesce_text(uint32_t kinds);

/* Says on stderr why a function of the driver's refused a port. */
void tapbatch_testpmd_complain(uint16_t port_id, int error);

static inline double
tapbatch_testpmd_ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

#endif /* TAPBATCH_TESTPMD_H */
