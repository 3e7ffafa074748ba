"""The bench of whole steps on two CPU ranks: lengths, denoise steps and programs are drawn, all else is a run's."""
import json
import subprocess
import sys
from pathlib import Path

from support import BINARY, ENVIRONMENT, SOURCE, bicrl, expect, folder, read_json

BENCH = SOURCE / "bench" / "many_gpus"
sys.path.append(str(BENCH))
from host_parts import TINY  # noqa: E402


def run(script, *words):
    done = subprocess.run([sys.executable, BENCH / script, *map(str, words)], capture_output=True, text=True, cwd=SOURCE, env=ENVIRONMENT)
    return done.returncode, done.stdout, done.stderr


with folder() as temporary:
    code, out, err = bicrl("tasks", "configs/quickstart.yaml", "tasks.synthetic.train_compositions=40", "--write", f"{temporary}/synthetic")
    expect(code == 0, "synthesised tasks", code, out, err)
    code, out, err = run("bench_programs.py", f"{temporary}/data", f"{temporary}/synthetic/train.json", "--tasks", 12, "--programs", 2)
    expect(code == 0 and "12 tasks" in out, "tasks and programs of a bench", code, out, err)
    code, out, err = bicrl("init", "configs/quickstart/policy.json", f"{temporary}/weights", "--tokenizer", "configs/quickstart", "--dtype", "float32")
    expect(code == 0, "weights", code, out, err)

    whole = ["configs/dice-1.7b.yaml", f"{temporary}/weights", f"{temporary}/data", f"{temporary}/run", "--ranks", 2, "--tasks", 3, "--samples", 4,
             "--stages", "dynamic:1,static:1", "--workers", 2, "--binary", BINARY, *TINY, "run.seed=5"]
    code, out, err = run("whole_step.py", *whole, "--kill-rank", 1, "--kill-after", 0)
    expect(code == 0, "two steps on two ranks", code, out, err)
    report = read_json(Path(temporary, "run.json"))
    dynamic, static = report["steps"]
    for step in (dynamic, static):
        expect(step["groups"] == 3 and step["informative_groups"] == 3, "every group is informative", step)
        expect(0 < step["unique_correct"] <= 1 and 0.2 < step["correct_rate"] <= 0.5, "of two programs of a task one is correct", step)
        expect(step["trained_tokens"] > 0 and step["updates"] == 1, "is trained", step)
        expect(all(len(step["rank_seconds"][part]) == 2 for part in ("rollout", "verify_wait", "exchange", "train", "collectives", "step")), "by rank", step)
    expect(dynamic["tokens_per_forward"] > 1.2 * static["tokens_per_forward"], "fewer denoise steps a block than tokens", dynamic, static)
    kill = report["kill"]
    expect(set(kill["rank_ended_s"]) == {"0", "1"} and max(kill["rank_ended_s"].values()) < 60, "all ranks end with the one that is killed", kill)
    log = Path(temporary, "run.log").read_text()
    expect("THIS RUN IS A BENCH" in log, "a warning", log[-3000:])
    expect(read_json(Path(temporary, "run", "run.json"))["bench"] is True, "and a mark in run.json")
    code, out, err = run("whole_step.py", "--table", f"{temporary}/run.json")
    expect(code == 0 and out.count("\n") == 2 + 4, "a row for each step and rank", out, err)
    code, out, err = run("whole_step.py", *whole)
    expect(code == 2 and "a run lies there" in out, "its entries are not taken for those of another run", code, out, err)

    # It was killed behind a checkpoint, and goes on from there.
    code, out, err = run("whole_step.py", *whole, "--resume", 1)
    expect(code == 0, "a step of the run that was killed", code, out, err)
    report = read_json(Path(temporary, "run.resumed.json"))
    expect(report["resumed"]["steps_before"] >= 1 and len(report["steps"]) == 1 and report["steps"][0]["phase"] == "end_to_end_2", "resumed", report)
    whole[3] = f"{temporary}/fresh"
    code, out, err = run("whole_step.py", *whole, "--resume", 1)
    expect(code == 1 and "begins anew" in out, "a run without a checkpoint is not resumed", code, out, err)

    code, out, err = bicrl("train", "configs/quickstart.yaml", "--dry-run", "bench.median_tokens=9")
    expect(code == 2 and "bench.median_tokens" in out + err, "draws are refused without programs", code, out, err)
    code, out, err = bicrl("train", "configs/quickstart.yaml", f"run.directory={temporary}/other", "warm_up.steps=0", "evaluation.tasks=0",
                           f"bench.programs={temporary}/data/programs.json")
    expect(code == 2 and "no program for task" in out + err, "and tasks without a program", code, out, err)
