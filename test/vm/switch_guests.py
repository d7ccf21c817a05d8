#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Guests whose every frame is known, for tests of the bridge's switch and of rings.

    switch_guests.py SCENARIO FOLDER [ARGUMENT]

FOLDER has the sockets a.sock, b.sock, ... of a switch on the tap lan, and z.sock of a
pair on the tap z. Prints one line with what was seen, which the test compares.
"""

import os
import signal
import socket
import struct
import subprocess
import sys
import time

import hostile

BUFFER = 4096
RX = 0x200000           # offset of receive buffers in the guest's memory
BIG = 0x80000           # of a frame in several descriptors
HEADER = 12             # bytes of virtio-net header


def wait_for(condition, seconds=5):
    deadline = time.time() + seconds
    while not condition() and time.time() < deadline:
        time.sleep(0.01)


def count(guest, seen, wanted, again=True):
    """How many of the frames it receives satisfy seen; waits until that is wanted."""
    got = 0

    def enough():
        nonlocal got
        got += sum(map(seen, guest.receive(again)))
        return got >= wanted

    wait_for(enough)
    return got


class Guest(hostile.Guest):
    """One that knows which buffers it has posted, and what came in them."""

    def __init__(self, folder, name, buffers=hostile.RING, size=BUFFER):
        super().__init__(f"{folder}/{name}.sock")
        self.start()
        self.size = size
        self.taken = 0
        self.posted = 0
        for _ in range(buffers):
            self.post()
        time.sleep(0.3)

    def post(self):
        index = self.posted % hostile.RING
        self.desc(0, index, RX + BUFFER * index, self.size, hostile.WRITE)
        self.offer(0, index)
        self.posted += 1

    def used(self, ring):
        return struct.unpack_from("<H", self.mem, self.base(ring) + 0x4002)[0]

    def receive(self, again=True):
        """Frames without header, each in one buffer; these are posted again."""
        frames = []
        used = self.used(0)
        while self.taken != used:
            at = self.base(0) + 0x4004 + 8 * (self.taken % hostile.RING)
            index, length = struct.unpack_from("<II", self.mem, at)
            start = RX + BUFFER * index
            frames.append(bytes(self.mem[start + HEADER:start + length]))
            self.taken = (self.taken + 1) & 0xFFFF
            if again:
                self.post()
        return frames

    def sent(self):
        """Waits until the bridge has taken all that was transmitted."""
        wait_for(lambda: self.used(1) == self.avail[1])

    def transmit_big(self, frame_header, buffers):
        """A frame as long as so many buffers of 4096."""
        first = self.avail[1] % 20 * 10
        for j in range(buffers):
            if j == 0:
                self.put(BIG, bytes(HEADER) + frame_header)
            last = j == buffers - 1
            self.desc(1, first + j, BIG + BUFFER * j, BUFFER, 0 if last else hostile.NEXT,
                      first + j + 1)
        self.offer(1, first)


def mac(n):
    return bytes((2, 0, 0, 0, n >> 8, n & 255))


def frame(to, source, payload=b"z" * 60):
    return to + source + b"\x88\xb5" + payload


def host_socket(device):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88B5))
    s.bind((device, 0x88B5))
    s.settimeout(0.3)
    return s


def host_address(device):
    with open(f"/sys/class/net/{device}/address", encoding="ascii") as f:
        return bytes.fromhex(f.read().strip().replace(":", ""))


def say_hello(*guests):
    for n, guest in enumerate(guests, 1):
        guest.transmit(frame(b"\xff" * 6, mac(n)))
    for guest in guests:
        guest.sent()
    time.sleep(0.1)
    for guest in guests:
        guest.receive()


def stuck_guests(folder):
    """b and c take nothing, while the host sends them all it can; what does a get of 20?"""
    a, b, c = Guest(folder, "a"), Guest(folder, "b", 0), Guest(folder, "c", 0)
    say_hello(a, b, c)
    host = host_socket("lan")
    for n in range(3000):
        host.send(frame(mac(2 + n % 2), mac(100), b"x" * 8900))
        if n % 50 == 0:
            time.sleep(0.005)
    time.sleep(0.1)
    a.receive()
    for _ in range(20):
        host.send(frame(mac(1), mac(100), b"y" * 3500))
        time.sleep(0.01)
    print(count(a, lambda f: b"yyy" in f, 20))


def sender_to_a_stuck_guest(folder):
    """a sends b, which is stuck, all it can; does the host get a's 20 small frames?"""
    a, b = Guest(folder, "a"), Guest(folder, "b", 0)
    say_hello(a, b)
    host = host_socket("lan")
    for n in range(600):
        a.transmit_big(frame(mac(2), mac(1), b""), 9)
        if n % 10 == 9:
            time.sleep(0.005)
    a.sent()
    got = 0
    for n in range(20):
        a.desc(1, 210 + n, hostile.BUFFERS, HEADER + 74)
        a.put(hostile.BUFFERS, bytes(HEADER) + frame(host_address("lan"), mac(1)))
        a.offer(1, 210 + n)
        time.sleep(0.01)
    a.sent()
    try:
        while True:
            got += host.recv(2000)[6:12] == mac(1)
    except socket.timeout:
        pass
    print(f"{got} {a.used(1)}")


