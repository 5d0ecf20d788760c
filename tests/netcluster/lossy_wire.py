#!/usr/bin/env python3
"""A wire between two ports that loses and delays: for kernels without netem.

Usage: ip netns exec SERVER lossy_wire.py whole-packets PORT
       ip netns exec SWITCH lossy_wire.py forward PORT PORT LOSS SECONDS SEED

whole-packets lets what leaves a port have its checksum, and no more than one packet, as on a real wire; it comes
first, on the other ends of the two ports. forward takes both ports out of their bridge and forwards Ethernet frames
between them until it is killed: a share LOSS of the frames is lost, the others arrive SECONDS later. Several times
a second it prints a line of JSON: the frames that were forwarded and lost so far.
"""

import collections
import ctypes
import fcntl
import json
import random
import select
import socket
import struct
import subprocess
import sys
import time

ALL_PROTOCOLS, OUTGOING = 0x0003, 4
SIOCETHTOOL, SET_TX_CHECKSUM = 0x8946, 0x17
LARGEST = 1 << 17


def send_whole_packets(port):
    """Nobody behind the wire would fill in what is left to the hardware."""
    value = ctypes.create_string_buffer(struct.pack("II", SET_TX_CHECKSUM, 0))
    request = struct.pack("16sP", port.encode(), ctypes.addressof(value))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCETHTOOL, request.ljust(40, b"\0"))


def opened(port):
    subprocess.run(["ip", "link", "set", port, "nomaster", "up"], check=True)
    subprocess.run(["ip", "link", "set", port, "promisc", "on"], check=True)
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS))
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    raw.bind((port, 0))
    raw.setblocking(False)
    return raw


def forward(ports, loss, seconds, draw):
    waiting = collections.deque()  # (when it arrives, to which port, frame)
    told, due = {"forwarded": 0, "lost": 0}, 0.0
    while True:
        if time.monotonic() > due:
            print(json.dumps(told), flush=True)
            due = time.monotonic() + 0.2
        left = max(0.0, waiting[0][0] - time.monotonic()) if waiting else 0.05
        for port in select.select(ports, [], [], left)[0]:
            try:
                frame, address = port.recvfrom(LARGEST)
            except OSError:  # the port is down
                continue
            if address[2] == OUTGOING:
                continue
            if draw.random() < loss:
                told["lost"] += 1
                continue
            other = ports[1 - ports.index(port)]
            waiting.append((time.monotonic() + seconds, other, frame))
        while waiting and waiting[0][0] <= time.monotonic():
            _, port, frame = waiting.popleft()
            try:
                port.send(frame)
                told["forwarded"] += 1
            except OSError:  # the port is down: a frame is lost
                told["lost"] += 1


def main():
    what, *words = sys.argv[1:]
    if what == "whole-packets":
        send_whole_packets(words[0])
    else:
        forward([opened(name) for name in words[:2]], float(words[2]), float(words[3]),
                random.Random(int(words[4])))


if __name__ == "__main__":
    main()
