/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The driver's log type, pmd.net.tapbatch (the build names it).
 */

#include "tapbatch_log.h"

RTE_LOG_REGISTER_DEFAULT(tapbatch_logtype, NOTICE);
