#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A guest that breaks the rules of vhost-user and virtio, for tests.

    hostile.py SOCKET SCENARIO|all [SEED]

Each scenario connects, misbehaves, and goes. Exit status 0 if it got to its end (the
other side may have hung up on it, which is an answer like any other). What is tested
is that the bridge, and its other guests, live on.
"""

import array
import ctypes
import mmap
import os
import random
import resource
import socket
import struct
import sys
import time

GET_FEATURES, SET_FEATURES, SET_OWNER, RESET_OWNER, SET_MEM_TABLE = 1, 2, 3, 4, 5
SET_VRING_NUM, SET_VRING_ADDR, SET_VRING_BASE, GET_VRING_BASE = 8, 9, 10, 11
SET_VRING_KICK, SET_VRING_CALL, SET_VRING_ENABLE = 12, 13, 18
SET_PROTOCOL_FEATURES, PROTOCOL_MQ, PROTOCOL_REPLY_ACK, NEED_REPLY = 16, 1 << 0, 1 << 3, 1 << 3

F_CSUM, F_GUEST_CSUM = 1 << 0, 1 << 1
F_TSO = 1 << 7 | 1 << 8 | 1 << 11 | 1 << 12
F_MRG_RXBUF, F_INDIRECT, F_PROTOCOL, F_VERSION_1 = 1 << 15, 1 << 28, 1 << 30, 1 << 32
FEATURES = F_CSUM | F_GUEST_CSUM | F_TSO | F_MRG_RXBUF | F_INDIRECT | F_VERSION_1

NEXT, WRITE, INDIRECT = 1, 2, 4
SIZE = 4 << 20          # of the guest's memory
UVA = 0x7F0000000000    # where the front end says it has it
RING = 256              # entries
BUFFERS = 0x20000       # offset


class Guest:
    """A front end that can do everything right, and leaves it to others not to."""

    def __init__(self, path, memory_flags=os.MFD_CLOEXEC):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(path)
        self.sock.settimeout(2)
        self.fd = os.memfd_create("guest", memory_flags)
        os.ftruncate(self.fd, SIZE)
        self.mem = mmap.mmap(self.fd, SIZE)
        self.kicks = [os.eventfd(0), os.eventfd(0)]
        self.calls = [os.eventfd(0), os.eventfd(0)]
        self.avail = [0, 0]

    def send(self, request, payload=b"", fds=()):
        message = struct.pack("<III", request, 1, len(payload)) + payload
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.sock.sendmsg([message], ancillary)

    def ask(self, request, payload=b""):
        self.send(request, payload)
        data = self.sock.recv(12)
        if len(data) < 12:
            raise ConnectionError("hung up on")
        size = struct.unpack("<III", data)[2]
        return self.sock.recv(size)

    def negotiate(self, features=FEATURES):
        offered = struct.unpack("<Q", self.ask(GET_FEATURES))[0]
        self.send(SET_OWNER)
        self.send(SET_FEATURES, struct.pack("<Q", features & offered))

    def memory(self, regions=None, fds=None):
        regions = regions or [(0, SIZE, UVA, 0)]
        fds = [self.fd] if fds is None else fds
        payload = struct.pack("<II", len(regions), 0)
        payload += b"".join(struct.pack("<QQQQ", *region) for region in regions)
        self.send(SET_MEM_TABLE, payload, fds)

    def base(self, ring):
        return ring * 0x8000

    def ring(self, ring, num=RING, address=None, start=0):
        base = self.base(ring) if address is None else address
        self.send(SET_VRING_NUM, struct.pack("<II", ring, num))
        self.send(SET_VRING_BASE, struct.pack("<II", ring, start))
        self.send(SET_VRING_ADDR, struct.pack("<IIQQQQ", ring, 0, UVA + base, UVA + base + 0x4000,
                                              UVA + base + 0x2000, 0))
        self.send(SET_VRING_CALL, struct.pack("<Q", ring), [self.calls[ring]])
        self.send(SET_VRING_KICK, struct.pack("<Q", ring), [self.kicks[ring]])

    def start(self, features=FEATURES, pause=0.05):
        self.negotiate(features)
        self.memory()
        self.ring(0)
        self.ring(1)
        time.sleep(pause)

    def desc(self, ring, index, address, length, flags=0, after=0):
        struct.pack_into("<QIHH", self.mem, self.base(ring) + 16 * index, address, length, flags,
                         after)

    def offer(self, ring, head, idx=None):
        """Makes a chain available; idx overrides the ring's index."""
        at = self.base(ring) + 0x2000
        struct.pack_into("<H", self.mem, at + 4 + 2 * (self.avail[ring] % RING), head)
        self.avail[ring] = (self.avail[ring] + 1) & 0xFFFF
        # In one store: struct.pack_into() writes zeros first, and who polls sees them.
        index = ctypes.c_uint16.from_buffer(self.mem, at + 2)
        index.value = self.avail[ring] if idx is None else idx
        os.eventfd_write(self.kicks[ring], 1)

    def put(self, offset, data):
        self.mem[offset:offset + len(data)] = data

    def transmit(self, frame, header=bytes(12)):
        index = self.avail[1] % RING
        self.put(BUFFERS + 4096 * index, header + frame)
        self.desc(1, index, BUFFERS + 4096 * index, len(header) + len(frame))
        self.offer(1, index)

    def taken(self, ring=1):
        """Chains that the other side is done with."""
        return struct.unpack_from("<H", self.mem, self.base(ring) + 0x4002)[0]

    def settle(self):
        time.sleep(0.1)

    def close(self):
        """For those of whom there are many."""
        self.sock.close()
        self.mem.close()
        for fd in [self.fd] + self.kicks + self.calls:
            os.close(fd)


