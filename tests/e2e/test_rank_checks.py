"""Ranks of different programs end at once, and say which rank on which host it is."""
import os
import shutil
import subprocess
import time
from pathlib import Path

from support import BINARY, ENVIRONMENT, IMPATIENT, MPIRUN, SOURCE, expect, folder

WORDS = ["sft", "tests/data/small_run.yaml", "evaluation.tasks=0", "warm_up.steps=1", "warm_up.samples_per_step=2",
         "tasks.synthetic.train_compositions=8"]


def two_programs(other, *words):
    begin = time.monotonic()
    done = subprocess.run([*MPIRUN, "-np", "1", BINARY, *WORDS, *words, ":", "-np", "1", other, *WORDS, *words], capture_output=True,
                          text=True, cwd=SOURCE, env={**ENVIRONMENT, **IMPATIENT}, timeout=300)
    return done, time.monotonic() - begin


with folder() as temporary:
    # A copy that differs by a byte behind the end of the program.
    built, copy = Path(BINARY).parent.parent, Path(temporary, "copy")
    (copy / "bin").mkdir(parents=True)
    for part in ("lib", "share"):
        os.symlink(built / part, copy / part)
    program = copy / "bin" / "bicrl"
    shutil.copy2(BINARY, program)
    with open(program, "ab") as end:
        end.write(b"\0")
    done, seconds = two_programs(program, f"run.directory={temporary}/run")
    expect(done.returncode == 2 and "rank 1 on host" in done.stderr and "run different programs" in done.stderr, "another program is told", done)
    expect(not Path(temporary, "run").exists(), "before anything is written")
    print(f"another program: ended after {seconds:.1f} s")
    shutil.copy2(BINARY, program)
    done, _ = two_programs(program, f"run.directory={temporary}/run")
    expect(done.returncode == 0, "a copy is the same program", done)
print("ranks that do not belong together")
