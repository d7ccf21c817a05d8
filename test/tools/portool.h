/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * portool drives ethdev ports by commands, one a line, for what testpmd can't do or
 * show. Each answer ends with a line "= 0" or "= ERRNO MESSAGE".
 */

#ifndef PORTOOL_H
#define PORTOOL_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "rawif.h"

struct command {
	const char *name;
	/* argv[0] is the command; missing arguments are empty strings. Returns 0 or
	 * negative errno.
	 */
	int (*run)(char **argv);
	const char *usage;
};

extern const struct command control_commands[];
extern const struct command data_commands[];
extern const struct command loop_commands[];
extern const struct command press_commands[];
extern const struct command harm_commands[];
extern const struct command memory_commands[];
extern const struct command batches_commands[];

#define MAX_ARGS 24

/* Value of the argument key=value, else what to take instead. */
const char *arg_text(char **argv, const char *key, const char *otherwise);
long arg_number(char **argv, const char *key, long otherwise);

/* Reports what was expected; returns -EBADMSG, to be returned. */
int mismatch(const char *format, ...) __attribute__((format(printf, 1, 2)));

uint64_t now_ms(void);

/* Of portool_control.c: the mempool that a port receives into. */
struct rte_mempool *port_pool(uint16_t port);
/* Of portool_harm.c: a mempool whose mbufs have external buffers for good. */
struct rte_mempool *pinned_pool(const char *name, unsigned int n, uint16_t room);
/* Of portool_data.c: an interface opened by the command "raw" or "tap"; NULL after a
 * message.
 */
struct rawif *find_raw(const char *name);
/* A packet in mbufs of seg bytes each (0: one mbuf; negative: of random lengths up to
 * that many), of the sender's own pool. NULL: no mbufs.
 */
struct rte_mbuf *make_mbuf(const uint8_t *bytes, size_t len, long seg);

#endif /* PORTOOL_H */
