/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* Processes that the parent starts: workers and other programs. */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "process.h"
#include "worker.h"

#define READY_TIMEOUT_MS 20000

volatile int process_interrupted;

static void
on_signal(int number)
{
	process_interrupted = number;
}

void
process_catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* In the child: what fork() must not leave as it was. */
static void
child_prepare(const struct process *p, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	/* Ctrl-C is for the parent, which then ends its children. */
	setpgid(0, 0);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	dup2(p->log, STDOUT_FILENO);
	dup2(p->log, STDERR_FILENO);
}

static bool
open_log(struct process *p, const char *name)
{
	snprintf(p->name, sizeof(p->name), "%s", name);
	p->log = memfd_create(name, MFD_CLOEXEC);
	if (p->log < 0)
		fprintf(stderr, "no memory for the log of %s: %s\n", name, strerror(errno));
	return p->log >= 0;
}

bool
worker_start(struct process *p, const char *name, const struct job *job)
{
	pid_t parent = getpid();
	char number[16];
	int pair[2];

	if (!open_log(p, name))
		return false;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		fprintf(stderr, "no socket for %s: %s\n", name, strerror(errno));
		goto close_log;
	}
	p->pid = fork();
	if (p->pid < 0) {
		fprintf(stderr, "%s cannot be started: %s\n", name, strerror(errno));
		goto close_pair;
	}
	if (p->pid == 0) {
		child_prepare(p, parent);
		snprintf(number, sizeof(number), "%d", dup(pair[1])); /* without CLOEXEC */
		execl("/proc/self/exe", "dpdk-tapbatch-perf", "--worker", number, NULL);
		_exit(127);
	}
	close(pair[1]);
	p->fd = pair[0];
	if (send(p->fd, job, sizeof(*job), MSG_NOSIGNAL) == sizeof(*job))
		return true;
	process_end(p);
	return false;
close_pair:
	close(pair[0]);
	close(pair[1]);
close_log:
	close(p->log);
	*p = (struct process){ 0 };
	return false;
}

/* Reads whole messages only; false on timeout, end of file, or signal. */
static bool
read_all(int fd, void *data, size_t len, unsigned int timeout_ms)
{
	uint64_t end = monotonic_ns() + timeout_ms * 1000000ull;
	size_t got = 0;

	while (got < len && !process_interrupted) {
		struct pollfd wait = { .fd = fd, .events = POLLIN };
		uint64_t now = monotonic_ns();
		ssize_t n;

		if (now >= end || poll(&wait, 1, (int)((end - now) / 1000000) + 1) < 0)
			return false;
		if (wait.revents == 0)
			continue;
		n = read(fd, (uint8_t *)data + got, len - got);
		if (n <= 0)
			return false;
		got += (size_t)n;
	}
	return got == len;
}

static bool
lost(struct process *p, struct outcome *out, const char *when)
{
	char tail[256], how[64] = "hangs";
	int status;

	if (process_interrupted) {
		snprintf(how, sizeof(how), "was interrupted");
	} else if (waitpid(p->pid, &status, WNOHANG) == p->pid) {
		p->pid = 0;
		if (WIFSIGNALED(status))
			snprintf(how, sizeof(how), "died of signal %d (%s)", WTERMSIG(status),
				 strsignal(WTERMSIG(status)));
		else
			snprintf(how, sizeof(how), "exited with status %d", WEXITSTATUS(status));
	}
	process_log_tail(p, tail, sizeof(tail));
	snprintf(out->error, sizeof(out->error), "%s %s %s: %s", p->name, how, when, tail);
	process_end(p);
	return false;
}

/* Waits for a message of that type. An outcome that comes instead tells of an error. */
static bool
await_message(struct process *p, char wanted, struct outcome *out, unsigned int timeout_ms,
	      const char *when)
{
	char type;

	if (!read_all(p->fd, &type, 1, timeout_ms))
		return lost(p, out, when);
	if (type == wanted)
		return true;
	if (!read_all(p->fd, out, sizeof(*out), 1000))
		return lost(p, out, when);
	process_end(p);
	return false;
}

bool
worker_await_ready(struct process *p, struct outcome *out)
{
	return await_message(p, JOB_READY, out, READY_TIMEOUT_MS, "in set-up");
}

bool
worker_await_finish(struct process *p, struct outcome *out, unsigned int timeout_ms)
{
	return await_message(p, JOB_FINISHED, out, timeout_ms, "while running");
}

bool
worker_go(struct process *p, const struct schedule *times)
{
	return send(p->fd, times, sizeof(*times), MSG_NOSIGNAL) == sizeof(*times);
}

