/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * What testpmd shows of a port in motion: rates of each second, and those that each value
 * of tx_batched brings. Both are differences of counters, which are left as they are.
 */

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "testpmd.h"

#include "rte_pmd_tapbatch.h"
#include "tapbatch_testpmd.h"

/* Lines after which the names of the columns come again. */
#define PAGE 20

/* What packets in flight take to leave after a change. */
#define SETTLE_SECONDS 0.2

/* A port's counters at a time, or their increase over some time; all queues together. */
struct sample {
	double seconds;
	struct rte_pmd_tapbatch_rx_batches rx;
	struct rte_pmd_tapbatch_tx_batches tx;
	uint64_t rx_drops;
	uint64_t tx_drops;
};

static double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Both structures of the driver's consist of such counters only. */
static void
add(void *sum, const void *counters, size_t size)
{
	const uint64_t *c = counters;
	uint64_t *s = sum;
	size_t i;

	for (i = 0; i < size / sizeof(*s); i++)
		s[i] += c[i];
}

static void
subtract(void *difference, const void *counters, size_t size)
{
	const uint64_t *c = counters;
	uint64_t *d = difference;
	size_t i;

	for (i = 0; i < size / sizeof(*d); i++)
		d[i] -= RTE_MIN(d[i], c[i]); /* 0 of an interface that is gone */
}

/* 0 or a negative errno. */
static int
take_sample(uint16_t port_id, struct sample *s)
{
	struct rte_pmd_tapbatch_rx_batches rx;
	struct rte_pmd_tapbatch_tx_batches tx;
	struct rte_eth_dev_info info;
	uint16_t i;
	int ret;

	memset(s, 0, sizeof(*s));
	ret = rte_pmd_tapbatch_kernel_drops_get(port_id, &s->rx_drops, &s->tx_drops);
	if (ret == 0)
		ret = rte_eth_dev_info_get(port_id, &info);
	if (ret != 0)
		return ret;
	for (i = 0; i < info.nb_rx_queues; i++)
		if (rte_pmd_tapbatch_rx_batches_get(port_id, i, &rx) == 0)
			add(&s->rx, &rx, sizeof(rx));
	for (i = 0; i < info.nb_tx_queues; i++)
		if (rte_pmd_tapbatch_tx_batches_get(port_id, i, &tx) == 0)
			add(&s->tx, &tx, sizeof(tx));
	s->seconds = now();
	return 0;
}

static struct sample
increase(const struct sample *before, const struct sample *after)
{
	struct sample d = *after;

	d.seconds -= before->seconds;
	subtract(&d.rx, &before->rx, sizeof(d.rx));
	subtract(&d.tx, &before->tx, sizeof(d.tx));
	subtract(&d.rx_drops, &before->rx_drops, sizeof(d.rx_drops));
	subtract(&d.tx_drops, &before->tx_drops, sizeof(d.tx_drops));
	return d;
}

/* Returns false before the time has come if a signal ends testpmd, or somebody at its
 * terminal presses a key: the prompt has switched off those that send signals.
 */
static bool
wait_until(double seconds)
{
	struct pollfd terminal = { .fd = STDIN_FILENO, .events = POLLIN };
	nfds_t watched = isatty(STDIN_FILENO) ? 1 : 0;
	double left;
	char key;

	while ((left = seconds - now()) > 0) {
		if (f_quit != 0)
			return false;
		if (poll(&terminal, watched, (int)(left * 1000) + 1) > 0)
			return read(STDIN_FILENO, &key, 1) < 0 && errno == EINTR;
	}
	return f_quit == 0;
}

/* Counters of an interval, each as the increase over it. */
static double
rx_in_superframes(const struct sample *d)
{
	return (double)(d->rx.split_packets + d->rx.superframes - d->rx.split_superframes);
}

/* A number in 5 characters or less: three decimals of a small one. */
static const char *
short_text(char text[TAPBATCH_TEXT], double v)
{
	static const char units[] = "kMGT";
	int decimals = v < 9.9995 ? 3 : v < 99.95;
	unsigned int i;

	if (v < 999.5) {
		snprintf(text, TAPBATCH_TEXT, "%.*f", v <= 0 ? 0 : decimals, v);
		return text;
	}
	for (v /= 1000, i = 0; v >= 9999.5 && i < sizeof(units) - 2; i++)
		v /= 1000;
	snprintf(text, TAPBATCH_TEXT, "%.0f%c", v, units[i]);
	return text;
}

