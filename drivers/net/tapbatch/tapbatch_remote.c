/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * The interface that a port captures from and sends through (device argument remote): kept
 * equal with the port's own while the port is open, and put back as it was.
 */

#include <errno.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_string_fns.h>

#include "tapbatch_log.h"
#include "tapbatch_netlink.h"
#include "tapbatch_remote.h"
#include "tapbatch_tc.h"

/* Asks the kernel: what is remembered may have been changed by somebody else. */
static int
ask(struct tapbatch_remote *remote, struct tapbatch_iface *state)
{
	int ret;

	memset(state, 0, sizeof(*state));
	if (remote->gone)
		return -ENODEV;
	ret = tapbatch_netlink_get_link(remote->requests, remote->ifindex, state);
	/* An interface that gets its index later is another one. */
	remote->gone = ret == -ENODEV;
	if (ret == 0 && state->type != ARPHRD_ETHER)
		ret = -EMEDIUMTYPE;
	return ret;
}

static int
send_mtu(const struct tapbatch_remote *remote, uint32_t mtu)
{
	return tapbatch_netlink_set_u32(remote->requests, remote->ifindex, IFLA_MTU, mtu);
}

static int
send_mac(const struct tapbatch_remote *remote, const struct rte_ether_addr *mac)
{
	char buffer[TAPBATCH_NETLINK_REQUEST];
	struct nlmsghdr *nlh = tapbatch_netlink_begin_link(buffer, RTM_NEWLINK, remote->ifindex);

	mnl_attr_put(nlh, IFLA_ADDRESS, sizeof(*mac), mac);
	return tapbatch_netlink_talk(remote->requests, nlh, NULL, NULL);
}

/* What to do about an error, beside what strerror() says. */
static const char *
advice(int ret)
{
	switch (ret) {
	case -ENODEV:
		return " (it was deleted, or moved to another network namespace: close the port "
		       "and create it anew)";
	case -EPERM:
	case -EACCES:
		return " (CAP_NET_ADMIN and CAP_NET_RAW are needed)";
	case -EINVAL:
	case -ERANGE:
		return " (see what it takes: ip -d link show)";
	case -EBUSY:
		return " (it may have to be down: ip link set dev ... down)";
	default:
		return "";
	}
}

/* "remote=NAME WHAT: why". Returns ret. */
static int
complain(const struct tapbatch_remote *remote, int ret, const char *what)
{
	TAPBATCH_LOG(ERR, "remote=%s %s: %s%s", remote->name, what, strerror(-ret), advice(ret));
	return ret;
}

/* See tapbatch_remote_check(). */
static int
check(struct tapbatch_remote *remote, const struct tapbatch_link *tap)
{
	struct tapbatch_tc_ingress ingress;
	struct tapbatch_iface state, other;
	int ret;

	ret = ask(remote, &state);
	if (ret != 0)
		return complain(remote, ret, "cannot be used");
	if (remote->netns != 0 && tap->netns != 0 && remote->netns != tap->netns) {
		TAPBATCH_LOG(ERR,
			     "remote=%s is not in the network namespace of the port's interface, "
			     "which was moved: move it back, or create the port there",
			     remote->name);
		return -EXDEV;
	}
	if (remote->ifindex == tap->ifindex) {
		TAPBATCH_LOG(ERR, "remote=%s is the port's own interface: it has to be another one",
			     remote->name);
		return -EINVAL;
	}
	ret = tapbatch_tc_read(remote->requests, remote->ifindex, &ingress);
	if (ret != 0)
		return complain(remote, ret, "does not tell its filters");
	if (ingress.taken) {
		TAPBATCH_LOG(ERR,
			     "remote=%s has a filter of preference %u or %u that is not of this "
			     "driver, which needs them: give it another one (tc filter show dev %s "
			     "ingress)",
			     remote->name, TAPBATCH_TC_PREF_ADDRESS, TAPBATCH_TC_PREF_ALL,
			     remote->name);
		return -EEXIST;
	}
	if (ingress.target == 0 || ingress.target == tap->ifindex)
		return 0;
	ret = tapbatch_netlink_get_link(remote->requests, ingress.target, &other);
	TAPBATCH_LOG(ERR,
		     "remote=%s already serves interface %s: stop the port that has it, or, if "
		     "nobody has, tc filter del dev %s ingress pref %u, and pref %u",
		     remote->name, ret == 0 ? other.name : "?", remote->name,
		     TAPBATCH_TC_PREF_ADDRESS, TAPBATCH_TC_PREF_ALL);
	return -EBUSY;
}

