"""Tensors without data: what a program's Python part sees of device memory.

A DeviceTensor looks like a CUDA tensor (is_cuda, device, shape, strides) and has no storage. Its geometry is kept by
a meta tensor; views share the meta tensor's storage, and each meta storage has one Record, which knows the library's
storage, whether a framework operator produced it (taint), and the real bytes where they are no secret (parameters).
"""
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_unflatten

from recorder_library import (ALLOCATION, CONSTANT, HOST, INPUT, Fault, Handle, checked, lib, new_storage,
                              raise_library_fault)

aten = torch.ops.aten
DEVICE = torch.device("cuda", 0)
DEVICE_BYTES = lib.bicrl_device_value(b"total_memory")


class Record:
    """One storage. `number` is the library's, made when it is first needed."""

    def __init__(self, meta_storage, kind, size, source=-1):
        if kind == ALLOCATION and size > DEVICE_BYTES:
            raise Fault("memory", "the program allocates more memory than a GPU has")
        self.meta_storage = meta_storage  # kept alive: its address is our key
        self.kind = kind
        self.size = size
        self.source = source
        self.number = None
        self.taint = None
        self.value = None  # CPU storage with the real bytes
        self.elements = 0  # of it
        self.keep = []

    def storage(self):
        if self.taint:
            raise Fault("framework_fallback", f"a framework operator produced data for the answer: {self.taint}")
        if self.number is None:
            self.number = new_storage(self.kind, self.size, self.source)
            state.by_number[self.number] = self
            if self.size and self.small():
                lib.bicrl_storage_values(self.number, self.value.data_ptr())
        return self.number

    def small(self):
        return self.value is not None and self.elements <= state.small_parameter_elements

    def readable(self):
        """Whether the host part may read it, and what it would read is what the device has."""
        return (self.taint is None and self.small()
                and (self.number is None or not self.size or bool(lib.bicrl_storage_readable(self.number))))


