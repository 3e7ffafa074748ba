"""A task's reference: its inputs, and its answers in its own types and in fp64. Runs the task's code."""
import contextlib
import copy
import random
import sys
import time
import traceback
import types

import torch

import arguments
import parameters
from oracle_decisions import Decisions
from oracle_operators import Operators
from oracle_profile import Exact, all_finite, widened, widened_model
from oracle_rounding import Rounding
from oracle_values import InvalidTask, OnDevice, check_types, clone, describe, leaves, readable_leaves, rebuild, span_bytes

MODE_WORDS = ("training", "eval(", "train(")
LARGEST_ARGUMENTS = 64 << 20  # bytes of tensors
KIND_OF_ERROR = {ImportError: "missing", ModuleNotFoundError: "missing", NameError: "missing", AttributeError: "missing"}


def seed_all(seed):
    torch.default_generator.manual_seed(seed)  # torch.manual_seed() formats a stack for devices that are not here
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)


def attempt(what, function, *args):
    """Calls task code; what it raises is the task's fault, in one line."""
    try:
        with OnDevice():
            return function(*args)
    except (MemoryError, InvalidTask):
        raise
    except BaseException as error:
        if isinstance(error, RuntimeError) and "allocate memory" in str(error):
            raise MemoryError from None
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise InvalidTask(KIND_OF_ERROR.get(type(error), "raises"), f"{what} raises {type(error).__name__} "
                        f"(line {last.lineno}): {str(error)[:300]}") from None


COSTING_INPUTS = "get_costing_inputs"  # what a task may define beside get_inputs(): larger ones, for costing
COSTING_REPEATS = "get_costing_repeats"  # and how many times as many rows modelled times are for
MOST_REPEATS = 65536
# Farther from the reference (relative, over all elements), the fp64 run computes something else.
WIDE_DISTANCE = 0.1


def agrees(own, exact):
    """Is the fp64 run, if there is one, one of what the reference computes?"""
    if exact is None or len(own) != len(exact):
        return False
    for a, b in zip(own, exact):
        if a.shape != b.shape or a.is_floating_point() != b.is_floating_point():
            return False
        if a.is_floating_point():
            if not (all_finite(a) and all_finite(b)):
                both = torch.isfinite(a) & torch.isfinite(b)
                a, b = a[both], b[both]
            if float(torch.sub(b, a).norm()) > WIDE_DISTANCE * float(b.norm()):
                return False
    return True


