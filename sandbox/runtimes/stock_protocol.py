"""Grades one program as KernelBench does (the revision named in sandbox/verifier/stock_evaluator.h), by PyTorch alone: the program's own
load_inline builds it. It TRUSTS THE PROGRAM, which runs in this very process with the inputs, the reference and the clock.
    stock_protocol.py JOB      JOB: a JSON file,
    {"mode": "probe", "evaluate" or "baseline", "device": "cuda:0" or "cpu" (whose clock is the host's), "precision": "fp32",
     "fp16" or "bf16", "tolerance": 0 for that of the precision, "seed", "correctness_trials", "timing_trials", "reference",
     "candidate": files of code, "result": a descriptor of a file, which outlives the process however that ends, "turn": of a
     socket}
An evaluation builds the program first, without a GPU and while others run; then it writes a byte to "turn", and touches no
device before it has read one there.
Before the program's code is run the result is {"stage": "compile"}, then {"stage": "run"}: should the process die, that says
how far it came. At the end it is
    probe      {"hardware", "device", "bus": where the device is, "" for the host, "architectures": TORCH_CUDA_ARCH_LIST for it},
               or {"error"}
    evaluate   {"record": {"compiled", "correctness", "metadata", "runtime", "runtime_stats", "ref_runtime", "ref_runtime_stats"},
                "starved": whether its compiler failed for want of memory or room}
    baseline   {"stats": {"mean", "std", "min", "max", "num_trials", "hardware", "device"}}, or {"error"}
Times are in milliseconds.
"""
import contextlib
import ctypes
import glob
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import sysconfig
import time
import traceback

import torch

TYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
TOLERANCES = {"fp32": 1e-4, "fp16": 1e-2, "bf16": 1e-2}  # absolute and relative
WARM_UP_CALLS, WARM_UP_CALLS_OF_BASELINES, DISCARDED_TRIALS = 3, 5, 1
FLUSH_ELEMENTS = 32 << 20  # of int64: more than any L2 holds
EXCESSIVE_SPEEDUP = 10
LONGEST_TEXT = 4000
LONGEST_END_S = 5  # of processes that are killed
REFUSED = "Error building extension"  # begins the message of a load_inline whose compiler failed
STARVED = ("Killed", "Kill signal", "No space left", "annot allocate memory", "memory exhausted", "out of memory",
           "Resource temporarily unavailable")


def missing_headers():
    """What load_inline compiles against, which distributions package apart."""
    folder = sysconfig.get_paths()["include"]
    return None if os.path.exists(os.path.join(folder, "Python.h")) else f"there is no {folder}/Python.h: install python3-dev"