int
tapbatch_remote_open(struct tapbatch_remote *remote, const char *device, const char *name,
		     const struct tapbatch_link *tap, struct tapbatch_iface *state)
{
	struct stat st;
	int ret;

	*remote = TAPBATCH_REMOTE_NONE;
	strlcpy(remote->name, name, sizeof(remote->name));
	remote->ifindex = if_nametoindex(name);
	if (remote->ifindex == 0) {
		ret = -errno;
		TAPBATCH_LOG(ERR,
			     "%s: remote=%s: %s (it has to be an interface of this network "
			     "namespace)",
			     device, name, strerror(errno));
		goto error;
	}
	if (stat("/proc/thread-self/ns/net", &st) == 0)
		remote->netns = st.st_ino;
	remote->requests = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	/* With protocol 0 it receives nothing. */
	remote->members = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (remote->requests == NULL || remote->members < 0 ||
	    mnl_socket_bind(remote->requests, 0, MNL_SOCKET_AUTOPID) < 0) {
		ret = -errno;
		TAPBATCH_LOG(ERR, "%s: remote=%s: no socket to control it: %s%s", device, name,
			     strerror(errno), errno == EPERM ? " (CAP_NET_RAW is needed)" : "");
		goto error;
	}
	ret = ask(remote, state);
	if (ret != 0) {
		TAPBATCH_LOG(ERR, "%s: remote=%s: %s", device, name,
			     ret == -EMEDIUMTYPE ? "is no Ethernet interface" : strerror(-ret));
		goto error;
	}
	ret = check(remote, tap);
	if (ret != 0)
		goto error;
	remote->mac = state->mac;
	return 0;
error:
	tapbatch_remote_close(remote, NULL);
	return ret;
}

/* Sets what we have changed to what we found, unless it was changed again. */
static void
put_back(struct tapbatch_remote *remote)
{
	struct tapbatch_iface state;

	if (ask(remote, &state) != 0)
		return;
	if (remote->changed_up && state.up)
		tapbatch_netlink_set_up(remote->requests, remote->ifindex, false);
	if (remote->changed_mtu && state.mtu == remote->our_mtu && state.mtu != remote->found_mtu &&
	    send_mtu(remote, remote->found_mtu) != 0)
		TAPBATCH_LOG(NOTICE, "remote=%s keeps the MTU %u, it had %u before", remote->name,
			     state.mtu, remote->found_mtu);
	if (remote->changed_mac && rte_is_same_ether_addr(&state.mac, &remote->our_mac) &&
	    !rte_is_same_ether_addr(&state.mac, &remote->found_mac) &&
	    send_mac(remote, &remote->found_mac) != 0)
		TAPBATCH_LOG(NOTICE,
			     "remote=%s keeps the port's address, it had " RTE_ETHER_ADDR_PRT_FMT
			     " before",
			     remote->name, RTE_ETHER_ADDR_BYTES(&remote->found_mac));
}

void
tapbatch_remote_close(struct tapbatch_remote *remote, const struct tapbatch_link *tap)
{
	tapbatch_remote_release(remote, tap);
	if (remote->changed_up || remote->changed_mtu || remote->changed_mac)
		put_back(remote);
	if (remote->requests != NULL)
		mnl_socket_close(remote->requests);
	if (remote->members >= 0)
		close(remote->members);
	pthread_mutex_destroy(&remote->lock);
	*remote = TAPBATCH_REMOTE_NONE;
}

