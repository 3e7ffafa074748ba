"""A disk that fills up at whatever write: the run names the file and ends, and once there is room the same command goes on to
the same weights."""
import hashlib
import os
import subprocess
import sys
from pathlib import Path

from support import QUICKSTART_POLICY, SKIPPED, bicrl, expect, folder, one_verifier

STAGE = ["steps=2", "tasks_per_step=4", "samples_per_task=2"]
SMALL = [QUICKSTART_POLICY,  # whose checkpoints take 11 MB
         "warm_up.steps=4", "evaluation.tasks=2", "run.checkpoint_every_s=0.01", "run.save_rollouts=true",
         *[f"stages.{i}.{key}" for i in (0, 1) for key in STAGE]]


def train(run):
    return bicrl("train", "tests/data/small_run.yaml", f"run.directory={run}", *SMALL, ranks=2)


def trace(run):
    return [hashlib.sha256(Path(run, name).read_bytes()).hexdigest()
            for name in ("responses.jsonl", "checkpoints/end_to_end/model.safetensors",
                         "checkpoints/end_to_end/trainer/optimizer.safetensors")]


with folder() as temporary:
    disk = Path(temporary, "disk")
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=40m", "none", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        print("skipped: making a small disk needs the right to mount one")
        sys.exit(SKIPPED)
    try:
        SMALL.extend(one_verifier())
        code, out, err = train(f"{temporary}/whole")
        expect(code == 0, "a run with room", out, err)
        # The first checkpoint that does not fit, a later one, and logs with a page to spare.
        used = sum(p.stat().st_size for p in Path(temporary, "whole").rglob("*") if p.is_file())
        for size_kb in (8_000, 30_000, used // 1024 - 8_000):
            subprocess.run(["mount", "-o", f"remount,size={size_kb}k", str(disk)], check=True)
            code, out, err = train(disk / "run")
            expect(code == 1, f"{size_kb} kB do not suffice", code, out, err)
            # Before a checkpoint is begun, or at a write of something else.
            expect(("MB left" in err or "No space left on device" in err) and str(disk) in err, "says what could not be written", err)
        # The rest of the disk taken by somebody else, to the last byte.
        full = os.statvfs(disk)
        subprocess.run(["mount", "-o", f"remount,size={full.f_blocks * full.f_bsize // 1024 + 256}k", str(disk)], check=True)
        with open(disk / "filler", "wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(4096))
            except OSError:
                pass
        code, out, err = train(disk / "run")
        expect(code == 1 and ("MB left" in err or "No space left on device" in err), "not a byte to spare", code, out, err)
        (disk / "filler").unlink()
        subprocess.run(["mount", "-o", "remount,size=200m", str(disk)], check=True)
        code, out, err = train(disk / "run")
        expect(code == 0, "goes on once there is room", out, err)
        expect(trace(disk / "run") == trace(f"{temporary}/whole"), "as if the disk had had room", trace(disk / "run"))
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)
print("a disk that fills up at any write")
