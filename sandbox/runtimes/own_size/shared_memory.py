"""Memory that processes of different boxes share as a descriptor: of a device by the driver's virtual memory calls, or of the
host where references run on the CPU (for tests). Whoever makes it may write to it; whoever gets the descriptor reads."""
import ctypes as c
import mmap
import os

import torch

POSIX_DESCRIPTOR, PINNED, DEVICE = 1, 1, 1
READ, READ_WRITE = 1, 3


class Location(c.Structure):
    _fields_ = [("type", c.c_int), ("id", c.c_int)]


class Properties(c.Structure):  # CUmemAllocationProp
    _fields_ = [("type", c.c_int), ("handle_types", c.c_int), ("location", Location), ("win32", c.c_void_p), ("flags", c.c_ubyte * 8)]


class Access(c.Structure):
    _fields_ = [("location", Location), ("flags", c.c_int)]


class Bytes:
    """What PyTorch takes for a tensor of bytes at an address of a device."""

    def __init__(self, address, size):
        self.__cuda_array_interface__ = {"shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3, "strides": None}


def call(name, *arguments):
    error = getattr(c.CDLL("libcuda.so.1"), name)(*arguments)
    if error == 2:
        raise torch.OutOfMemoryError(f"{name}: no memory of the device is left")
    if error:
        raise OSError(f"{name}: error {error}")


class SharedMemory:
    """`tensor`: its bytes. Without `descriptor` it is made, and has one; else it is another process's, which is closed here."""

    def __init__(self, size, device, descriptor=None):
        self.size, self.device, self.tensor = size, torch.device(device), None
        self.is_mine = descriptor is None
        self.descriptor = descriptor
        if self.device.type == "cuda":
            self._map_of_device()
        else:
            self._map_of_host()

    def _map_of_host(self):
        if self.is_mine:
            self.descriptor = os.memfd_create("shared")
            os.ftruncate(self.descriptor, max(1, self.size))
        # PyTorch has no tensors that cannot be written to.
        access = mmap.ACCESS_WRITE if self.is_mine else mmap.ACCESS_COPY
        self.tensor = torch.frombuffer(mmap.mmap(self.descriptor, max(1, self.size), access=access), dtype=torch.uint8)[:self.size]

    def _map_of_device(self):
        torch.zeros(1, device=self.device)  # the context is this thread's
        ordinal = self.device.index or 0
        properties = Properties(PINNED, POSIX_DESCRIPTOR, Location(DEVICE, ordinal), None)
        granularity = c.c_size_t()
        call("cuMemGetAllocationGranularity", c.byref(granularity), c.byref(properties), 0)
        self.mapped = -(-max(1, self.size) // granularity.value) * granularity.value
        self.handle, self.address = c.c_uint64(), c.c_uint64()
        if self.is_mine:
            call("cuMemCreate", c.byref(self.handle), c.c_size_t(self.mapped), c.byref(properties), c.c_uint64(0))
            exported = c.c_int()
            call("cuMemExportToShareableHandle", c.byref(exported), self.handle, POSIX_DESCRIPTOR, c.c_uint64(0))
            self.descriptor = exported.value
        else:
            call("cuMemImportFromShareableHandle", c.byref(self.handle), c.c_void_p(self.descriptor), POSIX_DESCRIPTOR)
        call("cuMemAddressReserve", c.byref(self.address), c.c_size_t(self.mapped), c.c_size_t(0), c.c_uint64(0), c.c_uint64(0))
        call("cuMemMap", self.address, c.c_size_t(self.mapped), c.c_size_t(0), self.handle, c.c_uint64(0))
        access = Access(Location(DEVICE, ordinal), READ_WRITE if self.is_mine else READ)
        call("cuMemSetAccess", self.address, c.c_size_t(self.mapped), c.byref(access), c.c_size_t(1))
        self.tensor = torch.as_tensor(Bytes(self.address.value, self.size), device=self.device)

    def view(self, offset, shape, strides, dtype):
        """A tensor of the bytes from `offset` on; `dtype`: its name."""
        dtype = getattr(torch, dtype)
        last = sum((size - 1) * stride for size, stride in zip(shape, strides)) if all(shape) else -1
        values = self.tensor[offset:offset + (last + 1) * dtype.itemsize].view(dtype)
        return values.as_strided(shape, strides) if last >= 0 else values.reshape(shape)

    def close(self):
        """Nothing may use the tensor any more, nor a view of it."""
        self.tensor = None
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None
        if self.device.type == "cuda" and self.address.value:
            torch.cuda.synchronize(self.device)
            call("cuMemUnmap", self.address, c.c_size_t(self.mapped))
            call("cuMemRelease", self.handle)
            call("cuMemAddressFree", self.address, c.c_size_t(self.mapped))
            self.address = c.c_uint64()
