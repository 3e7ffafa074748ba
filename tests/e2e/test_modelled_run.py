"""A run whose reward is correctness and modelled speed-up: what its evaluations keep, the best of several samples, the
adaptive curriculum and the advantage of the best of k; the same bits after a stop; known programs of a task in the warm-up."""
import json
import os
import signal
import subprocess
import time
from pathlib import Path

from support import BINARY, ENVIRONMENT, QUICKSTART_POLICY, SOURCE, bicrl, expect, folder, one_verifier, patient, read_json, read_lines, reproducible

TASKS = "tasks.synthetic={train_compositions: 6, development_compositions: 4, max_length: 2, costing_bytes: 1048576, families: {stencil: 0}}"
SMALL = ["reward=configs/rewards/modelled_speedup.yaml", "run.checkpoint_every_s=0.2", "evaluation.tasks=4",
         "evaluation.best_of={tasks: 2, samples: 3}"]
STAGE = ("{stage: end_to_end, steps: 4, tasks_per_step: 3, samples_per_task: 4, advantage: max_at_k, advantage_k: 2,"
         " curriculum: {kind: adaptive}, update: {learning_rate: 1.0e-4, tokens_per_pack: 2048}}")


def words(run, *more):
    return ["train", "tests/data/small_run.yaml", f"run.directory={run}", QUICKSTART_POLICY, *SMALL, "warm_up.steps=80", "warm_up.infilling_share=0",
            "warm_up.update.learning_rate=2.0e-3", "warm_up.update.learning_rate_decay=cosine", "warm_up.update.min_learning_rate=1.0e-4",
            f"stages=[{STAGE}]", *more]


