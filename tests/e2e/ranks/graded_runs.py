"""Small runs of an untrained policy whose programs a hash grades, and what of two of them has to be the same."""
import hashlib
import time
from pathlib import Path

from grading_server import GradingServer
from support import bicrl, expect, read_lines, reproducible

ROUND, SAMPLES = 4, 4
REWARD = "rule: binary\ncorrect: 1\nincorrect: 0\ntruncated: score\n"  # a fresh policy's responses do not end


def settings(steps):
    return ["tasks.synthetic.train_compositions=16", "tasks.synthetic.development_compositions=4", "tasks.synthetic.max_length=2",
            "warm_up.steps=0", f"stages.0.steps={steps}", f"stages.0.tasks_per_step={ROUND}", f"stages.0.samples_per_task={SAMPLES}",
            "stages.1.steps=0", "evaluation.tasks=0", "rollout.max_new_tokens=16", "stages.0.update.learning_rate=1e-3",
            # One response in a forward, as how many share one follows from the number of ranks that generate.
            "rollout.max_active=1", "stages.0.update.responses_per_update=5", "curation.repair.probability=0.2",
            # A checkpoint after every step, which is there before the next one begins.
            "run.checkpoint_every_s=0.000001", "run.checkpoint_in_background=false"]


class PartialGrader(GradingServer):
    """Half of the tasks are never solved. Answers no more of a run once that has done so many steps and asked so often after them."""

    def __init__(self):
        self.waiting_run = None
        super().__init__()

    def is_correct(self, task, program):
        return hashlib.sha256(task.encode()).digest()[0] % 2 == 0 and super().is_correct(task, program)

    def wait_behind(self, run, steps, asked):
        self.waiting_run, self.steps, self.asked = run, steps, asked

    def Verify(self, request, context):
        if self.waiting_run and steps_done(self.waiting_run) >= self.steps:
            self.asked -= 1
            while self.asked < 0 and self.waiting_run and context.is_active():
                time.sleep(0.01)
        return super().Verify(request, context)


def words(run, small, *overrides):
    return ["train", "tests/data/small_run.yaml", f"run.directory={run}", *small, *overrides]


def done(what, arguments, ranks=2):
    code, out, err = bicrl(*arguments, ranks=ranks)
    expect(code == 0, what, out, err)
    return out


def steps_done(run):
    file = Path(run, "metrics.jsonl")
    return file.read_text().count("\n") if file.exists() else 0


def steps(run, *without):
    return [{k: v for k, v in reproducible(step).items() if k not in without} for step in read_lines(f"{run}/metrics.jsonl")]


def weights(run):
    return [hashlib.sha256(Path(run, "checkpoints/infilling", name).read_bytes()).hexdigest()
            for name in ("model.safetensors", "trainer/optimizer.safetensors")]


TRACED = ("weights and optimizer", "metrics", "responses")


def trace(run, *without):
    return weights(run), steps(run, *without), Path(run, "responses.jsonl").read_text()


def same(what, run, other, *without):
    for name, found, expected in zip(TRACED, trace(run, *without), trace(other, *without)):
        expect(found == expected, f"the same {name} {what}", found, expected)