class Reference:
    def __init__(self, task_code, init_seed, costing=False):
        """`costing`: with the inputs that the task is costed on."""
        self.names = {"__name__": "task"}
        self.code = task_code
        self.costing = costing
        attempt("the task's code", lambda: exec(compile(task_code, "task", "exec"), self.names))
        for name in ("Model", "get_inputs", "get_init_inputs"):
            if not callable(self.names.get(name)):
                raise InvalidTask("missing", f"the task's code does not define {name}")
        self.has_costing_inputs = callable(self.names.get(COSTING_INPUTS))
        self.costing_repeats = self.find_repeats()
        self.makes_inputs = COSTING_INPUTS if costing else "get_inputs"
        self.init_seed = init_seed
        self.described = None  # of the inputs
        self.times_ms = []

    def find_repeats(self):
        if not callable(self.names.get(COSTING_REPEATS)):
            return 1
        if not self.has_costing_inputs:
            raise InvalidTask("missing", f"the task's code defines {COSTING_REPEATS} without {COSTING_INPUTS}")
        found = attempt(f"{COSTING_REPEATS}()", self.names[COSTING_REPEATS])
        if type(found) is not int or not 1 <= found <= MOST_REPEATS:
            raise InvalidTask("raises", f"{COSTING_REPEATS}() does not return a whole number from 1 to {MOST_REPEATS}")
        return found if self.costing else 1

    def inputs(self, seed):
        seed_all(seed)
        inputs = attempt(f"{self.makes_inputs}()", self.names[self.makes_inputs])
        if not isinstance(inputs, (list, tuple)):
            raise InvalidTask("raises", f"{self.makes_inputs}() returns {type(inputs).__name__}, not a list")
        check_types(inputs)
        if self.described is not None and [describe(x) for x in inputs] != self.described:
            raise InvalidTask("random", f"{self.makes_inputs}() gives other shapes or numbers under another seed, which cannot be "
                            "graded")
        return list(inputs)

    def imagined_inputs(self):
        """Inputs without data, or None: not every generator works without."""
        try:
            with torch.device("meta"):
                return self.inputs(0)
        except InvalidTask:
            return None

    def imagined_outputs(self, inputs):
        """Output leaves without data, and the lane operations of an ordinary program; nothing where the reference does not
        work without."""
        try:
            model = attempt("Model()", lambda: copy.deepcopy(self.model).to("meta"))
            with torch.device("meta"), Operators([*leaves(inputs), *model.parameters()]) as operators:
                answer = leaves(attempt("forward()", model, *inputs))
            return answer, operators.ordinary_operations
        except (InvalidTask, AttributeError, NotImplementedError):
            return [], 0

    @staticmethod
    def check_input_bytes(inputs, limit):
        size = sum(span_bytes(leaf) for leaf in leaves(inputs))
        if size > limit:
            raise InvalidTask("too_large", f"its inputs take {size >> 20} MiB a draw, over the limit of {limit >> 20} MiB "
                            "(oracle.max_input_mib)")

    @staticmethod
    def check_output_bytes(outputs, limit):
        size = sum(x.numel() * x.element_size() for x in outputs)
        if size > limit:
            raise InvalidTask("too_large", f"its outputs take {size >> 20} MiB a draw, over the limit of {limit >> 20} MiB")

    @staticmethod
    def check_ordinary_work(operations, limit):
        """`limit`: None if there is none."""
        if limit is not None and operations > limit:
            raise InvalidTask("too_large", f"an ordinary program does about {operations:.1e} operations of lanes, over the limit of "
                              f"{limit:.1e} (limits.run_lane_operations)")

    def check_work(self, limit):
        """Of decisions(), which come before."""
        if self.least_lane_operations > limit:
            raise InvalidTask("too_large", f"a program has to do about {self.least_lane_operations:.1e} operations of lanes, over the "
                            f"limit of {limit:.1e} (limits.run_lane_operations)")

    def find_arguments(self):
        """Those of the constructor. Kept as the specs and bytes that a candidate's process gets, too."""
        seed_all(self.init_seed)
        found = attempt("get_init_inputs()", self.names["get_init_inputs"])
        if not isinstance(found, (list, tuple, dict)):
            raise InvalidTask("raises", f"get_init_inputs() returns {type(found).__name__}, not a list")
        self.argument_bytes = []
        try:
            self.arguments = arguments.pack(found, self.argument_bytes)
        except arguments.Unsendable as error:
            raise InvalidTask("unsupported_type",
                            f"get_init_inputs() returns what cannot be sent to a candidate: {error}") from None
        size = sum(map(len, self.argument_bytes))
        if size > LARGEST_ARGUMENTS:
            raise InvalidTask("too_large", f"the tensors of get_init_inputs() take {size >> 20} MiB, over the limit of "
                            f"{LARGEST_ARGUMENTS >> 20} MiB")

    def build(self, widened=True):
        """Makes the model, and gives it drawn values for what it leaves at constants; returns what was drawn. `widened`: for
        runs in fp64, too."""
        init = arguments.unpack(self.arguments, self.argument_bytes)
        seed_all(self.init_seed)
        make = self.names["Model"]
        self.model = attempt("Model()", lambda: make(**init) if isinstance(init, dict) else make(*init))
        sampled = parameters.plan(self.model, self.init_seed) if isinstance(self.model, torch.nn.Module) else []
        parameters.apply(self.model, sampled)
        # Under attempt(), so that parameters of gigabytes are a task that is too large, and no crash.
        self.wide = attempt("Model()", widened_model, self.model) if widened else None
        return sampled

    def ignores_mode(self):
        """Whether nothing in it asks if it is in training mode, so that eval() makes no difference. Of functions that it
        calls this knows no more than the text says."""
        if not isinstance(self.model, torch.nn.Module) or any(word in self.code for word in MODE_WORDS):
            return False
        kinds = {kind for module in self.model.modules() for kind in type(module).__mro__}
        return not any("training" in function.__code__.co_names for kind in kinds - {torch.nn.Module}
                       for function in vars(kind).values() if isinstance(function, types.FunctionType))

    def forward(self, inputs):
        """In the task's own types. Works on copies: forward may change its inputs or its own statistics. Returns the
        answer and the inputs as forward left them."""
        model, copies = copy.deepcopy(self.model), [clone(x) for x in inputs]
        begin, cpu = time.perf_counter(), time.thread_time()
        returned = attempt("forward()", model, *copies)
        self.cpu_s = time.thread_time() - cpu
        self.times_ms.append((time.perf_counter() - begin) * 1e3)
        check_types(returned)
        return returned, copies

    def decisions(self, inputs):
        """Runs forward once more to see where it decides, and which operators it has a device run."""
        copies = [clone(x) for x in inputs]
        known = leaves(copies)
        if isinstance(self.model, torch.nn.Module):
            model = copy.deepcopy(self.model)
            known = [*known, *model.parameters(), *model.buffers()]
        else:
            model = self.model
        with Operators(known) as operators, Decisions(known) as seen:
            returned = attempt("forward()", model, *copies)
        answer = leaves(returned)
        self.least_lane_operations = operators.least_lane_operations(answer)
        self.operators = operators.summary(answer)
        return seen, returned, copies

    def exact(self, inputs, jitter=None, forms=None, buffers=True):
        """Output leaves in fp64, or None if the reference does not run in it. `jitter` changes inputs, in the `forms` of their
        leaves, and parameters; buffers too if `buffers`."""
        if jitter is None:
            return self._leaves(copy.deepcopy(self.wide), [rebuild(x, lambda t: widened(t.clone())) for x in inputs], Exact())
        return self._leaves(jitter.model(self.wide, buffers), jitter.inputs(inputs, True, forms), Rounding(jitter.seed()))

    def own_with(self, inputs, jitter, forms=None, buffers=True):
        """The same in the task's own types."""
        return self._leaves(jitter.model(self.model, buffers), jitter.inputs(inputs, False, forms), contextlib.nullcontext())

    @staticmethod
    def _leaves(model, inputs, mode):
        try:
            with mode:
                return readable_leaves(attempt("forward()", model, *inputs))
        except InvalidTask:
            return None
