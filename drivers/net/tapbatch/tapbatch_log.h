/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The driver's log: type pmd.net.tapbatch.
 */

#ifndef TAPBATCH_LOG_H
#define TAPBATCH_LOG_H

#include <rte_log.h>

extern int tapbatch_logtype;

#define TAPBATCH_LOG(level, fmt, ...) \
	rte_log(RTE_LOG_##level, (uint32_t)tapbatch_logtype, "tapbatch: " fmt "\n", ##__VA_ARGS__)

#endif /* TAPBATCH_LOG_H */