static int
change_mac(struct tapbatch_remote *remote, const struct rte_ether_addr *mac)
{
	struct tapbatch_iface state;
	int ret;

	ret = ask(remote, &state);
	if (ret == 0 && !rte_is_same_ether_addr(mac, &state.mac)) {
		ret = send_mac(remote, mac);
		if (ret == 0) {
			if (!remote->changed_mac ||
			    !rte_is_same_ether_addr(&state.mac, &remote->our_mac))
				remote->found_mac = state.mac;
			remote->our_mac = *mac;
			remote->changed_mac = true;
		}
	}
	return ret == 0 ? 0 : complain(remote, ret, "does not take the port's address");
}

static int
set_up(struct tapbatch_remote *remote)
{
	struct tapbatch_iface state;
	int ret;

	ret = ask(remote, &state);
	if (ret != 0 || state.up)
		return ret;
	ret = tapbatch_netlink_set_up(remote->requests, remote->ifindex, true);
	if (ret == -EPERM) {
		TAPBATCH_LOG(NOTICE,
			     "remote=%s is down, and there is no permission to set it up: that is "
			     "left to others (ip link set dev %s up)",
			     remote->name, remote->name);
		return 0;
	}
	remote->changed_up |= ret == 0;
	return ret;
}

static int
redirect(struct tapbatch_remote *remote, const struct tapbatch_link *tap)
{
	int ret;

	ret = tapbatch_tc_pass(remote->requests, tap->ifindex, remote->ifindex, NULL);
	if (ret != 0)
		return ret;
	ret = tapbatch_tc_pass(remote->requests, remote->ifindex, tap->ifindex, &remote->mac);
	if (ret == 0) {
		ret = set_up(remote);
		if (ret != 0)
			tapbatch_tc_clear(remote->requests, remote->ifindex);
	}
	if (ret != 0)
		tapbatch_tc_clear(remote->requests, tap->ifindex);
	return ret;
}

int
tapbatch_remote_check(struct tapbatch_remote *remote, const struct tapbatch_link *tap)
{
	int ret;

	if (remote->ifindex == 0)
		return 0;
	pthread_mutex_lock(&remote->lock);
	ret = check(remote, tap);
	pthread_mutex_unlock(&remote->lock);
	return ret;
}

int
tapbatch_remote_redirect(struct tapbatch_remote *remote, const struct tapbatch_link *tap)
{
	int ret;

	if (remote->ifindex == 0)
		return 0;
	pthread_mutex_lock(&remote->lock);
	ret = check(remote, tap);
	if (ret == 0)
		ret = change_mac(remote, &remote->mac);
	if (ret != 0)
		goto out;
	ret = redirect(remote, tap);
	if (ret == 0) {
		remote->tap_ifindex = tap->ifindex;
		goto out;
	}
	TAPBATCH_LOG(ERR, "remote=%s cannot be redirected to the port's interface: %s%s",
		     remote->name, strerror(-ret),
		     ret == -ENOENT || ret == -EOPNOTSUPP ?
			     " (the kernel needs sch_ingress, cls_u32 and act_mirred; a qdisc "
			     "that shares its filters, ingress_block, takes none)" :
		     ret == -EEXIST ? " (the port's interface has filters of somebody else's "
				      "where the driver's belong: tc filter show dev ... ingress)" :
				      advice(ret));
out:
	pthread_mutex_unlock(&remote->lock);
	return ret;
}

static bool
together(const struct tapbatch_remote *remote, const struct tapbatch_link *tap)
{
	return tap != NULL && tap->ifindex == remote->tap_ifindex &&
	       (remote->netns == 0 || tap->netns == 0 || remote->netns == tap->netns);
}

/* Never counts backwards, whatever becomes of the filter that counts. */
static void
read_lost(struct tapbatch_remote *remote, const struct tapbatch_link *tap)
{
	struct tapbatch_tc_ingress ingress;

	if (remote->tap_ifindex != 0 && together(remote, tap) &&
	    tapbatch_tc_read(remote->requests, tap->ifindex, &ingress) == 0)
		remote->lost_since = RTE_MAX(remote->lost_since, ingress.lost);
}

/* With the interface its filters went. */
static void
release(struct tapbatch_remote *remote, const struct tapbatch_link *tap)
{
	if (remote->tap_ifindex == 0)
		return;
	read_lost(remote, tap);
	remote->lost += remote->lost_since;
	remote->lost_since = 0;
	if (together(remote, tap))
		tapbatch_tc_clear(remote->requests, tap->ifindex);
	if (!remote->gone)
		tapbatch_tc_clear(remote->requests, remote->ifindex);
	remote->tap_ifindex = 0;
}