def tcp_frame(payload=b"x" * 1000, source=b"\x52\x54\x00\x00\x66\x66"):
    ip = struct.pack(">BBHHHBBHII", 0x45, 0, 40 + len(payload), 1, 0, 64, 6, 0, 0xC6336401,
                     0xC6336402)
    tcp = struct.pack(">HHIIBBHHH", 1, 2, 3, 4, 0x50, 0x10, 100, 0, 0)
    return b"\xff" * 6 + source + b"\x08\x00" + ip + tcp + payload


def assert_answered(path):
    """Whatever another does, a new guest's first request gets its answer."""
    try:
        Guest(path).ask(GET_FEATURES)
    except OSError as error:
        raise AssertionError(f"another guest was not answered: {error!r}") from error


def silent(path, rng):
    guest = Guest(path)
    guest.settle()


def half_a_message(path, rng):
    guest = Guest(path)
    guest.sock.send(struct.pack("<II", GET_FEATURES, 1))
    guest.settle()


def header_without_payload(path, rng):
    guest = Guest(path)
    guest.sock.send(struct.pack("<III", SET_FEATURES, 1, 8))
    assert_answered(path)


def replies_never_read(path, rng):
    guest = Guest(path)
    guest.sock.settimeout(0.5)
    try:
        for _ in range(20000):
            guest.send(GET_FEATURES)
    except OSError:
        pass
    assert_answered(path)


def acknowledgements_never_read(path, rng):
    """Asked for with requests that the other side handles with its rings locked."""
    guest = Guest(path)
    guest.negotiate(FEATURES | F_PROTOCOL)
    guest.send(SET_PROTOCOL_FEATURES, struct.pack("<Q", PROTOCOL_REPLY_ACK | PROTOCOL_MQ))
    guest.memory()
    guest.ring(0)
    guest.ring(1)
    guest.sock.settimeout(0.5)
    enable = struct.pack("<III", SET_VRING_ENABLE, 1 | NEED_REPLY, 8) + struct.pack("<II", 1, 1)
    try:
        for _ in range(5000):
            guest.sock.send(enable)
    except OSError:
        pass
    assert_answered(path)


def garbage(path, rng):
    for _ in range(20):
        guest = Guest(path)
        guest.sock.send(rng.randbytes(rng.randrange(1, 4000)))