void
worker_senders_ended(struct process *p)
{
	char type = JOB_SENDERS_ENDED;

	/* If it is gone, waiting for it says so. */
	(void)!send(p->fd, &type, 1, MSG_NOSIGNAL);
}

bool
worker_collect(struct process *p, struct outcome *out)
{
	char type = JOB_FINISHED;

	if (send(p->fd, &type, 1, MSG_NOSIGNAL) != 1 ||
	    !read_all(p->fd, &type, 1, READY_TIMEOUT_MS) || type != JOB_OUTCOME ||
	    !read_all(p->fd, out, sizeof(*out), 1000))
		return lost(p, out, "at its end");
	waitpid(p->pid, NULL, 0);
	p->pid = 0;
	process_end(p);
	return out->error[0] == '\0';
}

bool
program_start(struct process *p, int netns, int core, char *const argv[])
{
	pid_t parent = getpid();
	int in[2];

	if (!open_log(p, argv[0]))
		return false;
	if (pipe2(in, O_CLOEXEC) < 0) {
		close(p->log);
		return false;
	}
	p->pid = fork();
	if (p->pid < 0) {
		fprintf(stderr, "%s cannot be started: %s\n", argv[0], strerror(errno));
		close(in[0]);
		close(in[1]);
		close(p->log);
		*p = (struct process){ 0 };
		return false;
	}
	if (p->pid == 0) {
		cpu_set_t cores;

		child_prepare(p, parent);
		dup2(in[0], STDIN_FILENO);
		CPU_ZERO(&cores);
		if (core >= 0) {
			CPU_SET(core, &cores);
			sched_setaffinity(0, sizeof(cores), &cores);
		}
		if (netns >= 0 && setns(netns, CLONE_NEWNET) < 0)
			_exit(126);
		execvp(argv[0], argv);
		dprintf(STDERR_FILENO, "%s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	close(in[0]);
	p->fd = in[1];
	return true;
}

int
program_wait(struct process *p, unsigned int timeout_ms)
{
	uint64_t end = monotonic_ns() + timeout_ms * 1000000ull;
	int status;

	while (waitpid(p->pid, &status, WNOHANG) == 0) {
		struct timespec pause = { .tv_nsec = 1000000 };

		if (monotonic_ns() > end || process_interrupted)
			return -1;
		nanosleep(&pause, NULL);
	}
	p->pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

char *
process_log(const struct process *p)
{
	struct stat st;
	char *text;
	ssize_t n;

	if (fstat(p->log, &st) < 0)
		return NULL;
	text = malloc((size_t)st.st_size + 1);
	if (text == NULL)
		return NULL;
	n = pread(p->log, text, (size_t)st.st_size, 0);
	text[n < 0 ? 0 : n] = '\0';
	return text;
}

bool
program_await_text(struct process *p, const char *text, unsigned int timeout_ms)
{
	uint64_t end = monotonic_ns() + timeout_ms * 1000000ull;
	bool found = false;

	while (!found && monotonic_ns() < end && !process_interrupted) {
		struct timespec pause = { .tv_nsec = 5000000 };
		char *log = process_log(p);

		found = log != NULL && strstr(log, text) != NULL;
		free(log);
		if (found || waitpid(p->pid, NULL, WNOHANG) != 0)
			break;
		nanosleep(&pause, NULL);
	}
	return found;
}

struct process_cpu
process_cpu(const struct process *p)
{
	uint64_t tick = 1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK);
	unsigned long long user = 0, system = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", p->pid);
	f = fopen(path, "re");
	if (f == NULL)
		return (struct process_cpu){ 0 };
	/* utime and stime, behind the name, which may hold anything but a newline */
	if (fscanf(f, "%*d (%*[^\n)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user,
		   &system) != 2)
		user = system = 0;
	fclose(f);
	return (struct process_cpu){ user * tick, system * tick };
}

void
process_end(struct process *p)
{
	if (p->name[0] == '\0')
		return;
	if (p->pid > 0) {
		kill(p->pid, SIGKILL);
		waitpid(p->pid, NULL, 0);
	}
	close(p->fd);
	close(p->log);
	*p = (struct process){ 0 };
}

void
process_log_tail(const struct process *p, char *text, size_t size)
{
	char *log = process_log(p);
	size_t len = log == NULL ? 0 : strlen(log);

	while (len > 0 && log[len - 1] == '\n')
		log[--len] = '\0';
	for (size_t i = 0; i < len; i++)
		if (log[i] == '\n')
			log[i] = ' ';
	snprintf(text, size, "%s",
		 len == 0 ? "(it wrote nothing)" : log + (len >= size ? len - size + 1 : 0));
	free(log);
}
