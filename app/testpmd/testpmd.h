/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Stands in for the header of testpmd's own, which no DPDK installs, when the driver's
 * commands are built outside of DPDK's tree: the little of testpmd that they use. All of
 * it is weak, so that the plug-in also loads into programs that have none of it.
 */

#ifndef TESTPMD_H
#define TESTPMD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <cmdline.h>
#include <cmdline_parse.h>
#include <rte_common.h>

typedef uint16_t portid_t;

/* Only ever seen through a pointer; of its fields this is the first. */
struct fwd_engine {
	const char *fwd_mode_name;
};

struct testpmd_driver_commands {
	TAILQ_ENTRY(testpmd_driver_commands) next;
	struct {
		cmdline_parse_inst_t *ctx;
		const char *help;
	} commands[];
};

#define TESTPMD_OWN __attribute__((weak))

extern volatile uint8_t f_quit TESTPMD_OWN; /* a signal came */
extern volatile int test_done TESTPMD_OWN;  /* no forwarding */
extern uint16_t nb_pkt_per_burst TESTPMD_OWN;
extern struct fwd_engine *cur_fwd_eng TESTPMD_OWN;

void testpmd_add_driver_commands(struct testpmd_driver_commands *c) TESTPMD_OWN;
void start_packet_forwarding(int with_tx_first) TESTPMD_OWN;
void stop_packet_forwarding(void) TESTPMD_OWN;

/* plugin.c: whether the program is a testpmd that exports all of these. If not, the log
 * says so at level info.
 */
bool testpmd_is_here(void);

#define TESTPMD_ADD_DRIVER_COMMANDS(c)                   \
	RTE_INIT(add_##c)                                \
	{                                                \
		if (testpmd_is_here())                   \
			testpmd_add_driver_commands(&c); \
	}

#endif /* TESTPMD_H */
