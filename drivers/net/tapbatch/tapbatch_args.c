/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * Device arguments: from text to values, each checked. A wrong one is named in a
 * message together with what is allowed.
 */

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_kvargs.h>
#include <rte_string_fns.h>

#include "tapbatch_args.h"
#include "tapbatch_coalesce.h"
#include "tapbatch_log.h"

#define DEFAULT_IFACE "tapb%d"

/* What a handler of rte_kvargs_process() is given. */
struct arg_context {
	const char *device;
	struct tapbatch_args *args;
};

static int
refuse(const struct arg_context *ctx, const char *key, const char *value, const char *allowed)
{
	TAPBATCH_LOG(ERR, "%s: %s=%s is not allowed: %s", ctx->device, key, value ? value : "",
		     allowed);
	return -EINVAL;
}

static int
parse_number(const char *value, uint64_t max, uint64_t *number)
{
	char *end;

	if (value == NULL || !isdigit((unsigned char)value[0]))
		return -EINVAL;
	errno = 0;
	*number = strtoull(value, &end, 10);
	if (errno != 0 || *end != '\0' || *number > max)
		return -EINVAL;
	return 0;
}

/* The kernel's rules for a name (net/core/dev.c, dev_valid_name), and at most one
 * "%d", which it replaces by a number.
 */
static bool
valid_iface(const char *name, bool pattern)
{
	const char *percent = strchr(name, '%');
	const char *p;

	if (name[0] == '\0' || strlen(name) >= IF_NAMESIZE || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0)
		return false;
	for (p = name; *p != '\0'; p++)
		if (*p == '/' || *p == ':' || isspace((unsigned char)*p))
			return false;
	if (percent != NULL)
		return pattern && percent[1] == 'd' && strchr(percent + 1, '%') == NULL;
	return true;
}

static int
parse_iface(const char *key, const char *value, void *opaque)
{
	struct arg_context *ctx = opaque;

	if (value == NULL || !valid_iface(value, true))
		return refuse(ctx, key, value,
			      "an interface name has 1 to 15 characters, no '/', ':' or space, "
			      "and no '%' but for one \"%d\"");
	strlcpy(ctx->args->iface, value, sizeof(ctx->args->iface));
	return 0;
}

static int
parse_type(const char *key, const char *value, void *opaque)
{
	struct arg_context *ctx = opaque;

	if (value != NULL && strcmp(value, "tap") == 0)
		ctx->args->l3_only = false;
	else if (value != NULL && strcmp(value, "tun") == 0)
		ctx->args->l3_only = true;
	else
		return refuse(ctx, key, value, "tap or tun");
	return 0;
}

static int
parse_engine(const char *key, const char *value, void *opaque)
{
	static const char *const names[] = {
		[TAPBATCH_ENGINE_AUTO] = "auto",
		[TAPBATCH_ENGINE_RW] = "rw",
		[TAPBATCH_ENGINE_URING] = "uring",
		[TAPBATCH_ENGINE_VHOST] = "vhost",
	};
	struct arg_context *ctx = opaque;
	unsigned int i;

	for (i = 0; value != NULL && i < RTE_DIM(names); i++) {
		if (strcmp(value, names[i]) == 0) {
			ctx->args->engine = i;
			return 0;
		}
	}
	return refuse(ctx, key, value, "auto, uring, rw or vhost");
}

static int
parse_tx_batched(const char *key, const char *value, void *opaque)
{
	struct arg_context *ctx = opaque;
	uint64_t number;

	if (parse_number(value, TAPBATCH_MAX_BATCH, &number) != 0)
		return refuse(ctx, key, value, "a number of packets, 0 to 64");
	ctx->args->tx_batched = (uint16_t)number;
	return 0;
}