static void
print_watch_head(void)
{
	printf("%3s |%16s%14s |%18s\n", "", "Rx", "", "Tx");
	printf("%3s |%7s%7s%6s%4s%6s |%7s%7s%6s%4s%6s%6s%6s\n", "s", "pkt/s", "bit/s", "batch",
	       "sf%", "calls", "pkt/s", "bit/s", "batch", "sf%", "segs", "calls", "drops");
}

static void
print_watch_row(uint32_t second, const struct sample *d)
{
	char text[7][TAPBATCH_TEXT];
	double t = d->seconds;

	printf("%3u |%7s%7s%6.1f%4.0f%6s |%7s%7s%6.1f%4.0f%6.1f%6s%6s\n", second,
	       tapbatch_testpmd_rate(text[0], (double)d->rx.packets / t),
	       tapbatch_testpmd_rate(text[1], (double)d->rx.bytes * 8 / t),
	       tapbatch_testpmd_ratio((double)d->rx.packets, (double)d->rx.batches),
	       100 * tapbatch_testpmd_ratio(rx_in_superframes(d), (double)d->rx.packets),
	       short_text(text[2],
			  tapbatch_testpmd_ratio((double)d->rx.syscalls, (double)d->rx.packets)),
	       tapbatch_testpmd_rate(text[3], (double)d->tx.packets / t),
	       tapbatch_testpmd_rate(text[4], (double)d->tx.bytes * 8 / t),
	       tapbatch_testpmd_ratio((double)d->tx.packets, (double)d->tx.batches),
	       100 * tapbatch_testpmd_ratio((double)d->tx.coalesced_packets, (double)d->tx.packets),
	       tapbatch_testpmd_ratio((double)d->tx.coalesced_packets, (double)d->tx.superframes),
	       short_text(text[5],
			  tapbatch_testpmd_ratio((double)d->tx.syscalls, (double)d->tx.packets)),
	       short_text(text[6], (double)(d->rx_drops + d->tx_drops) / t));
	fflush(stdout);
}

void
tapbatch_testpmd_watch(uint16_t port_id, uint32_t seconds)
{
	struct sample before, after, d;
	unsigned int rows = 0;
	uint32_t second = 0;
	double start;
	int ret;

	ret = take_sample(port_id, &before);
	start = before.seconds;
	/* Seconds that were slept through on a busy machine are part of the next row. */
	while (ret == 0 && second < seconds && wait_until(start + second + 1)) {
		ret = take_sample(port_id, &after);
		if (ret != 0)
			break;
		second = (uint32_t)(after.seconds - start);
		d = increase(&before, &after);
		if (rows++ % PAGE == 0)
			print_watch_head();
		print_watch_row(second, &d);
		before = after;
	}
	if (ret != 0)
		tapbatch_testpmd_complain(port_id, ret);
	else
		printf("batch: packets per batch, sf%%: of packets that are in superframes,\n"
		       "segs: packets per superframe, calls: system calls per packet (Rx: polls, "
		       "too),\ndrops: packets that the kernel drops per second\n");
}

/* One line of a sweep, as text and as numbers. */
struct step {
	uint16_t tx_batched;
	double packets; /* per second, as all of these */
	double bits;
	double gain; /* over the first step */
	double batch;
	double share; /* of packets that are in superframes */
	double segments;
	double calls; /* per packet */
	double drops; /* by the kernel, behind the port */
};

static struct step
measured(uint16_t tx_batched, const struct sample *d, double first)
{
	struct step s = {
		.tx_batched = tx_batched,
		.packets = (double)d->tx.packets / d->seconds,
		.bits = (double)d->tx.bytes * 8 / d->seconds,
		.batch = tapbatch_testpmd_ratio((double)d->tx.packets, (double)d->tx.batches),
		.share = tapbatch_testpmd_ratio((double)d->tx.coalesced_packets,
						(double)d->tx.packets),
		.segments = tapbatch_testpmd_ratio((double)d->tx.coalesced_packets,
						   (double)d->tx.superframes),
		.calls = tapbatch_testpmd_ratio((double)d->tx.syscalls, (double)d->tx.packets),
		.drops = (double)d->tx_drops / d->seconds,
	};

	s.gain = first < 0 ? 1 : tapbatch_testpmd_ratio(s.packets, first);
	return s;
}