class State:
    """Of the one run in this process."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.call = 0  # of forward, from 1
        self.constructing = True  # until the forward pass: operators on known values run for real
        self.small_parameter_elements = 1000
        self.by_meta = {}
        self.by_value = {}
        self.by_number = {}


state = State()


class DeviceTensor(torch.Tensor):
    @staticmethod
    def __new__(cls, meta):
        return torch.Tensor._make_wrapper_subclass(
            cls, meta.size(), strides=meta.stride(), storage_offset=meta.storage_offset(), dtype=meta.dtype,
            layout=meta.layout, device=DEVICE, requires_grad=False)

    def __init__(self, meta):
        self.meta = meta

    def data_ptr(self):
        """An address that kernels may be given as a number; nothing can be read there."""
        if self.numel() == 0:
            return 0
        return lib.bicrl_storage_address(record_of(self).storage()) + self.storage_offset() * self.element_size()

    def tolist(self):
        return known_value(self).tolist()

    def record_stream(self, stream):
        lib.bicrl_storage_shared(record_of(self).storage())

    def untyped_storage(self):
        raise Fault("unsupported", "the storage of a device tensor as an object")

    def __reduce_ex__(self, protocol):
        raise Fault("host_read", "the host part reads device data (a copy of a tensor as an object)")

    def __deepcopy__(self, memo):
        return self.clone()

    def __repr__(self, *, tensor_contents=None):
        return f"tensor(..., size={tuple(self.shape)}, dtype={self.dtype}, device='cuda:0')"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return dispatch(func, args, kwargs or {})


class DeviceMode(TorchDispatchMode):
    """Catches operators that make device tensors from nothing."""

    @classmethod
    def _should_skip_dynamo(cls):
        # True makes torch wrap the method below, and the wrapper's first call imports its compiler: two seconds.
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return dispatch(func, args, kwargs or {})


def record_of(tensor):
    return state.by_meta[tensor.meta.untyped_storage()._cdata]


def add_record(meta, kind, source=-1):
    storage = meta.untyped_storage()
    record = Record(storage, kind, storage.nbytes(), source)
    state.by_meta[storage._cdata] = record
    return record


def meta_view(meta_storage, dtype, offset, sizes, strides):
    return torch.empty(0, dtype=dtype, device="meta").set_(meta_storage, offset, sizes, strides)


def new_meta_storage(size):
    return torch.empty(size, dtype=torch.uint8, device="meta").untyped_storage()


def device_input(leaf, tensors, dtype, sizes, strides):
    """A tensor of the forward pass, of the set `tensors`."""
    last = sum((n - 1) * s for n, s in zip(sizes, strides)) if 0 not in sizes else -1
    meta = meta_view(new_meta_storage((last + 1) * dtype.itemsize), dtype, 0, sizes, strides)
    record = add_record(meta, INPUT, leaf)
    record.tensors = tensors
    record.storage()
    return DeviceTensor(meta)


def device_constant(cpu):
    """A device tensor whose bytes are known: a parameter, or computed before the forward pass."""
    storage = cpu.untyped_storage()
    record = state.by_value.get(storage._cdata)
    if record is None:
        meta = meta_view(new_meta_storage(storage.nbytes()), cpu.dtype, cpu.storage_offset(), cpu.size(), cpu.stride())
        record = add_record(meta, CONSTANT)
        record.value = storage
        record.elements = storage.nbytes() // cpu.element_size()
        state.by_value[storage._cdata] = record
    else:
        meta = meta_view(record.meta_storage, cpu.dtype, cpu.storage_offset(), cpu.size(), cpu.stride())
    return DeviceTensor(meta)


def from_handle(handle):
    """The Python tensor of a tensor that C++ made or passed through."""
    number, dtype, offset, sizes, strides = handle.describe()
    record = state.by_number.get(number)
    if record is None:
        size = lib.bicrl_storage_bytes(number)
        if lib.bicrl_storage_kind(number) == HOST:
            cpu = torch.empty(size, dtype=torch.uint8)
            lib.bicrl_storage_read(number, cpu.data_ptr(), size)
            return torch.empty(0, dtype=dtype).set_(cpu.untyped_storage(), offset, sizes, strides)
        record = Record(new_meta_storage(size), ALLOCATION, size)
        record.number = number
        record.keep.append(handle)
        state.by_meta[record.meta_storage._cdata] = record
        state.by_number[number] = record
    return DeviceTensor(meta_view(record.meta_storage, dtype, offset, sizes, strides))


def handle_of(tensor):
    require_plain(tensor)
    if isinstance(tensor, DeviceTensor):
        meta = tensor.meta
        return Handle.of(record_of(tensor).storage(), meta.dtype, meta.storage_offset(), meta.size(), meta.stride())
    return host_handle(tensor)


def require_plain(tensor):
    """A tensor whose elements are what its memory holds: not the negative or the conjugate of that."""
    if tensor.is_neg() or tensor.is_conj():
        raise Fault("framework_fallback", "a framework operator produced data for the answer: a lazy negative or conjugate")


def host_handle(tensor):
    """A CPU tensor as C++ sees it; a copy of its storage."""
    tensor = tensor.detach()
    storage = tensor.untyped_storage()
    number = new_storage(HOST, storage.nbytes())
    lib.bicrl_storage_write(number, storage.data_ptr(), storage.nbytes())
    return Handle.of(number, tensor.dtype, tensor.storage_offset(), tensor.size(), tensor.stride())


def value_of(tensor):
    """The CPU tensor with the real elements, or None."""
    value = record_of(tensor).value
    if value is None:
        return None
    meta = tensor.meta
    return torch.empty(0, dtype=meta.dtype).set_(value, meta.storage_offset(), meta.size(), meta.stride())


# ---- Operators.

EMPTY = {aten.empty, aten.empty_like, aten.new_empty, aten.empty_strided, aten.new_empty_strided, aten.empty_permuted}
FILLED = {aten.zeros: 0, aten.zeros_like: 0, aten.new_zeros: 0, aten.ones: 1, aten.ones_like: 1, aten.new_ones: 1}
FULL = {aten.full: 1, aten.full_like: 1, aten.new_full: 2, aten.scalar_tensor: 0}
COPIES = {aten.clone, aten._to_copy, aten.contiguous}
# Views that only remember that they are not what they show.
LAZY = {aten._neg_view, aten._conj, aten._conj_physical, aten._neg_view_copy, aten._conj_copy}


def is_device(device):
    if device is None or torch.device(device).type != "cuda":
        return False
    if torch.device(device).index not in (None, 0):
        raise RuntimeError("CUDA error: invalid device ordinal")
    return True


def dispatch(func, args, kwargs):
    flat, spec = tree_flatten((args, kwargs))
    ours = [a for a in flat if isinstance(a, DeviceTensor)]
    if not ours and not is_device(kwargs.get("device")):
        kwargs.pop("pin_memory", None)  # host memory is as good as any here
        return func(*args, **kwargs)
    packet = func.overloadpacket
    for tensor in ours:
        require_plain(tensor)
    if packet in LAZY and ours:
        raise Fault("framework_fallback", f"a framework operator produced data for the answer: {packet}")
    if packet is aten._local_scalar_dense:
        return read_scalar(ours[0])
    if packet is aten._to_copy and ours and "device" in kwargs and not is_device(kwargs["device"]):
        return download(args[0], kwargs)
    if packet is aten._to_copy and not ours:
        return upload(args[0], kwargs)
    values = [value_of(a) for a in ours] if state.constructing or not ours else None
    if values is not None and all(v is not None for v in values):
        return on_values(func, flat, spec, ours, values)
    if packet in EMPTY or packet in FILLED or packet in FULL:
        return make(func, packet, flat, spec, args, kwargs)
    if packet in COPIES:
        out = wrap_new(func, flat, spec)
        checked(lib.bicrl_copy(handle_of(out), handle_of(args[0])))
        return out
    if packet is aten.copy_ and not isinstance(args[0], DeviceTensor):
        return args[0].copy_(known_value(args[1]))
    if packet is aten.copy_:
        checked(lib.bicrl_copy(handle_of(args[0]), handle_of(args[1])))
        return args[0]
    if packet in (aten.zero_, aten.fill_):
        fill(args[0], 0 if packet is aten.zero_ else args[1])
        return args[0]
    return other_operator(func, flat, spec)


def read_scalar(tensor):
    return known_value(tensor).item()


def known_value(tensor):
    if not record_of(tensor).readable():
        raise Fault("host_read", "the host part reads device data")
    return value_of(tensor)


def download(tensor, kwargs):
    options = {k: v for k, v in kwargs.items() if k in ("dtype", "memory_format")}
    return aten._to_copy(known_value(tensor), **options)


def upload(cpu, kwargs):
    options = {k: v for k, v in kwargs.items() if k in ("dtype", "memory_format")}
    return device_constant(aten._to_copy(cpu.detach(), **options))


def on_values(func, flat, spec, ours, values):
    """Constructors and constants: computed on the CPU from what is known, results known in turn."""
    if not state.constructing and func.overloadpacket in (EMPTY | FILLED.keys() | FULL.keys()):
        args, kwargs = tree_unflatten(flat, spec)
        return make(func, func.overloadpacket, flat, spec, args, kwargs)
    back = {id(v): o for v, o in zip(values, ours)}
    known = iter(values)
    mapped = [next(known) if isinstance(a, DeviceTensor) else cpu_device(a) for a in flat]
    args, kwargs = tree_unflatten(mapped, spec)
    with torch.no_grad():
        out = func(*args, **kwargs)
    leaves, out_spec = tree_flatten(out)
    wrapped = [o if not isinstance(o, torch.Tensor) else back[id(o)] if id(o) in back else device_constant(o)
               for o in leaves]
    return tree_unflatten(wrapped, out_spec)


def cpu_device(argument):
    return torch.device("cpu") if isinstance(argument, torch.device) and argument.type == "cuda" else argument


def meta_argument(argument):
    if isinstance(argument, DeviceTensor):
        return argument.meta
    if isinstance(argument, torch.Tensor):
        return argument.to("meta") if argument.dim() else argument
    if isinstance(argument, torch.device):
        return torch.device("meta")
    return argument


def run_meta(func, flat, spec):
    args, kwargs = tree_unflatten([meta_argument(a) for a in flat], spec)
    with torch.no_grad():
        return func(*args, **kwargs)


def wrap_new(func, flat, spec):
    """The result as a fresh allocation."""
    meta = run_meta(func, flat, spec)
    add_record(meta, ALLOCATION)
    return DeviceTensor(meta)


def make(func, packet, flat, spec, args, kwargs):
    out = wrap_new(func, flat, spec)
    if packet in FILLED:
        fill(out, FILLED[packet])
    elif packet in FULL:
        at = FULL[packet]
        fill(out, args[at] if len(args) > at else kwargs["fill_value"])
    return out


def fill(tensor, value):
    if isinstance(value, torch.Tensor):
        value = value.item()
    if isinstance(value, complex):
        raise Fault("unsupported", "complex numbers")
    if tensor.numel() == 0:
        return
    kind = "b" if isinstance(value, bool) else "f" if isinstance(value, float) else "i"
    lib.bicrl_fill(handle_of(tensor), ord(kind), float(value), int(value) if kind != "f" else 0)
    raise_library_fault()


def other_operator(func, flat, spec):
    """Views stay what they are. Everything else is the framework computing: allowed, but never for the answer."""
    name = str(func.overloadpacket)
    ours = {id(a.meta): a for a in flat if isinstance(a, DeviceTensor)}
    try:
        out = run_meta(func, flat, spec)
    except Fault:
        raise
    except NotImplementedError:
        raise Fault("framework_fallback", f"a framework operator reads device data: {name}") from None
    except RuntimeError as error:
        if "meta" in str(error) or "Meta" in str(error):
            raise Fault("framework_fallback", f"a framework operator reads device data: {name}") from None
        raise
    for argument, declared in zip(flat, func._schema.arguments):
        if declared.alias_info is not None and declared.alias_info.is_write and isinstance(argument, DeviceTensor):
            if tuple(argument.shape) != tuple(argument.meta.shape):
                raise Fault("unsupported", f"{name} changes a tensor's shape in place")
            record_of(argument).taint = name
    leaves, out_spec = tree_flatten(out)
    wrapped = []
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor) and id(leaf) in ours:
            leaf = ours[id(leaf)]
        elif isinstance(leaf, torch.Tensor):
            if leaf.untyped_storage()._cdata not in state.by_meta:
                add_record(leaf, ALLOCATION).taint = name
            require_within_storage(leaf)
            leaf = DeviceTensor(leaf)
        wrapped.append(leaf)
    return tree_unflatten(wrapped, out_spec)


def require_within_storage(meta):
    """What torch asks of a view of real memory, and not of a meta tensor."""
    if meta.numel() == 0:
        return
    strides = meta.stride()
    last = meta.storage_offset() + sum((n - 1) * step for n, step in zip(meta.shape, strides))
    size = state.by_meta[meta.untyped_storage()._cdata].size
    if meta.storage_offset() < 0 or min(strides, default=0) < 0 or (last + 1) * meta.element_size() > size:
        raise RuntimeError(f"setStorage: sizes {list(meta.shape)}, strides {list(strides)}, storage offset "
                           f"{meta.storage_offset()} are out of bounds for storage of size {size}")