def unknown_requests(path, rng):
    for request in (0, 42, 99, 2**31):
        guest = Guest(path)
        guest.send(request, rng.randbytes(64))
        guest.settle()


def absurd_sizes(path, rng):
    for size in (0xFFFFFFFF, 0x7FFFFFFF, 4096):
        guest = Guest(path)
        guest.sock.send(struct.pack("<III", SET_FEATURES, 1, size) + b"y" * 100)
        guest.settle()


def fds_nobody_asked_for(path, rng):
    guest = Guest(path)
    for _ in range(20):
        guest.send(SET_OWNER, b"", [guest.fd] * 8)


def offer_memory(path, cases):
    for regions, fds in cases:
        guest = Guest(path)
        try:
            guest.negotiate()
            guest.memory(regions, [guest.fd] * fds)
            guest.ring(0)
            guest.ring(1)
            guest.transmit(tcp_frame())
        except OSError:
            pass  # hung up on; the other cases are tried all the same
        guest.settle()


def bad_memory(path, rng):
    offer_memory(path, (([(0, SIZE, UVA, 0)] * 9, 8), ([(0, SIZE, UVA, 0)] * 3, 1),
                        ([(0, SIZE * 1000, UVA, 0)], 1)))


def memory_that_cannot_be_mapped(path, rng):
    full = 0xFFFFFFFFFFFFF000
    offer_memory(path, (([(0, full, UVA, 0)], 1), ([(0, SIZE, UVA, full)], 1),
                        ([(0, 0, UVA, 0)], 1), ([(full, SIZE, full, 0)], 1)))


def bad_rings(path, rng):
    for num, address in ((0, None), (3, None), (32768, None), (65535, None), (1 << 30, None),
                         (RING, SIZE - 16), (RING, SIZE), (RING, -UVA), (RING, 7)):
        guest = Guest(path)
        guest.negotiate()
        guest.memory()
        guest.ring(0)
        guest.ring(1, num, address)
        guest.settle()


def ring_of_high_number(path, rng):
    guest = Guest(path)
    guest.negotiate()
    guest.memory()
    for number in (2, 17, 255, 256, 100000):
        guest.send(SET_VRING_NUM, struct.pack("<II", number, RING))
        guest.send(SET_VRING_ENABLE, struct.pack("<II", number, 1))
        guest.send(SET_VRING_KICK, struct.pack("<Q", number), [guest.kicks[0]])


def bad_descriptors(path, rng):
    cases = (
        (SIZE, 100, 0, 0), (0xFFFFFFFFFFFFFFF0, 100, 0, 0), (BUFFERS, 0xFFFFFFFF, 0, 0),
        (BUFFERS, 0, 0, 0), (BUFFERS, 5, 0, 0), (BUFFERS, 12, 0, 0), (BUFFERS, 13, 0, 0),
        (BUFFERS, 100, NEXT, 0), (BUFFERS, 100, NEXT, 300), (BUFFERS, 100, NEXT, 65535),
        (BUFFERS, 100, INDIRECT, 0), (BUFFERS, 16, INDIRECT, 0), (BUFFERS, 33, INDIRECT, 0),
        (SIZE - 8, 64, INDIRECT, 0), (BUFFERS, 0xFFFFFFF0, INDIRECT, 0),
        (BUFFERS, SIZE - BUFFERS, 0, 0), (BUFFERS, 200, WRITE, 0),
    )
    for case in cases:
        guest = Guest(path)
        guest.start()
        # An indirect table that refers to itself, for those that point there.
        for i in range(16):
            struct.pack_into("<QIHH", guest.mem, BUFFERS + 16 * i, BUFFERS, 256,
                             NEXT | INDIRECT, i)
        guest.desc(1, 0, *case)
        guest.offer(1, 0)
        guest.desc(0, 0, *case)
        guest.offer(0, 0)
        guest.settle()


def heads_outside_the_ring(path, rng):
    guest = Guest(path)
    guest.start()
    for head in (RING, 32768, 65535):
        guest.offer(1, head)
        guest.offer(0, head)
    guest.settle()


