"""Times a task's module in PyTorch on a GPU: what candidates are compared with. A process of its own in a box of its own,
which runs no candidate code and never sees a candidate's answers.
    baseline.py CHANNEL DEVICE      CHANNEL: a descriptor, a socket of packets; DEVICE: "cuda:0" ("cpu": for tests of what is
                                    not the device's; its events are the host's clock)
It first says {"architecture", "device", "torch"} or {"error"}. A request is packets that carry files and say nothing else
({}), and then {"plan": number}: that file is the JSON
    {"task": file of the task's code, "init_seed", "costing": bool, "tf32": bool, "compile": bool, "key": of all these,
     "flush_bytes", "leaves": [{"offset", "bytes", "shape", "strides", "dtype"} of each input tensor], "test_inputs": [files]}
It answers {"opened": true, "graph": bool} once the module has run ("graph": all sides can be replayed), or {"untimed": why},
and then, until it is closed,
    {"window": "prepare", "test_input": number}                             {"step": "done"}
    {"window": "time", "side": "eager" or "compile", "by_stream": bool}     {"step": "done", "event_ms", "host_ms"}
    {"window": "close"}                                                     {"done": true, "retire": false}
or says {"error": why} and ends. A task that was opened last stays, for the next candidate on it.
"""
import ctypes
import gc
import json
import os
import shutil
import socket
import sys
import time

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from oracle_reference import Reference  # noqa: E402: the isolated interpreter does not look beside the script
from oracle_values import InvalidTask, leaves, with_leaves  # noqa: E402

WARM_UP_CALLS = 3
FLUSH_RATE = 5e12  # bytes in a second that no device's memory exceeds by much
FLUSH_BYTES_OF_TESTS = 1 << 20
HOST_OF_A_GRAPH_S = 75e-6  # until a graph and two events are issued, amply
AMPLY = 2.0  # of the host's time for a call without a graph
MOST_FLUSHES = 4096
EMPTY_SHARE = 0.75  # of its memory, that a device has free where only verifiers' processes use it
FOLDERS_OF_COMPILERS = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")


class HostEvent:
    """An event where there is no device."""

    def record(self):
        self.at = time.perf_counter()

    def query(self):
        return True

    def elapsed_time(self, other):
        return (other.at - self.at) * 1e3


