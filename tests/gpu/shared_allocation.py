"""Whether device memory can be shared between boxes that have PID namespaces of their own: by hand, on a machine with
a GPU and bubblewrap. A loader's box allocates by the driver's virtual memory calls and sends descriptors over a socket;
an oracle's box maps them for reading. Legacy IPC handles are tried beside it, as the control.

    python3 tests/gpu/shared_allocation.py
"""
import array
import ctypes as c
import os
import signal
import socket
import subprocess
import sys
import time

cuda = c.CDLL("libcuda.so.1") if len(sys.argv) > 1 else None
MIB = 1 << 20
SIZE = 256 * MIB
READ, READ_WRITE = 1, 3


class Location(c.Structure):
    _fields_ = [("type", c.c_int), ("id", c.c_int)]


class Properties(c.Structure):  # CUmemAllocationProp
    _fields_ = [("type", c.c_int), ("handle_types", c.c_int), ("location", Location), ("win32", c.c_void_p), ("flags", c.c_ubyte * 8)]


class Access(c.Structure):
    _fields_ = [("location", Location), ("flags", c.c_int)]


def call(name, *arguments, expected=0):
    error = getattr(cuda, name)(*arguments)
    if expected is not None and error != expected: raise SystemExit(f"{name}: error {error}")
    return error


def start():
    device, context = c.c_int(), c.c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", c.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", c.byref(context), device)
    call("cuCtxSetCurrent", context)


def mapped(handle, flags):
    address = c.c_uint64()
    call("cuMemAddressReserve", c.byref(address), c.c_size_t(SIZE), c.c_size_t(0), c.c_uint64(0), c.c_uint64(0))
    call("cuMemMap", address, c.c_size_t(SIZE), c.c_size_t(0), handle, c.c_uint64(0))
    call("cuMemSetAccess", address, c.c_size_t(SIZE), c.byref(Access(Location(1, 0), flags)), c.c_size_t(1))
    return address


def word(address, index):
    value = c.c_uint32()
    call("cuMemcpyDtoH_v2", c.byref(value), c.c_uint64(address.value + 4 * index), c.c_size_t(4))
    return value.value


def free_bytes():
    free, total = c.c_size_t(), c.c_size_t()
    call("cuMemGetInfo_v2", c.byref(free), c.byref(total))
    return free.value


def loader(peer):
    start()
    handle, descriptor = c.c_uint64(), c.c_int()
    call("cuMemCreate", c.byref(handle), c.c_size_t(SIZE), c.byref(Properties(1, 1, Location(1, 0), None)), c.c_uint64(0))
    address = mapped(handle, READ_WRITE)
    call("cuMemExportToShareableHandle", c.byref(descriptor), handle, 1, c.c_uint64(0))
    call("cuMemsetD32_v2", address, c.c_uint32(0xA), c.c_size_t(SIZE // 4))
    call("cuCtxSynchronize")
    legacy, handle_of_legacy = c.c_uint64(), (c.c_char * 64)()
    call("cuMemAlloc_v2", c.byref(legacy), c.c_size_t(MIB))
    error = call("cuIpcGetMemHandle", handle_of_legacy, legacy, expected=None)
    peer.sendmsg([bytes(handle_of_legacy) + bytes([error != 0])], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor.value]))])
    peer.recv(1)
    call("cuMemsetD32_v2", address, c.c_uint32(0xB), c.c_size_t(SIZE // 4))
    call("cuCtxSynchronize")
    peer.send(b"w")
    signal.pause()  # until it is killed


def oracle(peer):
    start()
    peer.settimeout(60)
    data, ancillary, _, _ = peer.recvmsg(65, socket.CMSG_LEN(4))
    descriptor = array.array("i", ancillary[0][2])[0]
    begin, free = time.perf_counter(), free_bytes()
    handle = c.c_uint64()
    call("cuMemImportFromShareableHandle", c.byref(handle), c.c_void_p(descriptor), 1)
    address = mapped(handle, READ)
    print(f"imported and mapped {SIZE // MIB} MiB in {1000 * (time.perf_counter() - begin):.2f} ms, {(free - free_bytes()) // MIB} MiB more in use")
    last = SIZE // 4 - 1
    print("what the loader wrote is read:", word(address, 0) == 0xA and word(address, last) == 0xA)
    peer.send(b"g")
    peer.recv(1)
    print("what it writes later is read:", word(address, 0) == 0xB and word(address, last) == 0xB)
    opened = c.c_uint64()
    error = data[64] or call("cuIpcOpenMemHandle_v2", c.byref(opened), (c.c_char * 64).from_buffer_copy(data[:64]), 1, expected=None)
    print("legacy IPC between the boxes:", "works" if not error else f"error {error}")
    print("killed", flush=True)
    sys.stdin.readline()
    print("read after the loader's death:", word(address, 0) == 0xB and word(address, last) == 0xB)
    copy = c.c_uint64()
    call("cuMemAlloc_v2", c.byref(copy), c.c_size_t(SIZE))
    begin = time.perf_counter()
    for _ in range(20): call("cuMemcpyDtoD_v2", copy, address, c.c_size_t(SIZE))
    call("cuCtxSynchronize")
    print(f"read at {20 * 2 * SIZE / (time.perf_counter() - begin) / 1e9:.0f} GB/s, read and written bytes together")
    free = free_bytes()
    call("cuMemUnmap", address, c.c_size_t(SIZE))
    call("cuMemRelease", handle)
    os.close(descriptor)
    call("cuMemAddressFree", address, c.c_size_t(SIZE))
    call("cuCtxSynchronize")
    now = free_bytes()
    time.sleep(0.5)
    print(f"unmapped: {(now - free) // MIB} MiB free again, {(free_bytes() - free) // MIB} after half a second")
    # What is never returned would end a second round of a device's size.
    rounds = 0
    while rounds < 1000 and call("cuMemCreate", c.byref(handle), c.c_size_t(SIZE), c.byref(Properties(1, 1, Location(1, 0), None)), c.c_uint64(0), expected=None) == 0:
        call("cuMemRelease", handle)
        rounds += 1
    print(f"{rounds} of 1000 allocations of {SIZE // MIB} MiB, each released")


def forbidden_write(peer):
    """A mapping for reading alone cannot be written: in a process of its own, whose context this ends."""
    start()
    handle = c.c_uint64()
    call("cuMemCreate", c.byref(handle), c.c_size_t(SIZE), c.byref(Properties(1, 1, Location(1, 0), None)), c.c_uint64(0))
    address = mapped(handle, READ)
    error = call("cuMemsetD32_v2", address, c.c_uint32(1), c.c_size_t(4), expected=None) or call("cuCtxSynchronize", expected=None)
    print("a write to what is mapped for reading:", f"error {error}" if error else "WRITES")


def boxed(role, end, **how):
    box = ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    return subprocess.Popen([*box, sys.executable, os.path.abspath(__file__), role, str(end.fileno())], pass_fds=[end.fileno()], text=True, **how)


def main():
    if len(sys.argv) > 1:
        return {"loader": loader, "oracle": oracle, "forbidden_write": forbidden_write}[sys.argv[1]](socket.socket(fileno=int(sys.argv[2])))
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    first = boxed("loader", ours)
    second = boxed("oracle", theirs, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for line in second.stdout:
        if line == "killed\n":
            first.kill()
            first.wait()
            second.stdin.write("\n")
            second.stdin.flush()
        else:
            print(line, end="", flush=True)
    second.wait()
    boxed("forbidden_write", ours).wait()


main()
