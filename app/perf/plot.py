#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright(c) 2026 The tapbatch authors
"""Makes a report with plots of what dpdk-tapbatch-perf measured."""
