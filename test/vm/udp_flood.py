#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sends UDP packets of 64 bytes of payload as fast as it can, or a given number.

    udp_flood.py ADDRESS PORT SECONDS

Prints how many the kernel took."""

import socket
import sys
import time

address, port, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
sock.connect((address, port))
data = b"x" * 64
sent = 0
end = time.monotonic() + seconds
while time.monotonic() < end:
    for _ in range(100):
        try:
            sock.send(data)
            sent += 1
        except (ConnectionRefusedError, BlockingIOError, OSError):
            pass
print(sent)
