/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

/*
 * News of interfaces, in EAL's interrupt thread: what others do to the port's, or to its
 * remote, is followed, and the application is told.
 */

#include <errno.h>
#include <string.h>

#include <rte_cycles.h>

#include "tapbatch.h"
#include "tapbatch_log.h"

#define NEWS_WAIT_US 100 /* between two looks at whether the callback has returned */

/* What somebody else has set on one of the two interfaces is set on the other one, or
 * taken back there if that one refuses. Returns whether the port has a new MTU.
 */
static bool
spread_mtu(struct rte_eth_dev *dev, uint32_t mtu, bool by_remote)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	uint32_t old = tapbatch_port(dev)->mtu;
	int ret;

	if (!dev->data->dev_started || local->remote.ifindex == 0)
		return true;
	if (!by_remote && tapbatch_remote_set_mtu(&local->remote, mtu) == 0)
		return true;
	ret = tapbatch_link_set_mtu(&local->link, by_remote ? mtu : old);
	if (by_remote && ret == 0)
		return true;
	TAPBATCH_LOG(NOTICE, "port %u: the MTU stays %u%s%s", dev->data->port_id, old,
		     ret == 0 ? "" : ", the interface's cannot be set: ",
		     ret == 0 ? "" : strerror(-ret));
	return false;
}

/* Under the lock, so that what is being set is not taken for somebody else's change. */
static void
follow_mtu(struct rte_eth_dev *dev, uint32_t mtu)
{
	struct tapbatch_port *port = tapbatch_port(dev);
	struct tapbatch_iface remote;
	bool by_remote = mtu == port->mtu;

	if (by_remote) {
		if (!dev->data->dev_started ||
		    tapbatch_remote_get(&tapbatch_local(dev)->remote, &remote) != 0)
			return;
		mtu = remote.mtu;
	}
	if (mtu == port->mtu || mtu > UINT16_MAX)
		return;
	TAPBATCH_LOG(NOTICE, "port %u: the %s MTU was changed from %u to %u", dev->data->port_id,
		     by_remote ? "remote's" : "interface's", port->mtu, mtu);
	if (!spread_mtu(dev, mtu, by_remote))
		return;
	port->mtu = (uint16_t)mtu;
	dev->data->mtu = (uint16_t)mtu;
}

/* News of interfaces, in EAL's interrupt thread: this one may have changed, moved to
 * another namespace, or vanished.
 */
static void
handle_news(void *opaque)
{
	struct rte_eth_dev *dev = opaque;
	struct tapbatch_local *local = tapbatch_local(dev);
	struct tapbatch_port *port = tapbatch_port(dev);
	struct tapbatch_link_state state;
	bool remote_deleted = false;
	bool ours;
	int ret = 0;

	if (local->engine->failed != NULL && local->engine->failed(dev)) {
		tapbatch_update_carrier(dev, false);
		tapbatch_link_update(dev, 0);
		rte_eth_dev_callback_process(dev, RTE_ETH_EVENT_INTR_LSC, NULL);
		if (dev->process_private != local)
			return; /* the application has closed the port */
	}
	pthread_mutex_lock(&local->lock);
	ours = tapbatch_link_read_news(&local->link,
				       tapbatch_remote_news(&local->remote, &local->link),
				       &remote_deleted);
	if (ours) {
		ret = tapbatch_link_follow(&local->link);
		tapbatch_remote_follow(&local->remote, dev->data->port_id,
				       ret < 0 ? NULL : &local->link, remote_deleted);
		ret = tapbatch_link_get(&local->link, &state);
		if (ret == 0)
			follow_mtu(dev, state.mtu);
	}
	pthread_mutex_unlock(&local->lock);
	if (!ours)
		return;
	tapbatch_mark_tx_queues(dev);
	if (tapbatch_link_update(dev, 0) == 0 && dev->data->dev_conf.intr_conf.lsc != 0)
		rte_eth_dev_callback_process(dev, RTE_ETH_EVENT_INTR_LSC, NULL);
	if (dev->process_private != local)
		return;
	if (tapbatch_is_removed(dev) && !atomic_exchange(&port->gone, true)) {
		TAPBATCH_LOG(NOTICE, "port %u: the interface is gone", dev->data->port_id);
		rte_eth_dev_callback_process(dev, RTE_ETH_EVENT_INTR_RMV, NULL);
	}
}

int
tapbatch_news_install(struct rte_eth_dev *dev)
{
	struct tapbatch_local *local = tapbatch_local(dev);

	local->news_handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
	if (local->news_handle == NULL ||
	    rte_intr_fd_set(local->news_handle, local->link.news_fd) ||
	    rte_intr_type_set(local->news_handle, RTE_INTR_HANDLE_EXT))
		return -ENOMEM;
	return rte_intr_callback_register(local->news_handle, handle_news, dev);
}

void
tapbatch_news_remove(struct rte_eth_dev *dev)
{
	struct tapbatch_local *local = tapbatch_local(dev);
	int ret;

	if (local->news_handle != NULL) {
		/* -EAGAIN: the callback is running; here, if an application closes a port when
		 * it is told of an event. Else its thread may need this CPU to return.
		 */
		for (;;) {
			ret = rte_intr_callback_unregister(local->news_handle, handle_news, dev);
			if (ret != -EAGAIN || rte_thread_is_intr())
				break;
			rte_delay_us_sleep(NEWS_WAIT_US);
		}
		if (ret == -EAGAIN)
			rte_intr_callback_unregister_pending(local->news_handle, handle_news, dev,
							     NULL);
		rte_intr_instance_free(local->news_handle);
		local->news_handle = NULL;
	}
}
