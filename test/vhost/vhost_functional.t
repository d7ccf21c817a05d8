#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The driver's functional tests with engine vhost, at reduced size, on a kernel that has
# vhost-net: in a VM.
# timeout: 1800
. "$(dirname "$0")/../tap.sh"
. "$TOP/test/vm/guest.sh"

guest_start bridge || { fail "the VM starts"; done_testing; exit; }
for name in frames offloads nombuf interrupts queues batches; do
	guest_test "$TOP/test/func/$name.t" 400 ENGINES=vhost SLOW=5
done
guest_test "$TOP/test/func/hotplug.t" 400 ENGINES=vhost SLOW=15
for name in property-forward property-backward; do
	guest_test "$TOP/test/func/$name.t" 400 ENGINES=vhost PACKETS=20000
done
done_testing