class Side:
    """One way to run the module on inputs that stay where they are."""

    def __init__(self, function, inputs, device):
        self.function, self.inputs, self.device = function, inputs, device
        self.graph = None
        self.waits = False
        for _ in range(WARM_UP_CALLS):
            self.call()
        self.synchronize()
        begin = time.perf_counter()
        self.call()
        self.host_s = time.perf_counter() - begin
        self.synchronize()

    def call(self):
        self.answer = self.function(*self.inputs)

    def synchronize(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def capture(self):
        if self.device.type != "cuda":
            return False
        try:
            stream = torch.cuda.Stream(self.device)
            stream.wait_stream(torch.cuda.current_stream(self.device))
            with torch.cuda.stream(stream):
                for _ in range(WARM_UP_CALLS):
                    self.call()
            torch.cuda.current_stream(self.device).wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.call()
            self.graph = graph
        except Exception:  # whatever it is that cannot be captured
            torch.cuda.synchronize(self.device)
        return self.graph is not None

    def find_waits(self, flush):
        """Whether a call waits for the device, as one that reads a value does. By the time it returns the host has missed the
        beginning of what the device did, however much was queued in front."""
        if self.device.type != "cuda" or self.graph is not None:
            return

        def waits_once():
            self.synchronize()
            flush(HOST_OF_A_GRAPH_S + AMPLY * self.host_s)
            start = torch.cuda.Event()
            start.record()
            self.call()
            return start.query()

        self.waits = all([waits_once() for _ in range(WARM_UP_CALLS)])
        self.synchronize()


class Task:
    def __init__(self, plan, code, device):
        self.device = device
        set_precision(plan["tf32"])
        reference = Reference(code, plan["init_seed"], plan["costing"])
        reference.find_arguments()
        reference.build()
        given = reference.inputs(0)
        model = reference.model
        if isinstance(model, torch.nn.Module):
            model = model.to(device)
        self.kept = list(model.state_dict(keep_vars=True).values()) if isinstance(model, torch.nn.Module) else []
        self.kept_values = [x.detach().clone() for x in self.kept]
        self.inputs = [torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=device) for x in leaves(given)]
        for ours, theirs in zip(self.inputs, leaves(given)):
            ours.copy_(theirs)
        arguments = with_leaves(given, self.inputs)
        self.storages = []  # what each test input's tensors are read into: fresh pages cost more than the reading
        bytes_of_flush = plan["flush_bytes"] if device.type == "cuda" else FLUSH_BYTES_OF_TESTS
        self.flushed = torch.empty(bytes_of_flush // 4, dtype=torch.int32, device=device)
        self.sides = {"eager": Side(model, arguments, device)}
        if plan["compile"]:
            self.sides["compile"] = Side(torch.compile(model), arguments, device)
        self.has_graph = all([side.capture() for side in self.sides.values()])
        for side in self.sides.values():
            side.find_waits(self.flush)
        self.events = [torch.cuda.Event(enable_timing=True) if device.type == "cuda" else HostEvent() for _ in range(2)]

    def take_inputs(self, plan, fd):
        """All as the constructor left it, with that test input."""
        for tensor, value in zip(self.kept, self.kept_values):
            tensor.detach().copy_(value)
        if [storage.numel() for storage in self.storages] != [leaf["bytes"] for leaf in plan["leaves"]]:
            self.storages = [self.storage(leaf["bytes"]) for leaf in plan["leaves"]]
        for tensor, leaf, storage in zip(self.inputs, plan["leaves"], self.storages):
            if not leaf["bytes"]:
                continue
            into, done = (ctypes.c_char * leaf["bytes"]).from_address(storage.data_ptr()), 0
            while done < leaf["bytes"]:  # a read gives two GiB at most
                read = os.preadv(fd, [memoryview(into)[done:]], leaf["offset"] + done)
                if not read:
                    raise EOFError("a test input's file is cut off")
                done += read
            values = storage.view(getattr(torch, leaf["dtype"]))
            tensor.copy_(values.as_strided(leaf["shape"], leaf["strides"]), non_blocking=True)
        if self.device.type == "cuda":  # what is under way still would run beside the candidate's call
            torch.cuda.synchronize(self.device)

    def flush(self, wanted_s):
        """Cold caches, and so long a time for the device in which the host gets ahead of it."""
        one_s = self.flushed.numel() * 4 / FLUSH_RATE
        for number in range(min(MOST_FLUSHES, int(wanted_s / one_s) + 1) if self.device.type == "cuda" else 1):
            self.flushed.fill_(number)

    def storage(self, size):
        """Pages that stay where they are: a device copies from others at a fifth of its rate."""
        return torch.empty(size, dtype=torch.uint8, pin_memory=self.device.type == "cuda")

    def time(self, name, by_stream):
        side = self.sides[name]
        replayed = side.graph is not None and not by_stream
        side.synchronize()
        self.flush(HOST_OF_A_GRAPH_S if replayed else HOST_OF_A_GRAPH_S + AMPLY * side.host_s)
        start, end = self.events
        start.record()
        side.graph.replay() if replayed else side.call()
        end.record()
        # Without a pause: what the host sees late is missing in its span.
        while not start.query():
            pass
        begin = time.perf_counter()
        while not end.query():
            pass
        host_ms = (time.perf_counter() - begin) * 1e3
        event_ms = start.elapsed_time(end)
        seen = self.device.type == "cuda" and (replayed or not side.waits)
        return {"step": "done", "event_ms": event_ms, "host_ms": host_ms if seen else event_ms}


def set_precision(tf32):
    """What a task may have changed. Like with like: products and convolutions in TF32 where candidates may have it."""
    torch.set_default_dtype(torch.float32)
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = False


class Server:
    def __init__(self, channel, device):
        self.channel = socket.socket(fileno=channel)
        self.device = torch.device(device)
        self.key, self.task = None, None
        self.compiled = False  # something, since it was last forgotten

    def say(self, what):
        self.channel.sendall(json.dumps(what).encode())

    def receive(self):
        """A packet and its files; nothing if the other side is gone."""
        message, fds, _, _ = socket.recv_fds(self.channel, 1 << 16, 16)
        return (json.loads(message), fds) if message else (None, [])

    def hello(self):
        if self.device.type == "cpu":
            return {"architecture": "", "device": "cpu", "torch": torch.__version__}
        if not torch.cuda.is_available():
            return {"error": f"torch {torch.__version__} has no CUDA here: install a build of torch with CUDA in the "
                             "interpreter of the boxes (BICRL_PYTHON), or one that this driver knows"}
        torch.zeros(1, device=self.device)
        major, minor = torch.cuda.get_device_capability(self.device)
        return {"architecture": f"sm_{major}{minor}", "device": torch.cuda.get_device_name(self.device),
                "torch": torch.__version__}

    def serve(self):
        hello = self.hello()
        self.say(hello)
        files = []
        while "error" not in hello:
            message, fds = self.receive()
            if message is None:
                return
            files += fds
            if "plan" in message:
                self.window(files, message["plan"])
                for fd in files:
                    os.close(fd)
                files = []

    def window(self, files, number):
        plan = json.loads(read_all(files[number]))
        try:
            self.open(plan, read_all(files[plan["task"]]).decode())
        except InvalidTask as fault:
            self.forget()
            return self.refuse(str(fault))
        except Exception as error:  # what a device refuses, a compiler cannot compile, or memory does not hold
            self.forget()
            if isinstance(error, torch.OutOfMemoryError) and self.others_have_memory():
                raise  # which is nothing that a task is to blame for
            return self.refuse(f"{type(error).__name__}: {str(error)[:300]}")
        self.say({"opened": True, "graph": self.task.has_graph})
        while True:
            asked, _ = self.receive()
            if asked is None:
                sys.exit(0)
            what = asked["window"]
            if what == "close":
                return self.say({"done": True, "retire": False})
            if what == "prepare":
                self.task.take_inputs(plan, files[plan["test_inputs"][asked["test_input"]]])
                self.say({"step": "done"})
            else:
                self.say(self.task.time(asked["side"], asked["by_stream"]))

    def open(self, plan, code):
        if self.key == plan["key"]:
            return
        self.forget()
        self.compiled = plan["compile"]
        self.task = Task(plan, code, self.device)
        self.key = plan["key"]

    def forget(self):
        self.key, self.task = None, None
        if self.compiled:
            # What torch.compile has made of a task stays for a process's life, and its files fill the box's folder.
            torch._dynamo.reset()
            inductor = sys.modules.get("torch._inductor.utils")
            getattr(inductor, "clear_caches", lambda: None)()  # not every torch has them
            gc.collect()
            for folder in FOLDERS_OF_COMPILERS:
                shutil.rmtree(os.environ.get(folder, ""), ignore_errors=True)
            self.compiled = False
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
            getattr(torch._C, "_host_emptyCache", lambda: None)()  # pinned pages; not every torch has it

    def others_have_memory(self):
        free, total = torch.cuda.mem_get_info(self.device) if self.device.type == "cuda" else (1, 1)
        return free < EMPTY_SHARE * total

    def refuse(self, why):
        self.say({"untimed": why})
        self.say({"done": True, "retire": False})


def read_all(fd):
    data, offset = b"", 0
    while piece := os.pread(fd, 1 << 30, offset):
        data, offset = data + piece, offset + len(piece)
    return data


if __name__ == "__main__":
    server = Server(int(sys.argv[1]), sys.argv[2])
    try:
        with torch.no_grad():
            server.serve()
    except Exception as error:
        server.say({"error": f"{type(error).__name__}: {str(error)[:300]}"})
        raise
