#!/usr/bin/env python3
"""The verifier beside stock PyTorch on programs that exist, at one tolerance: bench/gpu_agreement.md.

    bench/stock_agreement.py BICRL TASKS.json OUT [--limit N] [--timeout-s 300] [--device cuda:0] [--trials 5] [key.path=value ...]

TASKS: a task file whose tasks have programs (published infilling tasks). Both sides grade the same programs through `bicrl eval
--suite kernelbench`: our verifier at `tolerance: published` on the backend that the overrides name (default: gpu), and KernelBench's
own protocol (stock load_inline and nvcc in a box, a GPU) within 1e-2, absolute and relative. Results stay in OUT: the same command
goes on after an interruption; a table of the programs on which they differ follows, each with both sides' words."""
import argparse
import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
TOLERANCE = 1e-2  # that of `published`, in docs/verifier.md


def key_of(problem, sample):
    return f"{problem}/{sample}"


def write_suite(tasks, out):
    """Problems and programs in KernelBench's forms: a problem for each module, as its reference is timed once. Ids of the tasks
    by key_of() their programs."""
    programs = out / "programs"
    programs.mkdir(parents=True, exist_ok=True)
    modules = list(dict.fromkeys(task["pytorch_code"] for task in tasks))
    problems = [{"level": 1, "problem_id": at + 1, "name": f"module_{at + 1}", "pytorch_code": code} for at, code in enumerate(modules)]
    (out / "problems.json").write_text(json.dumps(problems))
    names, samples = {}, Counter()
    for at, task in enumerate(tasks):
        problem = modules.index(task["pytorch_code"]) + 1
        sample = samples[problem]
        samples[problem] += 1
        names[key_of(problem, sample)] = str(task.get("id", task.get("idx", at)))
        (programs / f"level_1_problem_{problem}_sample_{sample}_kernel.py").write_text(task["cuda_code"])
    return names


def known_records(folder):
    """key_of() a program -> its record, of this side's earlier attempts, too: an interrupted one leaves what it had graded."""
    kept = folder / "records.json"
    records = json.loads(kept.read_text()) if kept.exists() else {}
    for file in folder.glob("attempt/eval_results.json"):
        for problem, samples in json.loads(file.read_text()).items():
            # Problems without a program, and programs that the grader failed on, have records as well.
            for record in samples:
                if not {"missing", "ungraded"} & record["metadata"].keys():
                    records[key_of(problem, record["sample_id"])] = record
    new = kept.with_suffix(".tmp")
    new.write_text(json.dumps(records))
    new.replace(kept)
    return records


def grade(options, side, overrides):
    """key_of() a program -> its record, made once; goes on where it was stopped."""
    folder = options.out / side
    folder.mkdir(parents=True, exist_ok=True)
    programs = {file.name: file.read_text() for file in sorted((options.out / "programs").iterdir())}
    asked = json.dumps([overrides, programs, json.loads((options.out / "problems.json").read_text())])
    asked_file = folder / "asked.json"
    if asked_file.exists() and asked_file.read_text() != asked:
        sys.exit(f"{folder} has the results of other programs or overrides: name another folder")
    asked_file.write_text(asked)
    records = known_records(folder)
    left = folder / "programs"
    shutil.rmtree(left, ignore_errors=True)
    left.mkdir()
    for name, text in programs.items():
        _, _, _, problem, _, sample, _ = name.split("_")
        if key_of(problem, sample) not in records:
            (left / name).write_text(text)
    if any(left.iterdir()):
        command = [options.bicrl, "eval", SOURCE / "configs/kernelbench.yaml", "--suite", "kernelbench", "--level", "1", "--programs",
                   left.resolve(), f"tasks.files=['{(options.out / 'problems.json').resolve()}']",
                   f"suite.results={(folder / 'attempt').resolve()}", *overrides]
        done = subprocess.run(list(map(str, command)), check=False)
        if done.returncode:
            sys.exit(f"{side}: exit code {done.returncode}")
        records = known_records(folder)
    return records


def words(record):
    """Why it is not correct, in one line."""
    metadata = record["metadata"]
    for key in ("fault_class", "compilation_error", "cuda_error", "runtime_error", "correctness_issue", "other_error", "timeout",
                "process_ended", "memory"):
        if metadata.get(key):
            more = metadata.get("diagnostics") or (f"off by {metadata['max_difference'][0]}" if "max_difference" in metadata else "")
            line = f"{metadata[key]} {more}".split("\n")
            return " ".join(" ".join(line).split())[-160:]
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bicrl", type=Path)
    parser.add_argument("tasks", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--timeout-s", type=float, default=300)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--trials", type=int, default=5, help="comparisons of a program by KernelBench's protocol")
    parser.add_argument("overrides", nargs="*", help="of our side")
    options = parser.parse_intermixed_args()
    tasks = [task for task in json.loads(options.tasks.read_text()) if task.get("cuda_code")]
    tasks = tasks[:options.limit] if options.limit else tasks
    names = write_suite(tasks, options.out)
    ours = grade(options, "ours", ["verifier.server.protocol.tolerance=published",
                                   *(options.overrides or ["verifier.server.backend=gpu"])])
    stock = grade(options, "stock", ["suite.protocol=kernelbench", f"suite.stock.tolerance={TOLERANCE}",
                                     f"suite.stock.timeout_s={options.timeout_s}", f"suite.stock.device={options.device}",
                                     f"suite.stock.correctness_trials={options.trials}",
                                     "suite.stock.timing_trials=1"])  # times are not compared
    counts = Counter()
    print("\n| program | ours | stock | ours says | stock says |\n|---|---|---|---|---|")
    for key, name in names.items():
        pair = [records.get(key, {"metadata": {}}) for records in (ours, stock)]
        verdicts = tuple({True: "correct", False: "incorrect", None: "not graded"}[record.get("correctness")] for record in pair)
        counts[verdicts] += 1
        if verdicts != ("correct", "correct"):
            print(f"| {name} | {verdicts[0]} | {verdicts[1]} | {words(pair[0])} | {words(pair[1])} |")
    print(f"\nof {len(names)}: " + ", ".join(f"{n} {a} here and {b} there" for (a, b), n in sorted(counts.items())))


if __name__ == "__main__":
    main()
