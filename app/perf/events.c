/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* The processor's own counters, and wake-ups, by perf_event_open(2). */

#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "events.h"

#define TRACEFS "/sys/kernel/tracing"
#define MAX_CPUS 256

static int fds[EVENTS_HARDWARE] = { -1, -1, -1 };
static int wakeup_fds[MAX_CPUS];
static int nb_wakeup_fds;

static int
open_event(struct perf_event_attr *attr, int pid, int cpu)
{
	attr->size = sizeof(*attr);
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int
open_hardware(uint64_t config)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE, .config = config };

	return open_event(&attr, 0, -1);
}

bool
events_hardware(void)
{
	int fd = open_hardware(PERF_COUNT_HW_CPU_CYCLES);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static uint32_t
read_tracepoint(void)
{
	FILE *f = fopen(TRACEFS "/events/sched/sched_waking/id", "re");
	unsigned int id = 0;

	if (f == NULL)
		return 0;
	if (fscanf(f, "%u", &id) != 1)
		id = 0;
	fclose(f);
	return id;
}

uint32_t
events_tracepoint(void)
{
	uint32_t id = read_tracepoint();
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT };
	int fds_pair[2], fd;
	pid_t pid;

	if (id == 0 && pipe(fds_pair) == 0) {
		pid = fork();
		if (pid == 0) {
			if (unshare(CLONE_NEWNS) == 0 &&
			    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
			    mount("tracefs", TRACEFS, "tracefs", 0, NULL) == 0)
				id = read_tracepoint();
			_exit(write(fds_pair[1], &id, sizeof(id)) != sizeof(id));
		}
		close(fds_pair[1]);
		if (pid < 0 || read(fds_pair[0], &id, sizeof(id)) != sizeof(id))
			id = 0;
		close(fds_pair[0]);
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
	attr.config = id;
	fd = id == 0 ? -1 : open_event(&attr, 0, -1);
	if (fd < 0)
		return 0;
	close(fd);
	return id;
}

/* Wake-ups come from whoever sends, on any CPU: seen by the name of the woken. */
static void
open_wakeups(uint32_t tracepoint)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .config = tracepoint };
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	char name[16], filter[40];

	snprintf(name, sizeof(name), "perf-%d", getpid());
	snprintf(filter, sizeof(filter), "comm == \"%s\"", name);
	prctl(PR_SET_NAME, name);
	for (int cpu = 0; cpu < cpus && cpu < MAX_CPUS; cpu++) {
		int fd = open_event(&attr, -1, cpu);

		if (fd < 0)
			continue; /* not online */
		if (ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter) < 0) {
			close(fd);
			continue;
		}
		wakeup_fds[nb_wakeup_fds++] = fd;
	}
}

void
events_open(uint32_t tracepoint)
{
	static const uint64_t config[EVENTS_HARDWARE] = {
		[EVENT_CYCLES] = PERF_COUNT_HW_CPU_CYCLES,
		[EVENT_INSTRUCTIONS] = PERF_COUNT_HW_INSTRUCTIONS,
		[EVENT_CACHE_MISSES] = PERF_COUNT_HW_CACHE_MISSES,
	};

	for (int i = 0; i < EVENTS_HARDWARE; i++)
		fds[i] = open_hardware(config[i]);
	if (tracepoint != 0)
		open_wakeups(tracepoint);
}

void
events_read(uint64_t value[EVENTS])
{
	uint64_t n;

	for (int i = 0; i < EVENTS_HARDWARE; i++)
		if (fds[i] < 0 || read(fds[i], &value[i], sizeof(value[i])) != sizeof(value[i]))
			value[i] = EVENT_ABSENT;
	value[EVENT_WAKEUPS] = nb_wakeup_fds > 0 ? 0 : EVENT_ABSENT;
	for (int i = 0; i < nb_wakeup_fds; i++)
		if (read(wakeup_fds[i], &n, sizeof(n)) == sizeof(n))
			value[EVENT_WAKEUPS] += n;
}