static int
parse_coalesce(const char *key, const char *value, void *opaque)
{
	static const char allowed[] = "none, or tcp and udp joined with '+'";
	struct arg_context *ctx = opaque;
	uint32_t kinds = 0;
	const char *word = value;

	if (value == NULL)
		return refuse(ctx, key, value, allowed);
	if (strcmp(value, "none") != 0) {
		for (;;) {
			size_t len = strcspn(word, "+");

			if (len == 3 && strncmp(word, "tcp", 3) == 0)
				kinds |= TAPBATCH_COALESCE_TCP4 | TAPBATCH_COALESCE_TCP6;
			else if (len == 3 && strncmp(word, "udp", 3) == 0)
				kinds |= TAPBATCH_COALESCE_UDP4 | TAPBATCH_COALESCE_UDP6;
			else
				return refuse(ctx, key, value, allowed);
			if (word[len] == '\0')
				break;
			word += len + 1;
		}
	}
	ctx->args->coalesce = kinds;
	return 0;
}

static int
parse_mac(const char *key, const char *value, void *opaque)
{
	struct arg_context *ctx = opaque;

	if (value != NULL && strcmp(value, "random") == 0) {
		ctx->args->mac_kind = TAPBATCH_MAC_RANDOM;
	} else if (value != NULL && strcmp(value, "fixed") == 0) {
		ctx->args->mac_kind = TAPBATCH_MAC_FIXED;
	} else if (value != NULL && rte_ether_unformat_addr(value, &ctx->args->mac) == 0 &&
		   rte_is_valid_assigned_ether_addr(&ctx->args->mac)) {
		ctx->args->mac_kind = TAPBATCH_MAC_GIVEN;
	} else {
		return refuse(ctx, key, value,
			      "random, fixed, or a unicast address like 02:00:00:00:00:01");
	}
	return 0;
}

static int
parse_txqlen(const char *key, const char *value, void *opaque)
{
	struct arg_context *ctx = opaque;
	uint64_t number;

	/* The kernel's ring takes no more; it refuses the allocation far below that. */
	if (parse_number(value, 1u << 20, &number) != 0 || number == 0)
		return refuse(ctx, key, value, "a number of packets, 1 to 1048576");
	ctx->args->txqlen = (uint32_t)number;
	return 0;
}

static int
parse_persist(const char *key, const char *value, void *opaque)
{
	struct arg_context *ctx = opaque;
	uint64_t number;

	if (parse_number(value, 1, &number) != 0)
		return refuse(ctx, key, value, "0 or 1");
	ctx->args->persist = number != 0;
	return 0;
}

static int
parse_id(const char *key, const char *value, void *opaque)
{
	struct arg_context *ctx = opaque;
	uint64_t number;

	/* The last one is the kernel's "nobody". */
	if (parse_number(value, UINT32_MAX - 1, &number) != 0)
		return refuse(ctx, key, value, "a numeric id");
	if (strcmp(key, TAPBATCH_ARG_OWNER) == 0)
		ctx->args->owner = (int64_t)number;
	else
		ctx->args->group = (int64_t)number;
	return 0;
}

static int
parse_remote(const char *key, const char *value, void *opaque)
{
	struct arg_context *ctx = opaque;

	if (value == NULL || !valid_iface(value, false))
		return refuse(ctx, key, value, "the name of an interface");
	strlcpy(ctx->args->remote, value, sizeof(ctx->args->remote));
	return 0;
}

/* A CPU, or the first and last of a range. */
static int
parse_vhost_cpu(const char *key, const char *value, void *opaque)
{
	struct arg_context *ctx = opaque;
	char text[32];
	uint64_t first, last;
	char *dash;

	strlcpy(text, value != NULL ? value : "", sizeof(text));
	dash = strchr(text, '-');
	if (dash != NULL)
		*dash = '\0';
	if (parse_number(text, RTE_MAX_LCORE - 1, &first) != 0 ||
	    parse_number(dash != NULL ? dash + 1 : text, RTE_MAX_LCORE - 1, &last) != 0 ||
	    last < first)
		return refuse(ctx, key, value, "a CPU, or a range like 2-5");
	ctx->args->vhost_cpu = (unsigned int)first;
	ctx->args->vhost_cpus = (unsigned int)(last - first) + 1;
	return 0;
}

