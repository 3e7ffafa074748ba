"""Judges what programs answer at a task's own size, where the task is too large for the oracle's boxes: draws inputs on a device,
runs the reference there, and compares what programs have left in the device's memory. A process of its own in a box of its own,
which runs no candidate code; what it expects is in no memory that such code can reach. It also times the task's module, as
baseline.py does, whose packets these are:
    own_size.py CHANNEL DEVICE      CHANNEL: a descriptor, a socket of packets; DEVICE: "cuda:0" ("cpu": for tests)
It first says {"architecture", "device", "torch"}, with {"unusable": why} where this torch can judge nothing on such a device, or
{"error"}. A request is packets that carry files and say nothing else
({}), and then {"plan": number}: that file is the JSON
    {"task": file of the task's code, "variants": [files of smaller texts], "inputs": specs, "init_seed", "secret", "policy",
     "key": of all these but the secret, "flush_bytes", "leaves": [{"offset", "bytes", "shape", "strides", "dtype"} of each input
     tensor], "input_bytes", "answer": spec}
It answers {"opened": true, "graph": false, "program_bytes": most that a program may take of the device, "memory": {what: bytes},
"sliced": bool, "remark"} with the descriptors of the memory of two test inputs, or {"untimed": why it cannot be judged}, and
then, until it is closed,
    {"own": "memory", "bytes"} + descriptor        {"step": "done"}        memory of the program, numbered from 0 on
    {"own": "compare", "test_input", "whole": bool,
     "views": [{"memory", "offset", "shape", "strides", "dtype"} of each output tensor]}
                                                   {"step": "done", "leaves": [[fault class or "", largest error over allowance]]}
                                                   not whole: up to the first wrong element
    {"own": "inputs", "test_input", "views": [...]}
                                                   {"step": "done", "changed": [leaves whose bytes are not the test input's]}
    {"own": "clock"}                               {"step": "done"}, or {"step": "done", "untimed": why}
    {"window": "prepare", "test_input": number}    {"step": "done"}
    {"window": "time", "side": "eager", "by_stream": true}     {"step": "done", "event_ms", "host_ms"}
    {"window": "close"}                            {"done": true, "retire": false}
or says {"error": why} and ends. A task that was opened last stays, with its test inputs, for the next candidate on it that
comes within IDLE_S seconds.
"""
import gc
import json
import math
import os
import select
import socket
import sys

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from baseline import EMPTY_SHARE, FLUSH_BYTES_OF_TESTS, HostEvent, Server, Side, Task, read_all, set_precision  # noqa: E402
from oracle_checks import finite_share  # noqa: E402
from oracle_profile import widened_model  # noqa: E402
from oracle_reference import Reference  # noqa: E402
from oracle_values import InvalidTask, running_on, with_leaves  # noqa: E402
from own_expected import COMPARED, Expected, Shown  # noqa: E402
from own_inputs import InputSampler, natures_of  # noqa: E402
from shared_memory import SharedMemory  # noqa: E402

TEST_INPUTS = 2
FURTHER_SAMPLES = 1  # plain, for statistics
RESERVE_BYTES = 3 << 30  # contexts, other programs' modules, libraries' workspaces
MOST_OF_SLICES = 5 << 30  # that references in slices take beside all else
# Of a reference that is run whole: how many times as much as its inputs and its answer it takes, widened and jittered, with
# statistics.
WHOLE_INPUTS, WHOLE_ANSWERS = 4, 16
GIB = 1 << 30
IDLE_S = 2.0


class NotGradable(Exception):
    pass


class NoRoomNow(Exception):
    """The device could hold it, and others have its memory."""


def tensors_of(spec):
    """Of a described value, in depth-first order."""
    return [spec] if spec["t"] == "tensor" else [leaf for item in spec.get("items", []) for leaf in tensors_of(item)]


def equal_bytes(a, b):
    """Both begin at multiples of 64."""
    words = a.numel() // 8 * 8
    pairs = zip(a[:words].view(torch.int64).split(COMPARED), b[:words].view(torch.int64).split(COMPARED))
    return all(torch.equal(x, y) for x, y in pairs) and torch.equal(a[words:], b[words:])


