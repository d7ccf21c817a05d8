#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs one command in a test VM, over the unix socket of its serial port.

    vmctl.py SOCKET ready SECONDS          waits until the VM takes commands
    vmctl.py SOCKET run SECONDS SCRIPT     prints its output, exits with its status

Exit status of 124: no answer in time; 125: the VM is gone. The other side is
test/vm/init, which also says what the bytes look like.
"""

import base64
import socket
import sys
import time


class Gone(Exception):
    pass


class Late(Exception):
    pass


class Line:
    """The serial line, read with a deadline."""

    def __init__(self, path, deadline):
        self.deadline = deadline
        self.pending = b""
        self.sock = socket.socket(socket.AF_UNIX)
        try:
            self.sock.connect(path)
        except OSError as error:
            raise Gone(f"{path}: {error.strerror}")

    def more(self):
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise Late
        self.sock.settimeout(left)
        try:
            data = self.sock.recv(65536)
        except socket.timeout:
            raise Late
        except OSError as error:
            raise Gone(str(error))
        if not data:
            raise Gone("the VM's serial port was closed")
        self.pending += data

    def until(self, mark):
        """Skips to mark and returns the rest of that line."""
        while True:
            start = self.pending.find(mark)
            if start >= 0:
                end = self.pending.find(b"\n", start)
                if end >= 0:
                    text = self.pending[start + len(mark):end]
                    self.pending = self.pending[end + 1:]
                    return text
            self.more()

    def take(self, count):
        while len(self.pending) < count:
            self.more()
        data, self.pending = self.pending[:count], self.pending[count:]
        return data


def run(line, seconds, script):
    # A number of its own: an earlier command's late answer is not ours.
    number = b"%d" % time.time_ns()
    request = b"%s %d %s\n" % (number, seconds, base64.b64encode(script.encode()))
    line.sock.settimeout(30)
    line.sock.sendall(request)
    length = int(line.until(b"\x02 " + number + b" "))
    output = base64.b64decode(line.take(length))
    status = int(line.until(b"\x03 " + number + b" "))
    sys.stdout.buffer.write(output)
    sys.stdout.buffer.flush()
    return status


def main(argv):
    if len(argv) < 4 or argv[2] not in ("ready", "run"):
        print(__doc__, file=sys.stderr)
        return 2
    path, verb, seconds = argv[1], argv[2], int(argv[3])
    # A little more than the VM gives the command itself: its own verdict is better.
    deadline = time.monotonic() + seconds + (10 if verb == "run" else 0)
    try:
        if verb == "run":
            return run(Line(path, deadline), seconds, argv[4])
        # The VM may have said so before anybody listened: ask it, too.
        while True:
            try:
                line = Line(path, min(deadline, time.monotonic() + 1))
                if run(line, 5, "exit 0") == 0:
                    return 0
            except (Gone, Late):
                if time.monotonic() >= deadline:
                    raise Late
                time.sleep(0.05)
    except Late:
        print(f"vmctl: no answer within {seconds} s", file=sys.stderr)
        return 124
    except Gone as gone:
        print(f"vmctl: {gone}", file=sys.stderr)
        return 125


if __name__ == "__main__":
    sys.exit(main(sys.argv))
