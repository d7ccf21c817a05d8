/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Starts programs that forward between two ports: testpmd in io mode, the vhost bridge,
 * or the raw loop; and the guest behind a vhost-user socket.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "forwarder.h"
#include "worker.h"

#define READY_TIMEOUT_MS 20000
#define GUEST_NAP_US 20 /* its core is also the sender's */
#define TX_OFFLOADS                                                                               \
	(RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |                           \
	 RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_UDP_TSO | \
	 RTE_ETH_TX_OFFLOAD_MULTI_SEGS)

const struct driver driver_guest = {
	.name = "guest",
	.kind = DRIVER_GUEST,
	.backend = BACKEND_DPDK,
	.vdev = "net_virtio_user%u,path=%s,queue_size=1024",
	.accounts = true,
};

/* Arguments of a program, some of them composed. */
struct arguments {
	char *argv[40];
	char text[8][300];
	int argc, texts;
};

static void
add(struct arguments *a, const char *word)
{
	a->argv[a->argc++] = (char *)(uintptr_t)word;
	a->argv[a->argc] = NULL;
}

/* Adds a word that is composed; to be written to what is returned. */
static char *
add_text(struct arguments *a)
{
	char *text = a->text[a->texts++];

	add(a, text);
	return text;
}

static void
add_vdev(struct arguments *a, const struct driver *d, unsigned int i, const char *iface,
	 const char *devargs)
{
	char vdev[256], *text = add_text(a);

	driver_vdev(d, vdev, sizeof(vdev), i, iface, devargs);
	snprintf(text, sizeof(a->text[0]), "--vdev=%s", vdev);
}

static void
add_eal(struct arguments *a, const struct run_times *times)
{
	snprintf(add_text(a), sizeof(a->text[0]), "--lcores=0@%d,1@%d", times->tx_core,
		 times->rx_core);
	add(a, "--no-huge");
	add(a, "-m");
	add(a, "512");
	add(a, "--no-shconf");
	add(a, "--no-pci");
	add(a, "--no-telemetry");
}

static bool
start(struct forwarder *f, const struct arguments *a, const char *ready, struct sample *s)
{
	char tail[300];

	if (!program_start(&f->process, -1, -1, a->argv))
		return run_fail(s, RUN_FAILED, "%s does not start", a->argv[0]);
	if (program_await_text(&f->process, ready, READY_TIMEOUT_MS))
		return true;
	process_log_tail(&f->process, tail, sizeof(tail));
	return run_fail(s, RUN_FAILED, "%s does not get ready: %s", a->argv[0], tail);
}

static void
begin_testpmd(struct arguments *a, const struct run_times *times)
{
	/* Its words are waited for, so they must not stay in a buffer. */
	add(a, "stdbuf");
	add(a, "-oL");
	add(a, "dpdk-testpmd");
	add_eal(a, times);
}

static bool
finish_testpmd(struct forwarder *f, struct arguments *a, const struct run *run, struct sample *s)
{
	add(a, "--");
	add(a, "--forward-mode=io");
	add(a, "--auto-start");
	add(a, "--total-num-mbufs=16384");
	add(a, "--burst=64");
	if (run->offloads) {
		add(a, "--enable-lro");
		add(a, "--max-lro-pkt-size=65535");
		add(a, "--enable-rx-cksum");
		add(a, "--enable-scatter");
		snprintf(add_text(a), sizeof(a->text[0]), "--tx-offloads=0x%llx",
			 (unsigned long long)TX_OFFLOADS);
	}
	return start(f, a, "Press enter to exit", s);
}

static bool
start_raw(struct forwarder *f, const struct run_times *times, struct sample *s)
{
	struct job job = {
		.role = ROLE_FORWARD,
		.backend = BACKEND_SUPERFRAME,
		.core = times->rx_core,
		.iface = "fwa",
		.peer = "fwb",
		.burst = 32,
	};
	static struct outcome out;
	struct schedule forever = { .from = INT64_MAX / 8 };

	memset(&out, 0, sizeof(out));
	if (!worker_start(&f->process, "forwarder", &job) || !worker_await_ready(&f->process, &out))
		return run_fail(s, RUN_FAILED, "forwarder: %s", out.error);
	return worker_go(&f->process, &forever) || run_fail(s, RUN_FAILED, "forwarder is gone");
}