class OwnSizeTask(Task):
    """A task at its own size on a device: test inputs, what is expected on them, and the module for the clock."""

    def __init__(self, plan, code, variants, device):
        self.device, self.plan = device, plan
        self.regions, self.sides, self.remark = [], {}, ""
        self.eager = None  # the module for the clock, once it has been timed: warm, and known to wait or not
        set_precision(plan["policy"] == "tf32")
        torch.backends.cudnn.deterministic = True
        self.shown = Shown(variants, plan["init_seed"])
        natures = natures_of(variants[0], plan["init_seed"], plan["secret"])
        self.reference = Reference(code, plan["init_seed"])
        self.reference.find_arguments()
        self.reference.build()
        if isinstance(self.reference.model, torch.nn.Module):
            self.reference.model = self.reference.model.to(device)
            self.reference.wide = widened_model(self.reference.model)
        self.sampler = InputSampler(self.reference, natures, plan["inputs"], plan["secret"], device)
        if all(nature.literal for nature in natures):
            raise NotGradable("get_inputs() gives the same values under every seed, so that nothing about them is secret")
        self.expected = Expected(self.reference, self.sampler, self.shown.cut, plan["policy"], device)

    def prepare(self):
        """Whatever this has made of test inputs and answers by the time that it fails, close() frees."""
        self.find_memory()
        with running_on(self.device):
            self.sample_inputs()

    def find_memory(self):
        """Whether the device has room: the table of memory, which decides before anything is launched."""
        counts = [(math.prod(leaf["shape"]), getattr(torch, leaf["dtype"]).itemsize) for leaf in tensors_of(self.plan["answer"])]
        answer = sum(count * size for count, size in counts)
        expected = TEST_INPUTS * sum(count * (size + 4) for count, size in counts)
        reference = MOST_OF_SLICES if self.shown.cut else (WHOLE_INPUTS * self.plan["input_bytes"] + WHOLE_ANSWERS * answer)
        inputs = TEST_INPUTS * self.plan["input_bytes"]
        self.memory = {"test_inputs": inputs, "expected": expected,
                       "reference": FURTHER_SAMPLES * self.plan["input_bytes"] + reference,
                       "program": self.plan["input_bytes"] + answer}
        if self.device.type != "cuda":
            self.program_bytes = FLUSH_BYTES_OF_TESTS << 10
            return
        free, total = torch.cuda.mem_get_info(self.device)
        self.program_bytes = total - inputs - expected - RESERVE_BYTES
        need = inputs + expected + max(self.memory["reference"], self.memory["program"]) + RESERVE_BYTES
        if need > free:
            why = (f"its draws, answers and reference{'' if self.shown.cut else ', which is run whole,'} take "
                   f"{need / GIB:.0f} GiB of the device's memory, of which {free / GIB:.0f} are free")
            raise NoRoomNow(why) if free < EMPTY_SHARE * total else NotGradable(why)

    def views(self, region):
        return [region.view(leaf["offset"], leaf["shape"], leaf["strides"], leaf["dtype"]) for leaf in self.plan["leaves"]]

    def sample_inputs(self):
        for _ in range(TEST_INPUTS):  # one by one: close() frees the first where there is no second
            self.regions.append(SharedMemory(self.plan["input_bytes"], self.device))
        kept = [self.views(region) for region in self.regions]
        for views in kept:
            for view, leaf in zip(views, self.sampler.sample()):
                view.copy_(leaf)
        concentrates = self.sampler.can_concentrate() and self.stays_finite(kept[1])
        if concentrates:
            self.sampler.concentrate(kept[1])
        else:
            self.remark = "at its own size no draw has its mass in few places"
        others = [[leaf.to(self.device) for leaf in self.sampler.sample()] for _ in range(FURTHER_SAMPLES)]
        self.expected.compute(kept, others, concentrates)
        del others
        unseen = self.expected.unseen_holes(kept)
        if unseen:
            names = f"input{'s' if len(unseen) > 1 else ''} {', '.join(map(str, unseen))}"
            self.remark += "; " * bool(self.remark) + f"at its own size a thousandth of an axis of {names} may be left out unseen"
        self.free()

    def stays_finite(self, tensors):
        """Whether the answer is as finite on such inputs as on plain ones, as far as its first places show."""
        _, end, count = self.expected.slices(tensors)[0]
        part = [x[:end] if count is not None and i in self.expected.cut else x for i, x in enumerate(tensors)]
        plain = finite_share(self.expected.own(part))
        return finite_share(self.expected.own(self.expected.concentrated(part))) >= plain

    def free(self):
        gc.collect()
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
            torch.cuda.empty_cache()

    def start_clock(self):
        """Throws NotGradable if there can be no times."""
        if self.shown.writes:
            raise NotGradable("the task's module writes to its inputs, so its calls cannot be repeated on them")
        torch.backends.cudnn.deterministic = False
        model = self.reference.model
        is_module = isinstance(model, torch.nn.Module)
        self.kept = list(model.state_dict(keep_vars=True).values()) if is_module else []
        self.kept_values = [x.detach().clone() for x in self.kept]
        bytes_of_flush = self.plan["flush_bytes"] if self.device.type == "cuda" else FLUSH_BYTES_OF_TESTS
        self.flushed = torch.empty(bytes_of_flush // 4, dtype=torch.int32, device=self.device)
        self.events = [torch.cuda.Event(enable_timing=True) if self.device.type == "cuda" else HostEvent() for _ in range(2)]
        try:
            with running_on(self.device):
                if self.eager is None:
                    side = Side(model, self.arguments(0), self.device)
                    side.answer = None
                    side.find_waits(self.flush)
                    side.answer = None
                    self.eager = side
        except torch.OutOfMemoryError:
            raise NotGradable("the device has no room for the task's module beside what is compared") from None
        self.sides = {"eager": self.eager}

    def arguments(self, test_input):
        return with_leaves(self.sampler.form, self.views(self.regions[test_input]))

    def take_inputs(self, test_input):
        for tensor, value in zip(self.kept, self.kept_values):
            tensor.detach().copy_(value)
        self.sides["eager"].inputs = self.arguments(test_input)
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def time(self, name, by_stream):
        with running_on(self.device):
            said = super().time(name, by_stream)
        self.sides[name].answer = None
        return said

    def stop_clock(self):
        self.sides, self.kept, self.kept_values, self.flushed = {}, [], [], None
        torch.backends.cudnn.deterministic = True
        self.free()

    def close(self):
        self.expected, self.sides, self.eager = None, {}, None
        for region in self.regions:
            region.close()


class OwnSizeServer(Server):
    is_open = False
    refused = None  # the key of the task that was refused last, and why, where that is the task's own

    def hello(self):
        said = super().hello()
        if "error" in said:  # a torch without this device; which others may have for what they do
            return {"architecture": "", "device": "", "torch": torch.__version__, "unusable": said["error"]}
        gc.collect()
        gc.freeze()  # torch itself: what tasks leave is found without walking through all of it
        return said

    def receive(self):
        """As the baseline's; but what nobody asks for is given back to whoever else uses the device."""
        if self.task is not None and not self.is_open and not select.select([self.channel], [], [], IDLE_S)[0]:
            self.forget()
        return super().receive()

    def window(self, files, number):
        plan = json.loads(read_all(files[number]))
        why, may_pass = self.why_not(plan, files)
        if why:
            self.forget()  # behind the handlers below, which keep what was being computed
            if may_pass and self.others_have_memory():
                raise NoRoomNow(why)  # which is nothing that a task is to blame for
            return self.refuse(why)
        task, self.programs, self.is_open = self.task, [], True
        said = {"opened": True, "graph": False, "program_bytes": task.program_bytes, "memory": task.memory,
                "sliced": bool(task.shown.cut), "remark": task.remark}
        socket.send_fds(self.channel, [json.dumps(said).encode()], [region.descriptor for region in task.regions])
        while True:
            asked, fds = self.receive()
            if asked is None:
                sys.exit(0)
            if asked.get("window") == "close":
                break
            self.say({"step": "done", **self.serve_one(asked, fds)})
        task.stop_clock()
        for memory in self.programs:
            memory.close()
        self.programs, self.is_open = [], False
        self.say({"done": True, "retire": False})

    def why_not(self, plan, files):
        """Why a task cannot be opened, "" if it was; and whether it might be where others have less of the device's memory."""
        if self.refused and self.refused[0] == plan["key"]:
            return self.refused[1], False
        try:
            self.open(plan, files)
            return "", False
        except (InvalidTask, NotGradable) as why:
            self.refused = plan["key"], str(why)
            return str(why), False
        except NoRoomNow:
            raise
        except torch.OutOfMemoryError:
            return "the device has too little memory for its reference", True
        except Exception as error:  # what a device refuses, or no device can do
            return f"{type(error).__name__}: {str(error)[:300]}", True

    def serve_one(self, asked, fds):
        what = asked.get("own") or asked["window"]
        if what == "memory":
            self.programs.append(SharedMemory(asked["bytes"], self.device, fds[0]))
        elif what == "compare":
            return {"leaves": self.task.expected.compare(asked["test_input"], self.views(asked), asked["whole"])}
        elif what == "inputs":
            return {"changed": self.changed_inputs(asked)}
        elif what == "clock":
            try:
                self.task.start_clock()
            except NotGradable as why:
                return {"untimed": str(why)}
        elif what == "prepare":
            self.task.take_inputs(asked["test_input"])
        else:
            return self.task.time(asked["side"], asked["by_stream"])
        return {}

    def views(self, asked):
        return [self.programs[view["memory"]].view(view["offset"], view["shape"], view["strides"], view["dtype"])
                for view in asked["views"]]

    def changed_inputs(self, asked):
        """Bytes are compared, as a NaN is no number but stays itself."""
        changed = []
        for index, (view, leaf) in enumerate(zip(asked["views"], self.task.plan["leaves"])):
            if view["memory"] is None:  # the program has no use for it
                continue
            memory = self.programs[view["memory"]].tensor
            given = self.task.regions[asked["test_input"]].tensor
            size = leaf["bytes"]
            if not equal_bytes(memory[view["offset"]:view["offset"] + size], given[leaf["offset"]:leaf["offset"] + size]):
                changed.append(index)
        return changed

    def open(self, plan, files):
        if self.key == plan["key"]:
            return
        self.forget()
        code = read_all(files[plan["task"]]).decode()
        variants = [read_all(files[number]).decode() for number in plan["variants"]]
        self.task = OwnSizeTask(plan, code, variants, self.device)
        self.task.prepare()
        self.key = plan["key"]

    def forget(self):
        if self.task is not None:
            self.task.close()
        super().forget()
        gc.collect()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()


if __name__ == "__main__":
    server = OwnSizeServer(int(sys.argv[1]), sys.argv[2])
    try:
        with torch.no_grad():
            server.serve()
    except Exception as error:
        server.say({"error": f"{type(error).__name__}: {str(error)[:300]}"})
        raise
