/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright(c) 2026 The tapbatch authors
 */

#ifndef RTE_PMD_TAPBATCH_H
#define RTE_PMD_TAPBATCH_H

/**
 * @file rte_pmd_tapbatch.h
 *
 * What ports of net_tapbatch have beyond ethdev: how packets were batched, and how they
 * are to be.
 *
 * All functions are control functions: for one port, not to be called by several threads
 * at a time, nor together with those of ethdev that configure, stop or close it. All may
 * be called while other threads receive and send. They log nothing.
 *
 * @warning
 * @b EXPERIMENTAL: this API may change, or be removed, without prior notice
 */

#include <stdint.h>

#include <rte_compat.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Sizes are counted in powers of two: element i of a histogram is the number of those from
 * 2^i to 2^(i+1) - 1, the last one also of all that are larger.
 */
#define RTE_PMD_TAPBATCH_SIZES 8

/** Reasons for not merging that there is room for. */
#define RTE_PMD_TAPBATCH_REASONS 32

/** TCP over IPv4 and IPv6 may be coalesced. */
#define RTE_PMD_TAPBATCH_COALESCE_TCP (UINT32_C(1) << 0)
/** UDP over IPv4 and IPv6 may be coalesced. */
#define RTE_PMD_TAPBATCH_COALESCE_UDP (UINT32_C(1) << 1)

/** Counters of an Rx queue since it was set up, or they were cleared. */
struct rte_pmd_tapbatch_rx_batches {
	uint64_t packets;           /**< Handed to the application. */
	uint64_t bytes;             /**< Of these, L2 without FCS. */
	uint64_t batches;           /**< Calls of the engine that brought something. */
	uint64_t syscalls;          /**< System calls made. */
	uint64_t superframes;       /**< Received: handed on whole, or split. */
	uint64_t split_superframes; /**< Those that were split. */
	uint64_t split_packets;     /**< Packets that they were split into. */
	/** Batches by their number of frames, a superframe being one. */
	uint64_t sizes[RTE_PMD_TAPBATCH_SIZES];
};

/** Counters of a Tx queue since it was set up, or they were cleared. */
struct rte_pmd_tapbatch_tx_batches {
	uint64_t packets;             /**< Handed to the kernel. */
	uint64_t bytes;               /**< Of these, L2 without FCS. */
	uint64_t batches;             /**< Calls of the engine. */
	uint64_t syscalls;            /**< System calls made. */
	uint64_t superframes;         /**< Made of several packets. */
	uint64_t coalesced_packets;   /**< Packets in them. */
	uint64_t refused_superframes; /**< By the kernel; their packets went out singly. */
	uint64_t no_room;             /**< Packets given back to the application. */
	uint64_t dropped;             /**< Packets, counted in oerrors. */
	/** Batches by their number of packets, before these are coalesced. */
	uint64_t sizes[RTE_PMD_TAPBATCH_SIZES];
	/** Superframes by their number of packets. */
	uint64_t superframe_sizes[RTE_PMD_TAPBATCH_SIZES];
	/** Packets that were sent alone, by reason: rte_pmd_tapbatch_reason_name(). */
	uint64_t unmerged[RTE_PMD_TAPBATCH_REASONS];
};

/**
 * @warning
 * @b EXPERIMENTAL: this API may change, or be removed, without prior notice
 *
 * How the packets of an Rx queue were batched.
 *
 * @param port_id
 *   The port identifier of the Ethernet device.
 * @param queue_id
 *   The Rx queue, which has been set up.
 * @param batches
 *   Filled in.
 * @return
 *   - 0: success.
 *   - -ENODEV: there is no such port.
 *   - -ENOTSUP: the port is not one of net_tapbatch in this process.
 *   - -EINVAL: there is no such queue, or *batches* is NULL.
 */
__rte_experimental
int rte_pmd_tapbatch_rx_batches_get(uint16_t port_id, uint16_t queue_id,
				    struct rte_pmd_tapbatch_rx_batches *batches);

/**
 * @warning
 * @b EXPERIMENTAL: this API may change, or be removed, without prior notice
 *
 * How the packets of a Tx queue were batched.
 *
 * @param port_id
 *   The port identifier of the Ethernet device.
 * @param queue_id
 *   The Tx queue, which has been set up.
 * @param batches
 *   Filled in.
 * @return
 *   - 0: success.
 *   - -ENODEV: there is no such port.
 *   - -ENOTSUP: the port is not one of net_tapbatch in this process.
 *   - -EINVAL: there is no such queue, or *batches* is NULL.
 */
__rte_experimental
int rte_pmd_tapbatch_tx_batches_get(uint16_t port_id, uint16_t queue_id,
				    struct rte_pmd_tapbatch_tx_batches *batches);