class Gpu:
    def __init__(self, name):
        if not torch.cuda.is_available():
            raise RuntimeError(f"torch {torch.__version__} has no CUDA here: install a build of torch with CUDA in the interpreter "
                               "of the boxes (BICRL_PYTHON), or one that this driver knows")
        self.device = torch.device(name)
        torch.cuda.set_device(self.device)
        self.hardware = torch.cuda.get_device_name(self.device)

    def missing(self):
        """Why load_inline would refuse every program; nothing if it would not."""
        from torch.utils.cpp_extension import is_ninja_available
        version = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=False).stdout
        found = re.search(r"release (\d+)\.", version)
        if not found or found[1] != torch.version.cuda.split(".")[0]:
            return f"torch is made for CUDA {torch.version.cuda}, and nvcc is of {found[1] if found else 'an unknown version'}"
        return missing_headers() or (None if is_ninja_available() else "ninja is neither on PATH nor beside the Python of the boxes")

    def seed(self, seed):
        torch.manual_seed(seed)
        torch.cuda.manual_seed(seed)

    def synchronize(self):
        torch.cuda.synchronize(self.device)

    def release(self):
        torch.cuda.empty_cache()

    def time(self, call):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        flushed = torch.empty(FLUSH_ELEMENTS, dtype=torch.int64, device=self.device)
        flushed.fill_(42)
        del flushed
        start.record()
        call()
        end.record()
        self.synchronize()
        return start.elapsed_time(end)

    def bus(self):
        driver, number, text = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.create_string_buffer(64)
        failed = driver.cuDeviceGet(ctypes.byref(number), self.device.index or 0) or driver.cuDeviceGetPCIBusId(text, 64, number)
        return "" if failed else text.value.decode()

    def architectures(self):
        """What load_inline finds out by itself where it sees the GPU: the newest that this torch knows for a newer device."""
        known = [int(re.sub(r"\D", "", name)) for name in torch.cuda.get_arch_list() if name.startswith("sm_")]
        newest = max(((number // 10, number % 10) for number in known), default=(99, 9))
        return "{}.{}+PTX".format(*min(newest, torch.cuda.get_device_capability(self.device)))


class Host:
    def __init__(self, name):
        self.device, self.hardware = torch.device(name), "cpu"

    def missing(self):
        return missing_headers()

    def seed(self, seed):
        torch.manual_seed(seed)

    def synchronize(self):
        pass

    def release(self):
        pass

    def time(self, call):
        begin = time.perf_counter()
        call()
        return (time.perf_counter() - begin) * 1e3

    def bus(self):
        return ""

    def architectures(self):
        return ""


class Evaluation:
    """One program; what it raises beyond its trials is its caller's to name."""

    def __init__(self, job, place):
        self.job, self.place = job, place
        self.type, self.tolerance = TYPES[job["precision"]], job["tolerance"] or TOLERANCES[job["precision"]]
        self.names = {}  # of the reference's code, and the program's: it is run behind it, in the same namespace
        self.metadata = {"tolerance": self.tolerance}
        self.starved = False
        self.record = {"compiled": False, "correctness": False, "metadata": self.metadata,
                       "runtime": -1.0, "runtime_stats": {}, "ref_runtime": -1.0, "ref_runtime_stats": {}}

    def moved(self, values):
        """Every tensor, one of integers too, in the run's type."""
        return [x.to(dtype=self.type).to(device=self.place.device) if isinstance(x, torch.Tensor) else x for x in values]

    def model(self, name, arguments):
        """Weights agree because both are drawn from one seed."""
        with torch.no_grad():
            self.place.seed(self.job["seed"])
            model = self.names[name](*arguments)
            assert hasattr(model, "forward")
            return model

    def run(self):
        exec(read(self.job["reference"]), self.names)
        self.place.seed(self.job["seed"])
        arguments = self.moved(self.names["get_init_inputs"]())
        reference = self.model("Model", arguments)
        if not self.build():
            return
        self.record["compiled"] = True
        tell(self.job, {"stage": "run"})
        try:
            candidate = self.model("ModelNew", arguments)
            reference, candidate = (m.to(device=self.place.device, dtype=self.type) for m in (reference, candidate))
            self.place.synchronize()
        except RuntimeError as error:
            return self.blame("runtime_error", error)
        try:
            self.record["correctness"] = self.is_correct(reference, candidate)
        except Exception as error:
            self.blame("runtime_error", error)
        self.measure(reference, candidate)

    def build(self):
        code = read(self.job["candidate"])
        try:
            exec(compile(code, "<string>", "exec"), self.names)
            self.place.synchronize()
        except SyntaxError as error:
            self.metadata.update(compilation_error_name="SyntaxError", compilation_error=shown(error))
            return False
        except Exception as error:
            self.blame("compilation_error", error)
            self.starved = is_starved(error)
            return False
        if "ModelNew" not in self.names:
            self.metadata.update(compilation_error_name="SyntaxError", compilation_error="ModelNew is not defined")
            return False
        return True

    def is_correct(self, reference, candidate):
        torch.manual_seed(self.job["seed"])
        seeds = [torch.randint(0, 2**32 - 1, (1,)).item() for _ in range(self.job["correctness_trials"])]
        passed = 0
        with torch.no_grad():
            for seed in seeds:
                self.place.seed(seed)
                inputs = self.moved(self.names["get_inputs"]())
                self.place.seed(seed)
                expected = reference(*inputs)
                self.place.synchronize()
                try:
                    found = candidate(*inputs)
                    self.place.synchronize()
                    if expected.shape != found.shape:
                        self.metadata["correctness_issue_name"] = "correctness_issue"
                        self.metadata["correctness_issue"] = (f"Output shape mismatch: Expected {expected.shape}, got {found.shape}")
                        return False
                    passed += self.agree(expected, found)
                except Exception as error:
                    self.metadata["runtime_error_traceback"] = shown(traceback.format_exc())
                    self.blame("runtime_error", error)
                    return False
        self.metadata["correctness_trials"] = f"({passed} / {len(seeds)})"
        return passed == len(seeds)

    def agree(self, expected, found):
        if torch.allclose(expected, found, atol=self.tolerance, rtol=self.tolerance):
            return True
        difference = torch.abs(expected - found)
        self.metadata.setdefault("max_difference", []).append(f"{torch.max(difference).item():.6f}")
        self.metadata.setdefault("avg_difference", []).append(f"{torch.mean(difference).item():.6f}")
        self.metadata["correctness_issue"] = "Output mismatch"
        return False

    def measure(self, reference, candidate):
        try:
            if self.record["correctness"]:
                self.record["runtime_stats"] = stats = self.times(candidate)
                self.record["runtime"] = stats["mean"]
        except Exception as error:
            self.metadata["error_during_performance"] = shown(error)
        self.record["ref_runtime_stats"] = stats = self.times(reference)
        self.record["ref_runtime"] = stats["mean"]
        if self.record["runtime"] > 0 and self.record["ref_runtime"] / self.record["runtime"] > EXCESSIVE_SPEEDUP:
            self.metadata["excessive_speedup"] = True

    def times(self, model):
        self.place.seed(self.job["seed"])
        inputs = self.moved(self.names["get_inputs"]())
        self.place.synchronize()
        return timed(self.place, lambda: model(*inputs), self.job["timing_trials"], WARM_UP_CALLS)

    def blame(self, kind, error):
        self.metadata[kind + "_name"], self.metadata[kind] = name_of(error), shown(error)


def build_ahead(job):
    """The program in a process of its own that sees no GPU: what its load_inline makes is there for the next process that
    asks for it, as after KernelBench's own builds in advance. The name and the message of a compiler's refusal; nothing also
    if it lacked memory or room, which the next process may have."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        refusal = None
        try:
            os.setpgid(0, 0)
            os.close(job["turn"])
            os.environ["CUDA_VISIBLE_DEVICES"] = ""
            names = {}
            exec(read(job["reference"]), names)
            exec(compile(read(job["candidate"]), "<string>", "exec"), names)
        except Exception as error:  # but for that, it is the evaluation that reports what is wrong
            refusal = (name_of(error), shown(error)) if REFUSED in str(error) and not is_starved(error) else None
        finally:
            os.write(theirs, json.dumps(refusal).encode())
            os._exit(0)
    os.close(theirs)
    os.waitpid(child, 0)
    end_build(child)
    os.set_blocking(ours, False)  # what the program has started may hold the other end
    try:
        return json.loads(os.read(ours, 1 << 16) or b"null")
    except BlockingIOError:
        return None


def end_build(group):
    """What it has started and not awaited, and the locks of builds that were cut off: the next process would wait for these.
    On a busy machine a process goes on for a moment after its kill."""
    with contextlib.suppress(OSError):
        os.killpg(group, signal.SIGKILL)
        deadline = time.monotonic() + LONGEST_END_S
        while time.monotonic() < deadline:
            os.killpg(group, 0)  # raises once nobody is left
            time.sleep(0.005)
    for lock in glob.glob(os.path.join(glob.escape(os.environ["TORCH_EXTENSIONS_DIR"]), "*", "lock")):
        with contextlib.suppress(OSError):
            os.remove(lock)


def evaluate(job):
    tell(job, {"stage": "compile"})
    if refusal := build_ahead(job):
        evaluation = Evaluation(job, None)
        evaluation.metadata["compilation_error_name"], evaluation.metadata["compilation_error"] = refusal
        return {"record": evaluation.record}
    os.write(job["turn"], b"built")
    os.read(job["turn"], 1)
    place = place_of(job)
    evaluation = Evaluation(job, place)
    try:
        evaluation.run()
        place.synchronize()
    except Exception as error:  # what leaves the device broken comes here as well; it is reported as by the batch driver
        evaluation.record.update(compiled=False, correctness=False, runtime=-1.0, runtime_stats={})
        evaluation.blame("cuda_error" if "CUDA error" in str(error) else "other_error", error)
    return {"record": evaluation.record, "starved": evaluation.starved}


def baseline(job, place):
    names = {}
    with torch.no_grad():
        exec(read(job["reference"]), names)
        place.seed(job["seed"])
        inputs = names["get_inputs"]()
        place.seed(job["seed"])
        arguments = names["get_init_inputs"]()
        inputs, arguments = ([x.to(place.device, TYPES[job["precision"]]) if isinstance(x, torch.Tensor) else x for x in values]
                             for values in (inputs, arguments))
        model = names["Model"](*arguments).to(device=place.device, dtype=TYPES[job["precision"]])
        place.synchronize()
        return {"stats": timed(place, lambda: model(*inputs), job["timing_trials"], WARM_UP_CALLS_OF_BASELINES)}


def timed(place, call, trials, warm_up):
    """Each call behind a flushed L2; the first one does not count."""
    for _ in range(warm_up):
        call()
        place.synchronize()
    place.release()
    times = []
    for _ in range(DISCARDED_TRIALS + trials):
        place.synchronize()
        times.append(place.time(call))
    times = times[DISCARDED_TRIALS:]
    figures = {"mean": statistics.fmean(times), "std": statistics.pstdev(times), "min": min(times), "max": max(times)}
    return {**{name: float(f"{value:.3g}") for name, value in figures.items()}, "num_trials": len(times),
            "hardware": place.hardware, "device": str(place.device)}


def place_of(job):
    return (Host if job["device"] == "cpu" else Gpu)(job["device"])


def is_starved(error):
    return any(words in str(error) for words in STARVED)


def name_of(error):
    return f"{type(error).__module__}.{type(error).__name__}"


def shown(error):
    """A compiler's message says at its end what was wrong."""
    text = str(error).encode("utf-8", "replace").decode()
    return text if len(text) <= LONGEST_TEXT else "... " + text[-LONGEST_TEXT:]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def tell(job, result):
    text = json.dumps(result).encode()
    os.ftruncate(job["result"], 0)
    os.pwrite(job["result"], text, 0)


def main():
    job = json.loads(read(sys.argv[1]))
    torch.set_printoptions(precision=4, threshold=10, edgeitems=3, linewidth=80)
    os.dup2(os.open("/dev/null", os.O_WRONLY), 1)  # what programs print is nobody's answer
    if job["mode"] == "evaluate":
        tell(job, evaluate(job))
        os._exit(0)  # a program's threads and handlers do not undo what has been reported
    try:
        place = place_of(job)
        if job["mode"] == "baseline":
            answer = baseline(job, place)
        elif missing := place.missing():
            answer = {"error": missing}
        else:
            answer = {"hardware": place.hardware, "device": str(place.device), "bus": place.bus(),
                      "architectures": place.architectures()}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {shown(error)}"}
    tell(job, answer)


if __name__ == "__main__":
    main()