bool
forwarder_start(struct forwarder *f, const struct run *run, const struct run_times *times,
		struct sample *s)
{
	struct arguments a = { .argc = 0 };

	if (run->receiver->kind == DRIVER_RAW)
		return start_raw(f, times, s);
	begin_testpmd(&a, times);
	add_vdev(&a, run->receiver, 0, "fwa", run->rx_devargs);
	add_vdev(&a, run->receiver, 1, "fwb", run->rx_devargs);
	if (run->receiver->kind == DRIVER_TAPBATCH) {
		add(&a, "-d");
		add(&a, driver_plugin());
	}
	return finish_testpmd(f, &a, run, s);
}

/* Whether a program that forwards does so on a tap of ours, as the bridge always does. */
static bool
uses_tapbatch(const struct driver *d)
{
	return d->vdev == NULL || strstr(d->vdev, "net_tapbatch") != NULL;
}

bool
forwarder_start_vhost(struct forwarder *f, const struct run *run, const struct run_times *times,
		      const char *iface, struct sample *s)
{
	struct arguments a = { .argc = 0 };

	snprintf(f->folder, sizeof(f->folder), "/tmp/tapbatch-perf.XXXXXX");
	if (mkdtemp(f->folder) == NULL) {
		f->folder[0] = '\0';
		return run_fail(s, RUN_FAILED, "no folder for a socket in /tmp");
	}
	snprintf(f->socket, sizeof(f->socket), "%s/socket", f->folder);
	if (run->forwarder->vdev == NULL) {
		add(&a, driver_program(run->forwarder));
		add_eal(&a, times);
		add(&a, "--");
		add(&a, "--pair");
		snprintf(add_text(&a), sizeof(a.text[0]), "tap=%s,socket=%s", iface, f->socket);
		return start(f, &a, "ready, 1 pairs", s);
	}
	begin_testpmd(&a, times);
	add_vdev(&a, run->forwarder, 0, iface, "");
	snprintf(add_text(&a), sizeof(a.text[0]), "--vdev=net_vhost0,iface=%s", f->socket);
	if (uses_tapbatch(run->forwarder)) {
		add(&a, "-d");
		add(&a, driver_plugin());
	}
	return finish_testpmd(f, &a, run, s);
}

/* What the guest forwards to. */
static const struct driver *
guest_tap(const struct run *run)
{
	return driver_find(run->own_guest && !uses_tapbatch(run->forwarder) ? "net_tap" :
									      "tapbatch");
}

bool
forwarder_start_guest(struct forwarder *f, const struct run *run, const struct run_times *times,
		      const char *iface, struct sample *s)
{
	struct schedule forever = { .from = INT64_MAX / 8 };
	static struct outcome out;
	struct job job;

	memset(&out, 0, sizeof(out));
	run_make_job(&job, run, &driver_guest, ROLE_FORWARD, f->socket, "", times->tx_core);
	job.burst = 64;
	job.nap_us = GUEST_NAP_US;
	driver_vdev(guest_tap(run), job.peer_vdev, sizeof(job.peer_vdev), 0, iface, "");
	snprintf(job.plugin, sizeof(job.plugin), "%s", driver_plugin());
	if (!worker_start(&f->guest, "guest", &job))
		return run_fail(s, RUN_FAILED, "guest does not start");
	if (!worker_await_ready(&f->guest, &out))
		return run_worker_failed(s, &out);
	return worker_go(&f->guest, &forever) || run_fail(s, RUN_FAILED, "guest is gone");
}

void
forwarder_end(struct forwarder *f)
{
	process_end(&f->guest);
	process_end(&f->process);
	if (f->folder[0] == '\0')
		return;
	unlink(f->socket);
	rmdir(f->folder);
	f->folder[0] = '\0';
}