void
tapbatch_remote_release(struct tapbatch_remote *remote, const struct tapbatch_link *tap)
{
	if (remote->ifindex == 0)
		return;
	pthread_mutex_lock(&remote->lock);
	release(remote, tap);
	pthread_mutex_unlock(&remote->lock);
}

void
tapbatch_remote_follow(struct tapbatch_remote *remote, uint16_t port_id,
		       const struct tapbatch_link *tap, bool deleted)
{
	struct tapbatch_iface state;
	bool known;

	if (remote->ifindex == 0)
		return;
	pthread_mutex_lock(&remote->lock);
	known = remote->gone;
	remote->gone |= deleted;
	if (ask(remote, &state) == -ENODEV && !known)
		TAPBATCH_LOG(NOTICE,
			     "port %u: remote=%s is gone (deleted, or moved to another network "
			     "namespace): the link is down, and packets sent are dropped and "
			     "counted; close the port and create it anew",
			     port_id, remote->name);
	if (remote->tap_ifindex != 0 && !together(remote, tap)) {
		release(remote, tap);
		TAPBATCH_LOG(NOTICE,
			     "port %u: remote=%s is released, since the port's interface %s: the "
			     "link is down, and packets sent are dropped and counted%s",
			     port_id, remote->name,
			     tap == NULL ? "is gone" : "was moved to another network namespace",
			     tap == NULL ? "" : "; move it back and start the port again");
	}
	/* Frames for it are the host's, with copies for the port. */
	if (!remote->gone && remote->tap_ifindex != 0 &&
	    !rte_is_same_ether_addr(&state.mac, &remote->mac) &&
	    !rte_is_same_ether_addr(&state.mac, &remote->foreign_mac))
		TAPBATCH_LOG(
			NOTICE,
			"port %u: the address of remote=%s was changed to " RTE_ETHER_ADDR_PRT_FMT
			", the port's is still " RTE_ETHER_ADDR_PRT_FMT
			": set that again, or the same as the port's",
			port_id, remote->name, RTE_ETHER_ADDR_BYTES(&state.mac),
			RTE_ETHER_ADDR_BYTES(&remote->mac));
	remote->foreign_mac = state.mac;
	pthread_mutex_unlock(&remote->lock);
}

unsigned int
tapbatch_remote_news(const struct tapbatch_remote *remote, const struct tapbatch_link *tap)
{
	return remote->netns == tap->netns || tap->netns == 0 ? remote->ifindex : 0;
}

bool
tapbatch_remote_running(struct tapbatch_remote *remote)
{
	struct tapbatch_iface state;
	bool running;

	if (remote->ifindex == 0)
		return true;
	pthread_mutex_lock(&remote->lock);
	running = remote->tap_ifindex != 0 && ask(remote, &state) == 0 && state.running;
	pthread_mutex_unlock(&remote->lock);
	return running;
}

int
tapbatch_remote_get(struct tapbatch_remote *remote, struct tapbatch_iface *state)
{
	int ret;

	if (remote->ifindex == 0)
		return -ENODEV;
	pthread_mutex_lock(&remote->lock);
	ret = ask(remote, state);
	pthread_mutex_unlock(&remote->lock);
	return ret;
}

uint64_t
tapbatch_remote_lost(struct tapbatch_remote *remote, const struct tapbatch_link *tap)
{
	uint64_t lost;

	if (remote->ifindex == 0)
		return 0;
	pthread_mutex_lock(&remote->lock);
	read_lost(remote, tap);
	lost = remote->lost + remote->lost_since;
	pthread_mutex_unlock(&remote->lock);
	return lost;
}

/* Moves the redirection to another address; after an error it is as it was. */
static int
redirect_address(struct tapbatch_remote *remote, const struct rte_ether_addr *mac)
{
	int ret;

	if (remote->tap_ifindex == 0)
		return 0;
	ret = tapbatch_tc_pass_address(remote->requests, remote->ifindex, remote->tap_ifindex, mac);
	if (ret == 0)
		return 0;
	complain(remote, ret, "does not redirect what is for the port's address");
	tapbatch_tc_pass_address(remote->requests, remote->ifindex, remote->tap_ifindex,
				 &remote->mac);
	return ret;
}