/* clang-format off */
static const struct {
	const char *key;
	arg_handler_t parse;
} handlers[] = {
	{ TAPBATCH_ARG_IFACE, parse_iface },
	{ TAPBATCH_ARG_TYPE, parse_type },
	{ TAPBATCH_ARG_ENGINE, parse_engine },
	{ TAPBATCH_ARG_TX_BATCHED, parse_tx_batched },
	{ TAPBATCH_ARG_COALESCE, parse_coalesce },
	{ TAPBATCH_ARG_MAC, parse_mac },
	{ TAPBATCH_ARG_TXQLEN, parse_txqlen },
	{ TAPBATCH_ARG_PERSIST, parse_persist },
	{ TAPBATCH_ARG_OWNER, parse_id },
	{ TAPBATCH_ARG_GROUP, parse_id },
	{ TAPBATCH_ARG_REMOTE, parse_remote },
	{ TAPBATCH_ARG_VHOST_CPU, parse_vhost_cpu },
};
/* clang-format on */

int
tapbatch_args_parse(const char *name, const char *params, struct tapbatch_args *args)
{
	struct arg_context ctx = { .device = name, .args = args };
	struct rte_kvargs *kvlist;
	unsigned int i, j;
	int ret = 0;

	*args = (struct tapbatch_args){
		.iface = DEFAULT_IFACE,
		.engine = TAPBATCH_ENGINE_AUTO,
		.tx_batched = TAPBATCH_MAX_BATCH,
		.coalesce = TAPBATCH_COALESCE_TCP4 | TAPBATCH_COALESCE_TCP6 |
			    TAPBATCH_COALESCE_UDP4 | TAPBATCH_COALESCE_UDP6,
		.mac_kind = TAPBATCH_MAC_RANDOM,
		.owner = -1,
		.group = -1,
	};
	if (params == NULL || params[0] == '\0')
		return 0;

	kvlist = rte_kvargs_parse(params, NULL);
	if (kvlist == NULL) {
		TAPBATCH_LOG(ERR, "%s: cannot read the arguments \"%s\": key=value,... expected",
			     name, params);
		return -EINVAL;
	}
	for (i = 0; i < kvlist->count && ret == 0; i++) {
		const struct rte_kvargs_pair *pair = &kvlist->pairs[i];

		for (j = 0; j < RTE_DIM(handlers); j++)
			if (strcmp(pair->key, handlers[j].key) == 0)
				break;
		if (j == RTE_DIM(handlers)) {
			TAPBATCH_LOG(
				ERR,
				"%s: unknown argument \"%s\"; there are: iface, type, engine, "
				"tx_batched, coalesce, mac, txqlen, persist, owner, group, remote, "
				"vhost_cpu",
				name, pair->key);
			ret = -EINVAL;
		} else if (rte_kvargs_count(kvlist, pair->key) != 1) {
			TAPBATCH_LOG(ERR, "%s: argument \"%s\" is given more than once", name,
				     pair->key);
			ret = -EINVAL;
		} else {
			ret = handlers[j].parse(pair->key, pair->value, &ctx);
		}
	}
	rte_kvargs_free(kvlist);
	if (ret == 0 && args->l3_only && args->mac_kind != TAPBATCH_MAC_RANDOM) {
		TAPBATCH_LOG(ERR, "%s: mac= has no meaning with type=tun, which has no addresses",
			     name);
		ret = -EINVAL;
	}
	if (ret == 0 && args->l3_only && args->remote[0] != '\0') {
		TAPBATCH_LOG(ERR, "%s: remote=%s needs type=tap", name, args->remote);
		ret = -EINVAL;
	}
	return ret;
}
