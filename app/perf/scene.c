/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/* Namespaces, bridges and counters. Interfaces are configured by ip(8) in batches. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process.h"
#include "scene.h"

#define IP_TIMEOUT_MS 10000

static bool
write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok;

	if (fd < 0)
		return false;
	ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return ok;
}

static bool
new_namespace(void)
{
	if (unshare(CLONE_NEWNET) < 0) {
		fprintf(stderr, "a network namespace cannot be made: %s%s\n", strerror(errno),
			errno == EPERM ? "; run this as root" : "");
		return false;
	}
	/* Neighbour discovery would be counted as strangers. No IPv6 at all is fine too. */
	write_text("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
	write_text("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
	/* Packets that cross a bridge need not see the firewall. */
	write_text("/proc/sys/net/bridge/bridge-nf-call-iptables", "0");
	write_text("/proc/sys/net/bridge/bridge-nf-call-ip6tables", "0");
	write_text("/proc/sys/net/bridge/bridge-nf-call-arptables", "0");
	return true;
}

bool
scene_enter(struct scene *s)
{
	*s = (struct scene){ .side = { -1, -1 } };
	return new_namespace();
}

bool
scene_add_side(struct scene *s, int side)
{
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	bool ok = false;

	if (home >= 0 && new_namespace()) {
		s->side[side] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
		ok = setns(home, CLONE_NEWNET) == 0 && s->side[side] >= 0;
	}
	if (home >= 0)
		close(home);
	return ok;
}

void
scene_leave(struct scene *s)
{
	for (int i = 0; i < SCENE_SIDES; i++)
		if (s->side[i] >= 0)
			close(s->side[i]);
	free(s->commands);
	*s = (struct scene){ .side = { -1, -1 } };
	unshare(CLONE_NEWNET);
}

void
scene_ip(struct scene *s, const char *fmt, ...)
{
	char line[256], *grown;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	line[n++] = '\n';
	grown = realloc(s->commands, s->commands_len + (size_t)n);
	if (grown == NULL)
		return; /* the command that follows fails, and says so */
	memcpy(grown + s->commands_len, line, (size_t)n);
	s->commands = grown;
	s->commands_len += (size_t)n;
}

static bool
finish(struct process *p, const char *what)
{
	int status = program_wait(p, IP_TIMEOUT_MS);
	char tail[512];

	if (status != 0 && !process_interrupted) {
		process_log_tail(p, tail, sizeof(tail));
		fprintf(stderr, "%s failed (%d): %s\n", what, status, tail);
	}
	process_end(p);
	return status == 0;
}

bool
scene_apply(struct scene *s, int side)
{
	char *argv[] = { "ip", "-batch", "-", NULL };
	struct process p = { 0 };
	bool ok = program_start(&p, side < 0 ? -1 : s->side[side], -1, argv);

	if (ok) {
		ok = write(p.fd, s->commands, s->commands_len) == (ssize_t)s->commands_len;
		close(p.fd);
		p.fd = open("/dev/null", O_RDONLY | O_CLOEXEC); /* process_end() closes it */
		if (!finish(&p, "ip")) {
			fprintf(stderr, "its input was:\n%.*s", (int)s->commands_len, s->commands);
			ok = false;
		}
	}
	free(s->commands);
	s->commands = NULL;
	s->commands_len = 0;
	return ok;
}

bool
scene_run(struct scene *s, int side, char *const argv[])
{
	struct process p = { 0 };

	return program_start(&p, side < 0 ? -1 : s->side[side], -1, argv) && finish(&p, argv[0]);
}

bool
scene_ipv6(struct scene *s, int side, const char *iface)
{
	char setting[64];
	char *argv[] = { "sysctl", "-qw", setting, NULL };

	snprintf(setting, sizeof(setting), "net.ipv6.conf.%s.disable_ipv6=0", iface);
	return scene_run(s, side, argv);
}

void
scene_bridge(struct scene *s, const char *name)
{
	scene_ip(s, "link add %s type bridge stp_state 0 mcast_snooping 0 ageing_time 100000000",
		 name);
	scene_ip(s, "link set %s up", name);
}

bool
scene_attach(struct scene *s, const char *bridge, const char *iface, const char *mac)
{
	char *fdb[] = { "bridge",  "fdb",
			"replace", (char *)(uintptr_t)mac,
			"dev",     (char *)(uintptr_t)iface,
			"master",  "static",
			NULL };

	scene_ip(s, "link set %s master %s up", iface, bridge);
	return scene_apply(s, -1) && scene_run(s, -1, fdb);
}

bool
scene_counters(const char *iface, struct interface_counters *c)
{
	FILE *f = fopen("/proc/self/net/dev", "re");
	char line[512], name[32];
	bool found = false;

	if (f == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), f) != NULL)
		found = sscanf(line,
			       " %31[^:]: %*u %" SCNu64 " %*u %" SCNu64
			       " %*u %*u %*u %*u %*u %" SCNu64 " %*u %" SCNu64,
			       name, &c->rx_packets, &c->rx_dropped, &c->tx_packets,
			       &c->tx_dropped) == 5 &&
			strcmp(name, iface) == 0;
	fclose(f);
	return found;
}