int
tapbatch_remote_set_mac(struct tapbatch_remote *remote, const struct rte_ether_addr *mac)
{
	int ret;

	if (remote->ifindex == 0)
		return 0;
	pthread_mutex_lock(&remote->lock);
	ret = change_mac(remote, mac);
	if (ret == 0 && !rte_is_same_ether_addr(mac, &remote->mac)) {
		ret = redirect_address(remote, mac);
		if (ret == 0)
			remote->mac = *mac;
		else
			change_mac(remote, &remote->mac);
	}
	pthread_mutex_unlock(&remote->lock);
	return ret;
}

int
tapbatch_remote_set_mtu(struct tapbatch_remote *remote, uint32_t mtu)
{
	struct tapbatch_iface state;
	char what[64];
	int ret;

	if (remote->ifindex == 0)
		return 0;
	pthread_mutex_lock(&remote->lock);
	ret = ask(remote, &state);
	if (ret == 0 && state.mtu != mtu) {
		ret = send_mtu(remote, mtu);
		if (ret == 0) {
			if (!remote->changed_mtu || state.mtu != remote->our_mtu)
				remote->found_mtu = state.mtu;
			remote->our_mtu = mtu;
			remote->changed_mtu = true;
		}
	}
	if (ret != 0) {
		snprintf(what, sizeof(what), "does not take the port's MTU, %u", mtu);
		complain(remote, ret, what);
	}
	pthread_mutex_unlock(&remote->lock);
	return ret;
}

static int
change_membership(struct tapbatch_remote *remote, unsigned short type,
		  const struct rte_ether_addr *mac, bool on)
{
	struct packet_mreq request = {
		.mr_ifindex = (int)remote->ifindex,
		.mr_type = type,
	};

	if (mac != NULL) {
		request.mr_alen = sizeof(*mac);
		memcpy(request.mr_address, mac, sizeof(*mac));
	}
	/* The kernel has taken those of an interface that is gone away. */
	if (!on && remote->gone)
		return 0;
	if (setsockopt(remote->members, SOL_PACKET,
		       on ? PACKET_ADD_MEMBERSHIP : PACKET_DROP_MEMBERSHIP, &request,
		       sizeof(request)) != 0)
		return -errno;
	return 0;
}

int
tapbatch_remote_set_modes(struct tapbatch_remote *remote, bool promiscuous, bool allmulticast)
{
	bool changed = false;
	int ret = 0;

	if (remote->ifindex == 0)
		return 0;
	pthread_mutex_lock(&remote->lock);
	if (promiscuous != remote->promiscuous) {
		ret = change_membership(remote, PACKET_MR_PROMISC, NULL, promiscuous);
		changed = ret == 0;
	}
	if (ret == 0 && allmulticast != remote->allmulticast)
		ret = change_membership(remote, PACKET_MR_ALLMULTI, NULL, allmulticast);
	if (ret == 0) {
		remote->promiscuous = promiscuous;
		remote->allmulticast = allmulticast;
	} else {
		if (changed)
			change_membership(remote, PACKET_MR_PROMISC, NULL, !promiscuous);
		complain(remote, ret, "does not take the port's promiscuous or multicast mode");
	}
	pthread_mutex_unlock(&remote->lock);
	return ret;
}

int
tapbatch_remote_set_address(struct tapbatch_remote *remote, const struct rte_ether_addr *mac,
			    bool on)
{
	int ret;

	if (remote->ifindex == 0)
		return 0;
	pthread_mutex_lock(&remote->lock);
	ret = change_membership(remote,
				rte_is_multicast_ether_addr(mac) ? PACKET_MR_MULTICAST :
								   PACKET_MR_UNICAST,
				mac, on);
	if (ret != 0 && on)
		complain(remote, ret, "does not take a further address of the port's");
	pthread_mutex_unlock(&remote->lock);
	return ret;
}
