/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Processes that the parent starts: workers and other programs. Each dies with
 * the parent, whatever ends that, so nothing needs to be cleaned up by name.
 */

#ifndef PERF_PROCESS_H
#define PERF_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "job.h"

struct process {
	pid_t pid; /* 0: not running */
	int fd;    /* to a worker; standard input of another program */
	int log;   /* what it writes to standard output and error */
	char name[32];
};

/* Set by SIGINT and SIGTERM; every wait ends when it is. */
extern volatile int process_interrupted;

/* Catches the signals that end a run. */
void process_catch_signals(void);

/* Starts this program as a worker, in the namespace the parent is in. */
bool worker_start(struct process *p, const char *name, const struct job *job);

/* Waits until the worker is set up. False: it has answered with an error instead,
 * which is in *out, or it died, or the time is over.
 */
bool worker_await_ready(struct process *p, struct outcome *out);

bool worker_go(struct process *p, const struct schedule *times);

/* Tells a receiver that those who send have finished. */
void worker_senders_ended(struct process *p);

/* Waits until the worker has counted everything. False as above. */
bool worker_await_finish(struct process *p, struct outcome *out, unsigned int timeout_ms);

/* Lets it close its port, waits for the outcome, then for the worker's end. */
bool worker_collect(struct process *p, struct outcome *out);

/*
 * Starts another program.
 *
 * @param netns  descriptor of the network namespace it runs in, -1: the parent's
 * @param core   to pin it to, -1: not
 * @param argv   ends with NULL; argv[0] is looked up in PATH
 */
bool program_start(struct process *p, int netns, int core, char *const argv[]);

/* Waits for its end. Returns its exit status, or -1 after the time. */
int program_wait(struct process *p, unsigned int timeout_ms);

/* Waits until the program has written this text. */
bool program_await_text(struct process *p, const char *text, unsigned int timeout_ms);

/* CPU time of all threads of a process; coarse: it is accounted in clock ticks. */
struct process_cpu {
	uint64_t user_ns, system_ns;
};
struct process_cpu process_cpu(const struct process *p);

/* Kills it, if it runs, and frees what the parent holds. */
void process_end(struct process *p);

/* Copies the end of what it wrote, at most size - 1 bytes, as one line. */
void process_log_tail(const struct process *p, char *text, size_t size);

/* All that it wrote; to be freed. NULL without memory. */
char *process_log(const struct process *p);

#endif /* PERF_PROCESS_H */
