"""Kills a pipeline at random moments and starts the same command again until it ends; then compares every file with those of an
undisturbed run, byte for byte.

    python3 bench/curation/killed.py --program build/cpu/bin/bicrl --out build/killed [--one-verifier] [--kills 20] [--seed 1] [key=value ...]

The pipeline is configs/curation/quickstart.yaml (--pipeline), whose policy `bicrl train configs/quickstart.yaml` makes. A command lives
for a time drawn from the first half (--share) of what the undisturbed one took, so that kills are spread over the whole of it, starts
included. SIGKILL goes to the command's process group. An embedded verifier has a group of its own and ends by the SIGTERM that it gets
when its parent dies. Where a command ends before its moment, its files are compared, and the next one begins in an empty folder. The
ledger and the verifier's log are not compared: they hold answers in the order in which they came.

An embedded verifier samples new secret inputs each time it starts, so a program that is nearly correct may pass another number of trials,
killed or not. With --one-verifier all commands ask one verifier, which is not killed, and every byte must be the same. Without it records
that differ are named, with what differs in them."""
import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "bench"))
from verifier_process import running_verifier  # noqa: E402

NOT_COMPARED = ("ledger.jsonl", "verifier.log")


def files_of(run):
    return {str(p.relative_to(run)): p.read_bytes() for p in run.rglob("*") if p.is_file() and p.name not in NOT_COMPARED}


def differences(before, after, path=""):
    """Of two JSON values: the paths at which they differ."""
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return [] if before == after else [f"{path}: {json.dumps(before)} -> {json.dumps(after)}"]
    return [each for key in sorted(before.keys() | after.keys())
            for each in differences(before.get(key), after.get(key), f"{path}.{key}" if path else key)]


def records_of(content):
    return {record["id"]: record for record in map(json.loads, content.splitlines())}


class Killing:
    def __init__(self, options):
        self.options = options
        self.out = Path(options.out).resolve()
        self.run = self.out / "run"  # of both, since outputs name it
        self.random = random.Random(options.seed)
        self.killed = 0
        self.overrides = list(options.overrides)

    def start(self):
        words = [self.options.program, "curate", self.options.pipeline, f"curation.directory={self.run}", *self.overrides]
        with open(self.out / "curate.log", "a") as log:
            return subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT, cwd=SOURCE, start_new_session=True)

    def finish(self):
        """Takes the run to its end; its files."""
        if code := self.start().wait():
            sys.exit(f"the command ends with {code}: {self.out}/curate.log")
        return files_of(self.run)

    def undisturbed(self):
        begin = time.monotonic()
        files = self.finish()
        self.seconds = time.monotonic() - begin
        self.ledger_bytes = self.ledger().stat().st_size
        shutil.copytree(self.run, self.out / "undisturbed")  # to look at where something differs
        print(f"undisturbed: {self.seconds:.0f} s, {len(files)} files of {sum(map(len, files.values()))} bytes", flush=True)
        return files

    def ledger(self):
        return self.run / "ledger.jsonl"

    def kill_one(self):
        """Whether the command was still at work then."""
        process = self.start()
        moment = self.random.uniform(0, self.options.share * self.seconds)
        time.sleep(moment)
        at_work = process.poll() is None
        if at_work:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if at_work:
            self.killed += 1
            known = self.ledger().stat().st_size / self.ledger_bytes if self.ledger().exists() else 0
            print(f"kill {self.killed:2d}: {moment:4.1f} s after the start, {known:4.0%} of the ledger", flush=True)
        elif process.returncode:
            sys.exit(f"the command ends with {process.returncode}: {self.out}/curate.log")
        return at_work

    def compare(self, expected):
        found = self.finish()
        different = sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))
        print(f"{len(expected) - len(different)} of {len(expected)} files are the same after {self.killed} kills", *different, flush=True)
        for name in different:
            if name.startswith("records/") and name in found and name in expected:
                before, after = records_of(expected[name]), records_of(found[name])
                for record in sorted(before.keys() | after.keys()):
                    for difference in differences(before.get(record), after.get(record)):
                        print(f"  {record}: {difference}", flush=True)
        return not different

    def work(self):
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir(parents=True)
        expected = self.undisturbed()
        records = json.loads(expected["card.json"])["records"]
        begin, runs, same = time.monotonic(), 0, True
        while self.killed < self.options.kills:
            shutil.rmtree(self.run)
            runs += 1
            while self.killed < self.options.kills and self.kill_one():
                pass
            same &= self.compare(expected)
        print(f"{self.killed} kills in {runs} runs to {records} records, {time.monotonic() - begin:.0f} s: "
              f"{'the same bytes' if same else 'other bytes'}")
        return 0 if same else 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True, type=lambda path: str(Path(path).resolve()))
    parser.add_argument("--out", required=True)
    parser.add_argument("--pipeline", default="configs/curation/quickstart.yaml")
    parser.add_argument("--one-verifier", action="store_true", help="that all commands ask, and that is not killed")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--share", type=float, default=0.5, help="of the undisturbed run's time, the longest that a command lives")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("overrides", nargs="*", help="of the pipeline")
    options = parser.parse_args()
    if not options.one_verifier:
        return Killing(options).work()
    with running_verifier(options.program) as address:
        options.overrides.append(f"verifier.addresses=[{address}]")
        return Killing(options).work()


if __name__ == "__main__":
    sys.exit(main())