def removed_pair(folder, pid):
    """a is removed by reload while its frames wait for b, which is stuck, and while c has
    learned where a is. What does a new guest at a's place get of a's, and b?"""
    a, b, c = Guest(folder, "a"), Guest(folder, "b", 0), Guest(folder, "c")
    say_hello(a, b, c)
    for _ in range(50):
        a.transmit(frame(mac(2), mac(1), b"of a"))
    a.sent()
    with open(f"{folder}/conf", encoding="ascii") as f:
        conf = f.read()
    with open(f"{folder}/conf", "w", encoding="ascii") as f:
        f.write(conf.replace("[pair a]", "[pair d]").replace("a.sock", "d.sock"))
    os.kill(int(pid), signal.SIGHUP)
    wait_for(lambda: os.path.exists(f"{folder}/d.sock"), 10)
    time.sleep(0.2)
    d = Guest(folder, "d")
    c.transmit(frame(mac(1), mac(3), b"to a"))
    # Flooded, as nobody knows where a is: not to the new guest alone.
    seen = count(d, lambda f: b"to a" in f, 1)
    for _ in range(100):
        b.post()
    late = []
    wait_for(lambda: late.extend(b.receive()) or any(b"to a" in f for f in late))
    print(f"d {seen} b: of a {sum(b'of a' in f for f in late)}, "
          f"to a {sum(b'to a' in f for f in late)}")


def address_of_the_host(folder):
    """b uses the host's address. Who gets a's frame to the host?"""
    a, b = Guest(folder, "a"), Guest(folder, "b")
    say_hello(a, b)
    host = host_socket("lan")
    ours = host_address("lan")
    b.transmit(frame(mac(9), ours))
    b.sent()
    a.receive(), b.receive()
    a.transmit(frame(ours, mac(1), b"secret"))
    a.sent()
    time.sleep(0.1)
    b_got = any(b"secret" in f for f in b.receive())
    host_got = 0
    try:
        while True:
            host_got += b"secret" in host.recv(2000)
    except socket.timeout:
        pass
    print(f"b {int(b_got)} host {host_got}")


def few_buffers(folder):
    """A guest that merges buffers and posts eight only: a superframe that will never fit,
    then five small frames. How many of these come?"""
    z = Guest(folder, "z", 8, 1526)
    host = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    host.setsockopt(263, 15, 1)  # SOL_PACKET, PACKET_VNET_HDR
    host.bind(("z", 3))
    payload = b"p" * 40000
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 40 + len(payload), 1, 0, 64, 6, 0,
                     b"\x0a\0\0\1", b"\x0a\0\0\2")
    tcp = struct.pack(">HHIIBBHHH", 1, 2, 3, 4, 0x50, 0x10, 100, 0, 0)
    host.send(struct.pack("<BBHHHH", 1, 1, 54, 1400, 34, 16) +
              mac(1) + mac(2) + b"\x08\0" + ip + tcp + payload)
    for _ in range(5):
        host.send(bytes(10) + frame(mac(1), mac(3)))
    print(count(z, lambda f: f[6:12] == mac(3), 5, again=False))


def tap_down(folder):
    """A guest of a pair whose interface is down sends 50 frames. How many are taken?"""
    z = Guest(folder, "z")
    subprocess.run(["ip", "link", "set", "dev", "z", "down"], check=True)
    for _ in range(50):
        z.transmit(hostile.tcp_frame())
    z.sent()
    print(z.used(1))


def traffic(folder, seconds):
    z = Guest(folder, "z")
    end = time.time() + float(seconds)
    while time.time() < end:
        z.transmit(hostile.tcp_frame())
        time.sleep(0.002)
    print("done")


SCENARIOS = (stuck_guests, sender_to_a_stuck_guest, removed_pair, address_of_the_host,
             few_buffers, tap_down, traffic)

if __name__ == "__main__":
    {f.__name__: f for f in SCENARIOS}[sys.argv[1]](*sys.argv[2:])