with folder() as temporary:
    code, out, err = bicrl("tasks", "tests/data/small_run.yaml", TASKS, "--write", f"{temporary}/tasks")
    expect(code == 0, "tasks", out, err)
    # What it is asked is what it has seen, so that a small policy is right now and then.
    SMALL.append(f"tasks={{prompt_style: compact, train: [{temporary}/tasks/train.json], held_out: [{temporary}/tasks/train.json], allow_overlap: true}}")
    run = f"{temporary}/run"
    code, out, err = bicrl(*words(run, *patient(60)))
    expect(code == 0, "the run ends well", out, err)
    steps = read_lines(f"{run}/metrics.jsonl")
    rates = [s["learning_rate"] for s in steps if s["phase"] == "warm_up"]
    expect(max(rates) == 2.0e-3 and 1.0e-4 <= rates[-1] < 1.1e-4, "the warm-up ends at its least learning rate", rates[-3:])
    for step in steps[80:]:
        expect(0 <= step["unique_correct"] <= 4 and step["entropy"] >= 0, "distinct correct programs and entropy", step)
        expect(0 <= step["novel_rate"] <= step["correct_rate"], "novel techniques are counted among correct programs", step)
        expect("modelled_speedup" in step["reward_terms"], "the reward is a modelled one", step)
    expect(" a group" in out, "the step's line tells them", out)
    expect(any(json.loads(line)["advantage_k"] == 2 for line in Path(run, "responses.jsonl").read_text().splitlines()), "k is kept")

    # What evaluations keep is what the table counts.
    held_out = read_json(f"{run}/summary.json")["held_out"]
    for name in ("warm_up", "end_to_end"):
        kept = read_lines(f"{run}/evaluations/{name}.jsonl")
        expect(len(kept) == 4 and len({r["task_id"] for r in kept}) == 4, "a line for each task", kept)
        expect(sum(r["correct"] for r in kept) == round(4 * held_out[name]["correct_rate"]), f"{name}: the correct ones", kept)
        for r in kept:
            expect((r["verdict"] == "correct") == r["correct"] and r["tokens"] > 0 and r["program"], "a whole line", r)
            if r["correct"]:
                expect(r["clock"] == "model" and r["speedup"] > 0 and r["bound_by"], "with its modelled time", r)
                expect(abs(r["speedup"] - r["eager_ms"] / r["candidate_ms"]) < 1e-9, "over eager", r)
    best = held_out["end_to_end"]["best_of"]
    expect("best_of" not in held_out["warm_up"], "the best of several at the end alone", held_out)
    kept = read_lines(f"{run}/evaluations/end_to_end_best_of.jsonl")
    expect([r["sample"] for r in kept] == [0, 1, 2] * 2 and best["tasks"] == 2 and best["samples"] == 3, "three samples each", kept)
    solved = {r["task_id"] for r in kept if r["correct"]}
    expect(best["correct_rate"] == len(solved) / 2, "a task counts if one sample is right", best, kept)
    expect("best of 3 samples" in out and "after warm_up" in out, "the tables", out)
    # TensorBoard has evaluations, too, and one axis over all phases.
    events = b"".join(path.read_bytes() for path in Path(run).rglob("*tfevents*"))
    for tag in (b"held_out/correct_rate", b"held_out_best_of/correct_rate", b"step/reward", b"responses/rewards"):
        expect(tag in events, f"{tag} is a tag", len(events))
    expect(b"end_to_end/reward" not in events, "tags are not divided by phase")
    if held_out["warm_up"]["timed"] > 0:
        expect("gained most" in out or "no held-out task was right both" in out, "one program, before and after", out)

    # Stopped and gone on with: the same bits, also by another verifier.
    SMALL.extend(one_verifier())
    process = subprocess.Popen([BINARY, *words(f"{temporary}/again")], cwd=SOURCE, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line.startswith("end_to_end 2/"):
            process.send_signal(signal.SIGKILL)
            break
    process.stdout.read()
    process.wait()
    code, out_again, err = bicrl(*words(f"{temporary}/again"))
    expect(code == 0, "the run goes on", out_again, err)
    expect([reproducible(s) for s in read_lines(f"{temporary}/again/metrics.jsonl")] == [reproducible(s) for s in steps], "with the same metrics")
    for file in ("warm_up.jsonl", "end_to_end.jsonl", "end_to_end_best_of.jsonl"):
        expect(Path(run, "evaluations", file).read_bytes() == Path(temporary, "again/evaluations", file).read_bytes(), f"{file}: the same bytes")
    code, out, err = bicrl("rescore", run, "--reward", "configs/rewards/binary.yaml")
    expect(code == 0 and "end_to_end" in out, "its rewards can be scored again", out, err)
    code, out, err = bicrl("rescore", run, "--reward", "configs/rewards/speedup.yaml")
    correct = sum(entry["reward"] > 0 for line in read_lines(f"{run}/responses.jsonl") for entry in line["responses"])
    expect(correct > 0, "some responses are correct")
    expect(code == 0 and "timed by another clock than 'measured'" in out + err, "a clock that verdicts lack is named", out, err)

    # A run that cannot keep them says so before it starts.
    blocked = Path(temporary, "blocked")
    plain = STAGE.replace("steps: 4", "steps: 1, reward: configs/rewards/binary.yaml")
    stages = f"stages=[{plain}, {STAGE.replace('steps: 4', 'steps: 0')}]"
    code, out, err = bicrl(*words(str(blocked), "warm_up.steps=1", stages, "evaluation.best_of=null"))
    expect(code == 0, "a short run", out, err)
    expect(read_lines(blocked / "metrics.jsonl")[-1]["clock"] == "model", "times are called modelled where a stage's own reward uses none, too")
    fresh = Path(temporary, "fresh")
    fresh.mkdir()
    for file in ("run.json", "config.yaml", "reward.yaml"):
        (fresh / file).write_bytes((blocked / file).read_bytes().replace(b"true", b"false") if file == "run.json" else (blocked / file).read_bytes())
    (fresh / "evaluations").write_text("in the way")
    code, out, err = bicrl("train", str(blocked / "config.yaml"), f"run.directory={fresh}")
    expect(code != 0 and "evaluations" in err and "warm_up 1/1" not in out, "what is in the way is named at the start", out, err)

    # Known programs of a task. Imitating the best ones alone is what a task with these as its own gives.
    tasks = [t for t in read_json(f"{temporary}/tasks/train.json") if t.get("middle")]
    for task in tasks:
        task["composition"] = []
        task.pop("alternatives", None)
    def program_of(task, word):
        known = {key: task[key] for key in ("prefix", "suffix")}
        known["middle"] = task["middle"] + f"// {word}\n"
        return {**known, "cuda_code": known["prefix"] + known["middle"] + known["suffix"]}
    several = [{**t, "alternatives": [{"technique": "slow", **program_of(t, "slow")}, program_of(t, "fast")]} if i else t for i, t in enumerate(tasks)]
    fastest = [{**t, **program_of(t, "fast")} if i else t for i, t in enumerate(tasks)]
    for name, content in (("several", several), ("fastest", fastest), ("plain", tasks)):
        Path(temporary, f"{name}.json").write_text(json.dumps(content))

    def losses(name, programs, *more):
        run = f"{temporary}/{name}-{programs}"
        code, out, err = bicrl("sft", "tests/data/small_run.yaml", f"run.directory={run}", f"tasks={{prompt_style: compact, train: [{temporary}/{name}.json]}}",
                               f"warm_up.programs={programs}", "warm_up.steps=8", "warm_up.samples_per_step=4", "evaluation.tasks=0", *more)
        expect(code == 0, f"{name}, {programs}: ends well", out, err)
        return [reproducible(s) for s in read_lines(f"{run}/metrics.jsonl")]

    first = losses("several", "first")
    expect(first == losses("plain", "first"), "first: alternatives are left alone")
    best = losses("several", "best")
    expect(best == losses("fastest", "first") and best != first, "best: the last alternative, or the program itself")
    every = losses("several", "all")
    expect(every not in (first, best), "all: other draws")
    expect(losses("plain", "all") == first, "all of one is that one")
print("modelled rewards, kept evaluations and known programs work")