/**
 * @warning
 * @b EXPERIMENTAL: this API may change, or be removed, without prior notice
 *
 * Packets that the kernel's interface has dropped, since the port was made or the numbers
 * were cleared. Once the interface is gone, both are 0.
 *
 * @param port_id
 *   The port identifier of the Ethernet device.
 * @param rx
 *   On their way to the port, since its queue in the kernel was full.
 * @param tx
 *   That came from the port.
 * @return
 *   - 0: success.
 *   - -ENODEV: there is no such port.
 *   - -ENOTSUP: the port is not one of net_tapbatch in this process.
 *   - -EINVAL: *rx* or *tx* is NULL.
 */
__rte_experimental
int rte_pmd_tapbatch_kernel_drops_get(uint16_t port_id, uint64_t *rx, uint64_t *tx);

/**
 * @warning
 * @b EXPERIMENTAL: this API may change, or be removed, without prior notice
 *
 * Lets the counters of all queues of a port, and those of the kernel's drops, begin at 0
 * again in the answers of the functions above. Statistics of ethdev stay as they are;
 * resetting those clears these, too.
 *
 * @param port_id
 *   The port identifier of the Ethernet device.
 * @return
 *   - 0: success.
 *   - -ENODEV: there is no such port.
 *   - -ENOTSUP: the port is not one of net_tapbatch in this process.
 */
__rte_experimental
int rte_pmd_tapbatch_batches_clear(uint16_t port_id);

/**
 * @warning
 * @b EXPERIMENTAL: this API may change, or be removed, without prior notice
 *
 * Name of a reason why packets are sent alone, as in the extended statistics
 * tx_q0_unmerged_<name>.
 *
 * @param reason
 *   Index into rte_pmd_tapbatch_tx_batches::unmerged.
 * @return
 *   The name, which stays valid; NULL: there is no such reason.
 */
__rte_experimental
const char *rte_pmd_tapbatch_reason_name(unsigned int reason);

/**
 * @warning
 * @b EXPERIMENTAL: this API may change, or be removed, without prior notice
 *
 * Most packets that go into the kernel together, as the device argument tx_batched has it.
 *
 * @param port_id
 *   The port identifier of the Ethernet device.
 * @param packets
 *   Set to their number, 0 to 64.
 * @return
 *   - 0: success.
 *   - -ENODEV: there is no such port.
 *   - -ENOTSUP: the port is not one of net_tapbatch in this process.
 *   - -EINVAL: *packets* is NULL.
 */
__rte_experimental
int rte_pmd_tapbatch_tx_batched_get(uint16_t port_id, uint16_t *packets);

/**
 * @warning
 * @b EXPERIMENTAL: this API may change, or be removed, without prior notice
 *
 * Sets how many packets at most go into the kernel together. A Tx queue acts on it from its
 * next burst on; so do queues that are set up later.
 *
 * @param port_id
 *   The port identifier of the Ethernet device.
 * @param packets
 *   Their number, 0 to 64; 0: each alone.
 * @return
 *   - 0: success.
 *   - -ENODEV: there is no such port.
 *   - -ENOTSUP: the port is not one of net_tapbatch in this process.
 *   - -EINVAL: *packets* is larger than 64.
 *   - another negative errno: the kernel refuses, with engine vhost. Queues may differ then.
 */
__rte_experimental
int rte_pmd_tapbatch_tx_batched_set(uint16_t port_id, uint16_t packets);

/**
 * @warning
 * @b EXPERIMENTAL: this API may change, or be removed, without prior notice
 *
 * What may be coalesced, as the device argument coalesce has it, less what this kernel does
 * not segment. It takes a tx_batched of 2 or more for anything to be coalesced.
 *
 * @param port_id
 *   The port identifier of the Ethernet device.
 * @param kinds
 *   Set to a combination of RTE_PMD_TAPBATCH_COALESCE_*.
 * @return
 *   - 0: success.
 *   - -ENODEV: there is no such port.
 *   - -ENOTSUP: the port is not one of net_tapbatch in this process.
 *   - -EINVAL: *kinds* is NULL.
 */
__rte_experimental
int rte_pmd_tapbatch_coalesce_get(uint16_t port_id, uint32_t *kinds);

/**
 * @warning
 * @b EXPERIMENTAL: this API may change, or be removed, without prior notice
 *
 * Sets what may be coalesced. A Tx queue acts on it from its next burst on, and tries again
 * a kind that it gave up since the kernel had refused a superframe; so do queues that are
 * set up later.
 *
 * @param port_id
 *   The port identifier of the Ethernet device.
 * @param kinds
 *   Combination of RTE_PMD_TAPBATCH_COALESCE_*; 0: nothing.
 * @return
 *   - 0: success.
 *   - -ENODEV: there is no such port.
 *   - -ENOTSUP: the port is not one of net_tapbatch in this process.
 *   - -EINVAL: unknown bits in *kinds*.
 *   - -EPROTONOSUPPORT: this kernel does not segment one of *kinds*, or damages it.
 */
__rte_experimental
int rte_pmd_tapbatch_coalesce_set(uint16_t port_id, uint32_t kinds);

#ifdef __cplusplus
}
#endif

#endif /* RTE_PMD_TAPBATCH_H */
