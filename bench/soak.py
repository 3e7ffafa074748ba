"""Trains for an hour and watches what must not grow: resident memory, descriptors, processes and disk of every part of a
run, and the seconds of a step.

    python3 bench/soak.py --program build/cpu/bin/bicrl --out build/soak [--minutes 60] [--ranks 1] [key.path=value ...]

Prints a table of the run's tenths; the first tenth after the warm-up is what the others are compared with."""
import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import time
from pathlib import Path

from process_tree import children_of

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def kind_of(pid):
    words = Path("/proc", str(pid), "cmdline").read_bytes().split(b"\0")
    if b"train" in words[1:2]:
        return "rank"
    if b"verifier" in words[1:2]:
        return "verifier"
    return "boxes"


def disk_bytes(folder):
    return sum(p.stat().st_blocks * 512 for p in Path(folder).rglob("*") if p.is_file() and not p.is_symlink())


def sample(launcher, run, scratch):
    figures = {"processes": 0}
    for kind in ("rank", "verifier", "boxes"):
        figures[f"{kind}_mb"] = figures[f"{kind}_descriptors"] = 0
    for pid in children_of(launcher):
        try:
            kind = kind_of(pid)
            figures[f"{kind}_mb"] += int(Path("/proc", str(pid), "statm").read_text().split()[1]) * PAGE_BYTES / 1e6
            figures[f"{kind}_descriptors"] += len(os.listdir(f"/proc/{pid}/fd"))
            figures["processes"] += 1
        except OSError:
            pass
    try:
        figures["checkpoints_mb"] = disk_bytes(f"{run}/checkpoints") / 1e6
        figures["logs_mb"] = (disk_bytes(run) - disk_bytes(f"{run}/checkpoints")) / 1e6
        figures["scratch_mb"] = disk_bytes(scratch) / 1e6
    except OSError:
        pass  # a checkpoint was renamed meanwhile
    return figures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("overrides", nargs="*", help="of the configuration")
    arguments = parser.parse_args()
    out = Path(arguments.out)
    shutil.rmtree(out, ignore_errors=True)
    (out / "scratch").mkdir(parents=True)
    run = out / "run"
    # Infilling is left out and the learning rate kept small, so that steps differ little.
    words = [arguments.program, "train", "configs/quickstart.yaml", f"run.directory={run}",
             f"verifier.server.scratch={out}/scratch", "evaluation.tasks=0", "stages.0.steps=0", "stages.2.steps=0", "stages.1.steps=1000000",
             "stages.1.update.learning_rate=1.0e-5", *arguments.overrides]
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    with open(out / "run.log", "w") as log:
        launcher = subprocess.Popen(["mpirun", "-np", str(arguments.ranks), "--bind-to", "none", "--oversubscribe", *words],
                                    stdout=log, stderr=subprocess.STDOUT, env=environment)
    samples, begin = [], time.time()
    with open(out / "samples.jsonl", "w") as file:
        while time.time() - begin < 60 * arguments.minutes and launcher.poll() is None:
            time.sleep(10)
            samples.append({"at_s": time.time() - begin, **sample(launcher.pid, run, out / "scratch")})
            file.write(json.dumps(samples[-1]) + "\n")
            file.flush()
    if launcher.poll() is not None:
        raise SystemExit(f"the run ended early; see {out}/run.log")
    launcher.send_signal(signal.SIGINT)
    launcher.wait()
    steps = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    trained = [s for s in steps if s["phase"] != "warm_up"]
    warm = sum(s["step_seconds"] for s in steps if s["phase"] == "warm_up")
    samples = [s for s in samples if s["at_s"] > warm + 30]
    print(f"{len(trained)} steps in {arguments.minutes:.0f} minutes, {sum(s['responses'] for s in trained)} responses")
    names = [n for n in samples[0] if n != "at_s"]
    print("tenth  " + "  ".join(f"{n:>20}" for n in names) + "    step_s  unique/step")
    for tenth in range(10):
        part = samples[tenth * len(samples) // 10:(tenth + 1) * len(samples) // 10]
        some = trained[tenth * len(trained) // 10:(tenth + 1) * len(trained) // 10]
        figures = [f"{statistics.median(s[n] for s in part if n in s):20.1f}" for n in names]
        print(f"{tenth + 1:5d}  " + "  ".join(figures) + f"  {statistics.median(s['step_seconds'] for s in some):8.2f}"
              f"  {statistics.mean(s['unique_programs'] for s in some):11.1f}")


if __name__ == "__main__":
    main()