static void
print_step(const struct step *s)
{
	char text[4][TAPBATCH_TEXT];

	printf("%10u %8s %8s %7.2f %7.1f %5.0f %7.1f %8s %8s\n", s->tx_batched,
	       tapbatch_testpmd_rate(text[0], s->packets), tapbatch_testpmd_rate(text[1], s->bits),
	       s->gain, s->batch, 100 * s->share, s->segments, short_text(text[2], s->calls),
	       short_text(text[3], s->drops));
	fflush(stdout);
}

static void
print_csv(const struct step *steps, unsigned int n)
{
	unsigned int i;

	printf("\ntx_batched,packets_per_s,bits_per_s,gain,packets_per_batch,"
	       "superframe_share,packets_per_superframe,calls_per_packet,kernel_drops_per_s\n");
	for (i = 0; i < n; i++)
		printf("%u,%.0f,%.0f,%.4f,%.3f,%.4f,%.3f,%.4f,%.0f\n", steps[i].tx_batched,
		       steps[i].packets, steps[i].bits, steps[i].gain, steps[i].batch,
		       steps[i].share, steps[i].segments, steps[i].calls, steps[i].drops);
	printf("\n");
}

/* Measures each value in turn. Returns how many it came to. */
static unsigned int
run_steps(uint16_t port_id, uint32_t seconds, const uint16_t *values, unsigned int n,
	  struct step *steps)
{
	struct sample before, after, d;
	unsigned int i;
	int ret = 0;

	printf("%10s %8s %8s %7s %7s %5s %7s %8s %8s\n", "tx_batched", "pkt/s", "bit/s", "gain",
	       "batch", "sf%", "segs", "calls", "drops");
	for (i = 0; i < n; i++) {
		ret = rte_pmd_tapbatch_tx_batched_set(port_id, values[i]);
		if (ret != 0 || !wait_until(now() + SETTLE_SECONDS))
			break;
		ret = take_sample(port_id, &before);
		if (ret != 0 || !wait_until(before.seconds + seconds))
			break;
		ret = take_sample(port_id, &after);
		if (ret != 0)
			break;
		d = increase(&before, &after);
		steps[i] = measured(values[i], &d, i == 0 ? -1 : steps[0].packets);
		print_step(&steps[i]);
	}
	if (ret != 0)
		tapbatch_testpmd_complain(port_id, ret);
	return i;
}

void
tapbatch_testpmd_sweep(uint16_t port_id, uint32_t seconds)
{
	static const uint16_t values[] = { 0, 4, 8, 16, 32, 48, 64 };
	struct step steps[RTE_DIM(values)];
	bool started = false;
	unsigned int i, done, idle = 0;
	uint16_t old;
	uint32_t kinds;
	int ret;

	ret = rte_pmd_tapbatch_tx_batched_get(port_id, &old);
	if (ret == 0)
		ret = rte_pmd_tapbatch_coalesce_get(port_id, &kinds);
	if (ret != 0) {
		tapbatch_testpmd_complain(port_id, ret);
		return;
	}
	if (test_done != 0) {
		start_packet_forwarding(0);
		if (test_done != 0) {
			fprintf(stderr, "Forwarding does not start, so there is no sweep\n");
			return;
		}
		started = true;
	}
	printf("\nSweep of tx_batched on port %u: forwarding mode %s, burst %u, coalesce %s, "
	       "%u s each\n",
	       port_id, cur_fwd_eng->fwd_mode_name, nb_pkt_per_burst,
	       tapbatch_testpmd_coalesce_text(kinds), seconds);
	done = run_steps(port_id, seconds, values, RTE_DIM(values), steps);
	ret = rte_pmd_tapbatch_tx_batched_set(port_id, old);
	if (ret != 0)
		tapbatch_testpmd_complain(port_id, ret);
	printf("tx_batched is %u again\n", old);
	print_csv(steps, done);
	if (started)
		stop_packet_forwarding();

	for (i = 0; i < done; i++)
		idle += steps[i].packets == 0;
	if (idle > 0)
		fprintf(stderr,
			"With %u of %u values no packet was sent on port %u: is there anything "
			"that forwarding mode %s could send?\n",
			idle, done, port_id, cur_fwd_eng->fwd_mode_name);
	if (nb_pkt_per_burst < values[RTE_DIM(values) - 1])
		printf("A batch had no more packets than a burst, of %u: \"set burst 64\" first\n",
		       nb_pkt_per_burst);
}