def index_that_lies(path, rng):
    for jump in (300, 32767, 60000, 65535):
        guest = Guest(path)
        guest.start()
        for i in range(RING):
            guest.desc(1, i, BUFFERS, 200)
            guest.desc(0, i, BUFFERS, 2048, WRITE)
        guest.put(BUFFERS, bytes(12) + tcp_frame()[:188])
        guest.offer(1, 0, jump)
        guest.offer(0, 0, jump)
        guest.settle()


def long_chains(path, rng):
    guest = Guest(path)
    guest.start()
    for i in range(RING):
        guest.desc(1, i, BUFFERS, 1 << 20, NEXT if i < RING - 1 else 0, i + 1)
    for _ in range(10):
        guest.offer(1, 0)
    guest.settle()


def random_headers(path, rng):
    guest = Guest(path)
    guest.start()
    for n in range(4000):
        frame = bytearray(tcp_frame(rng.randbytes(rng.randrange(0, 1400))))
        for _ in range(rng.randrange(0, 4)):
            frame[rng.randrange(12, min(60, len(frame)))] = rng.randrange(256)
        frame = bytes(frame[:rng.choice((len(frame), rng.randrange(0, len(frame))))])
        header = struct.pack("<BBHHHHH", rng.choice((0, 1, 2, 3, 255)),
                             rng.choice((0, 1, 3, 4, 5, 0x81, 0x84, 77, 255)),
                             rng.choice((0, 54, 65535)), rng.choice((0, 1, 3, 8, 500, 1400, 65535)),
                             rng.choice((0, 14, 34, 54, 65535)), rng.choice((0, 6, 16, 65535)), 0)
        guest.transmit(frame, header)
        if n % 200 == 199:
            time.sleep(0.01)
    guest.settle()


def buffers_that_hold_nothing(path, rng):
    for length, flags in ((0, WRITE), (1, WRITE), (11, WRITE), (12, WRITE), (13, WRITE),
                          (2048, 0)):
        for features in (FEATURES, FEATURES & ~F_MRG_RXBUF, F_VERSION_1):
            guest = Guest(path)
            guest.start(features)
            for i in range(RING):
                guest.desc(0, i, BUFFERS, length, flags)
                guest.offer(0, i)
            # Make somebody answer: broadcasts reach the host's stack.
            guest.transmit(tcp_frame())
            guest.settle()


def interrupts_never_read(path, rng):
    guest = Guest(path)
    for call in guest.calls:
        os.eventfd_write(call, 0xFFFFFFFFFFFFFFFE)
    guest.start()
    for n in range(1, 4):
        guest.transmit(tcp_frame())
        deadline = time.time() + 2
        while guest.taken() < n:
            assert time.time() < deadline, f"frame {n} was not taken"
            time.sleep(0.01)


def memory_taken_away(path, rng, memory_flags=os.MFD_CLOEXEC):
    guest = Guest(path, memory_flags)
    guest.start()
    guest.transmit(tcp_frame())
    guest.settle()
    os.ftruncate(guest.fd, 0)
    # The index in the ring cannot be written any more, by neither side.
    os.eventfd_write(guest.kicks[1], 1)
    time.sleep(0.5)


def huge_pages_taken_away(path, rng):
    memory_taken_away(path, rng, os.MFD_CLOEXEC | os.MFD_HUGETLB | os.MFD_HUGE_2MB)


def memory_changed_while_running(path, rng):
    guest = Guest(path)
    guest.start()
    for _ in range(20):
        guest.transmit(tcp_frame())
        guest.memory()
    guest.settle()


def going_in_the_middle(path, rng):
    for _ in range(10):
        guest = Guest(path)
        guest.start()
        for _ in range(200):
            guest.transmit(tcp_frame())
        guest.sock.close()


def reset_while_running(path, rng):
    guest = Guest(path)
    guest.start()
    for _ in range(10):
        guest.transmit(tcp_frame())
        guest.ask(GET_VRING_BASE, struct.pack("<II", 1, 0))
        guest.ring(1)
    guest.send(RESET_OWNER)
    guest.settle()


