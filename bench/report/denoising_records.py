"""What the records of denoised responses cost (bench/denoising_records.md): the quickstart's steps of reinforcement, once as they are, then
replayed without generating or verifying, in turns with no kept text and with all of them.

    denoising_records.py BICRL WARM_UP_CHECKPOINT [ROUNDS]

In a replay the records are a larger share of a shorter step, so that its difference stands out from what equal runs differ by.
"""
import gzip
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STAGES = ["warm_up.steps=0", "evaluation.tasks=0", "stages.0.steps=1", "stages.1.steps=1", "stages.2.steps=0", "run.checkpoint_every_s=0"]


def user_seconds(bicrl, *words):
    """Of the launcher and all that it waited for; and the seconds on the wall."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime, time.monotonic()
    subprocess.run(["mpirun", "--allow-run-as-root", "-np", "2", "--bind-to", "none", "--oversubscribe", bicrl, "train", "configs/quickstart.yaml",
                    *STAGES, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, time.monotonic() - begin


def compressed_bytes(run):
    """Of all kept texts, with and without the denoising records."""
    responses = whole = without = 0
    for file in (run / "texts").glob("*.gz"):
        lines = gzip.decompress(file.read_bytes()).splitlines()
        responses += len(lines)
        whole += len(gzip.compress(b"\n".join(lines)))
        entries = [json.loads(line) for line in lines]
        for entry in entries: del entry["denoising"]
        without += len(gzip.compress("\n".join(json.dumps(e, separators=(",", ":"), ensure_ascii=False) for e in entries).encode()))
    return responses, whole, without


def main(bicrl, checkpoint, rounds=5):
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        full = folder / "full"
        seconds, wall = user_seconds(bicrl, f"policy.checkpoint={checkpoint}", f"run.directory={full}", "run.keep_texts=all",
                                     "run.save_rollouts=true")
        steps = sum("responses" in json.loads(line) for line in (full / "metrics.jsonl").read_text().splitlines())
        print(f"whole steps: {seconds / steps:.2f} s of user time a step, {wall / steps:.2f} s on the wall, {steps} steps", flush=True)
        responses, whole, without = compressed_bytes(full)
        print(f"{responses} responses, compressed: {whole / responses:.0f} bytes each, {(whole - without) / responses:.0f} of them for denoising", flush=True)
        replay = ["replay.only=updates", f"replay.rollouts={full}", f"replay.verdicts={full}", f"policy.checkpoint={checkpoint}"]
        kinds = {"none": ["run.keep_texts=sampled", "run.samples_per_step=0"], "all": ["run.keep_texts=all"]}
        taken = {name: [] for name in kinds}
        for turn in range(rounds):
            for name, words in kinds.items():
                taken[name].append(user_seconds(bicrl, *replay, f"run.directory={folder / name}-{turn}", *words)[0] / steps)
                print(f"  {name}: {taken[name][-1]:.3f} s", flush=True)
        for name, each in taken.items():
            difference = statistics.median(each) - statistics.median(taken["none"])
            print(f"replay, {name}: median {statistics.median(each):.3f} s of user time a step, {min(each):.3f} to {max(each):.3f}; "
                  f"{1000 * difference:+.0f} ms, {100 * difference * steps / seconds:+.2f} % of a whole step")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), *map(int, sys.argv[3:]))
