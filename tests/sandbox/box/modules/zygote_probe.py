"""What the tests run in a child of the warm interpreter. Frames as in sandbox/box/process/channel.h."""
import ctypes
import json
import os
import socket
import struct
import time

import torch

PLANTED = "planted" + "-in-the-parent"


def receive(channel):
    def exactly(count):
        data = b""
        while len(data) < count:
            piece = channel.recv(count - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data
    header = json.loads(exactly(struct.unpack("<I", exactly(4))[0]))
    return header, [exactly(size) for size in header["blobs"]]


def say(channel, header, blobs=()):
    text = json.dumps({**header, "blobs": [len(b) for b in blobs]}).encode()
    channel.sendall(struct.pack("<I", len(text)) + text + b"".join(blobs))


def look_around():
    seen = {"uid": os.getuid(), "pid": os.getpid(), "environment": dict(os.environ), "proc": os.path.exists("/proc/1"),
            "threads": torch.get_num_threads(), "cwd": os.getcwd()}
    seen["fds"] = [fd for fd in range(64) if os.path.exists("/dev/null") and fd_open(fd)]
    written = []
    for folder in ("/", "/usr", "/box", "/dev", "/modules/0", "/scratch", "/etc", "/keep", "/shown"):
        try:
            open(os.path.join(folder, "x"), "w").write("x")
            written.append(folder)
        except OSError:
            pass
    seen["written"] = written
    seen["files_in_scratch"] = sorted(os.listdir("/scratch"))
    libc = ctypes.CDLL(None, use_errno=True)
    seen["mount"] = libc.mount(b"tmpfs", b"/scratch", b"tmpfs", 0, None), ctypes.get_errno()
    # A segment that another child made under the same key would be found.
    seen["shared_memory"] = libc.shmget(0x62696372, 0, 0)
    libc.shmget(0x62696372, 4096, 0o1666)
    seen["root"] = sorted(os.listdir("/"))
    seen["signals"] = []
    for pid in range(2, 200):
        try:
            os.kill(pid, 0)
            seen["signals"].append(pid)
        except OSError:
            pass
    return seen


def fd_open(fd):
    try:
        os.fstat(fd)
        return True
    except OSError:
        return False


def run(fd):
    channel = socket.socket(fileno=fd)
    header, blobs = receive(channel)
    what = header["do"]
    if what == "echo":
        say(channel, header, blobs)
    elif what == "look":
        say(channel, look_around())
    elif what == "fork":
        while True:
            os.fork()
    elif what == "thread":
        import threading
        worker = threading.Thread(target=say, args=(channel, {"ok": True}))
        worker.start()
        worker.join()
    elif what == "exit":
        os._exit(3)
    elif what == "crash":
        ctypes.string_at(0)
    elif what == "sleep":
        time.sleep(60)
    elif what == "flood":
        while True:
            print("flood" * 1000)
    elif what == "memory":
        hoard = []
        while True:
            hoard.append(bytearray(os.urandom(1) * (16 << 20)))
    elif what == "garbage":
        channel.sendall(b"\xff\xff\xff\x7f{{{{")
        time.sleep(60)
    elif what == "lie":
        channel.sendall(struct.pack("<I", 14) + b'{"blobs":[-1]}')
        time.sleep(60)
    elif what == "huge":
        say(channel, {}, [b"x" * (300 << 20)])
    elif what == "deaf":
        channel.shutdown(socket.SHUT_RDWR)
        channel.close()
        time.sleep(60)
    elif what == "work":
        while time.process_time() < header["cpu_s"]:
            pass
        say(channel, {"ok": True})
    elif what == "spin":
        while True:
            pass