def many_connections(path, rng):
    guests = [Guest(path) for _ in range(20)]
    guests[0].start()
    guests[7].start()
    guests[0].transmit(tcp_frame())
    guests[7].transmit(tcp_frame())
    guests[0].settle()


def connections_without_end(path, rng):
    """More than the vhost library has room for. Asked for on another socket, as on this
    one it has only itself to blame.
    """
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    held = []
    for _ in range(1300):
        held.append(socket.socket(socket.AF_UNIX))
        held[-1].connect(path)
    folder = os.path.dirname(path)
    for other in ("bad.sock", "lan1.sock"):
        if other != os.path.basename(path):
            assert_answered(os.path.join(folder, other))


def second_guest(path, rng):
    """Takes the first one's place; when it goes, the first must be told to come back."""
    first = Guest(path)
    first.start()
    first.transmit(tcp_frame())
    second = Guest(path)
    second.start()
    second.transmit(tcp_frame())
    second.settle()
    second.sock.close()
    assert first.sock.recv(1) == b"", "the first guest was not hung up on"


def answered(path, rng):
    """Not hostile at all: asks one thing."""
    assert_answered(path)


def flood_of_errors(path, rng):
    """All that has a line in the vhost library's log; the test measures that."""
    end = time.time() + 2
    while time.time() < end:
        guest = Guest(path)
        guest.sock.send(struct.pack("<III", SET_VRING_KICK, 1, 4096) + b"x" * 300)
        guest.close()
    guest = Guest(path)
    guest.negotiate()
    try:
        for _ in range(5000):
            guest.send(SET_VRING_NUM, struct.pack("<II", 9999, 256))
    except OSError:
        pass
    for _ in range(200):
        guest = Guest(path)
        guest.start(pause=0.001)
        guest.close()


def server_without_payload(path, rng):
    """For bridges that are a client: listens, and sends the one that connects a header."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(4)
    listener.settimeout(5)
    connection, _ = listener.accept()
    connection.send(struct.pack("<III", SET_FEATURES, 1, 8))
    print("connected", flush=True)
    connection.settimeout(5)
    assert connection.recv(1) == b"", "was not hung up on"
    os.unlink(path)


def polite(path, rng):
    """What a good guest does; the test counts the ten frames."""
    guest = Guest(path)
    guest.start()
    guest.settle()
    for _ in range(10):
        guest.transmit(tcp_frame())
    time.sleep(0.2)
    guest.sock.close()


SCENARIOS = [f for f in (
    silent, half_a_message, header_without_payload, replies_never_read,
    acknowledgements_never_read, garbage, unknown_requests, absurd_sizes, fds_nobody_asked_for,
    bad_memory, memory_that_cannot_be_mapped, bad_rings, ring_of_high_number,
    bad_descriptors, heads_outside_the_ring,
    index_that_lies, long_chains, random_headers, buffers_that_hold_nothing,
    interrupts_never_read, memory_taken_away, huge_pages_taken_away,
    memory_changed_while_running, going_in_the_middle, reset_while_running, many_connections,
    connections_without_end,
    second_guest)]


def main(argv):
    if len(argv) not in (3, 4):
        print(__doc__, file=sys.stderr)
        print("scenarios:", " ".join(f.__name__ for f in SCENARIOS), file=sys.stderr)
        return 2
    if argv[2] == "list":
        print(" ".join(f.__name__ for f in SCENARIOS))
        return 0
    chosen = SCENARIOS if argv[2] == "all" else [
        f for f in SCENARIOS + [polite, answered, server_without_payload, flood_of_errors] if f.__name__ == argv[2]]
    if not chosen:
        print(f"hostile: no scenario '{argv[2]}'", file=sys.stderr)
        return 2
    for scenario in chosen:
        try:
            scenario(argv[1], random.Random(int(argv[3]) if len(argv) == 4 else 1))
        except (ConnectionError, socket.timeout, BrokenPipeError):
            pass  # hung up on, as may be
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
