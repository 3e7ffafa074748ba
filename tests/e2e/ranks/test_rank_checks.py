"""Ranks of different programs end at once, and say which rank on which host it is; so do those whose launcher MPI does not
understand; a rank that is bound to a core is reported."""
import os
import shutil
import subprocess
import time
from pathlib import Path

from support import BINARY, ENVIRONMENT, IMPATIENT, MPIRUN, SOURCE, bicrl, expect, folder

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

    # A launcher that MPI does not understand starts so many runs of one rank.
    generate = Path(temporary, "generate.yaml")
    generate.write_text(f"policy: {{config: configs/quickstart/policy.json, tokenizer: configs/quickstart}}\nprompts: {generate}\n"
                        f"output: {temporary}/out.jsonl\n")
    alone = [*WORDS, f"run.directory={temporary}/alone"]
    for variable, count in (("SLURM_STEP_NUM_TASKS", "4"), ("MV2_COMM_WORLD_SIZE", "2"), ("FLUX_JOB_SIZE", "2")):
        for words in (alone, [*alone, "--dry-run"], ["generate", generate]):
            code, out, err = bicrl(*words, more_environment={variable: count})
            expect(code == 2 and f"{variable}={count}" in err and "mpirun -np N" in err, f"{variable}: refused", words, code, out, err)
            expect(not Path(temporary, "alone").exists(), "before anything is written")
    code, out, err = bicrl(*alone, "--dry-run", more_environment={"SLURM_STEP_NUM_TASKS": "1"})
    expect(code == 0, "one task is one rank", code, out, err)
    code, out, err = bicrl(*alone, "--dry-run", ranks=2, more_environment={"SLURM_STEP_NUM_TASKS": "4"})
    expect(code == 0, "mpirun within a step of another size", code, out, err)

    # mpirun binds one or two ranks to a core each unless an option says otherwise.
    for flags, is_bound in ((["--bind-to", "core"], True), (["--bind-to", "none"], False)):
        done = subprocess.run(["mpirun", *flags, "-np", "1", BINARY, *WORDS, f"run.directory={temporary}/bound-{is_bound}"],
                              capture_output=True, text=True, cwd=SOURCE, env={**ENVIRONMENT, **IMPATIENT}, timeout=300)
        if is_bound and (done.returncode != 0 or len(os.sched_getaffinity(0)) == 1):
            print("left out: mpirun cannot bind here")
            continue
        expect(done.returncode == 0 and ("is bound to 1 of its launcher's" in done.stderr) == is_bound, f"bound: {is_bound}", done)
print("ranks that do not belong together")
