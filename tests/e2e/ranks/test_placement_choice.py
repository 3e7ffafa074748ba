"""`trainer.placement: auto`: where verdicts take longer than an update, two ranks divide the work after their first steps, and a run that is
killed after that goes on as it was decided."""
import hashlib
import json
import shutil
import time
from pathlib import Path

from graded_runs import REWARD
from grading_server import GradingServer
from support import bicrl, expect, folder, killed, read_json, read_lines, reproducible

RANKS = 2
TASKS = ["tasks.synthetic.train_compositions=8", "tasks.synthetic.development_compositions=4", "tasks.synthetic.max_length=2"]
# Several epochs, so that an update takes its time.
SMALL = [*TASKS, "warm_up.steps=0", "stages.0.steps=6", "stages.0.tasks_per_step=4", "stages.0.samples_per_task=4", "stages.0.update.epochs=4",
         "stages.0.update.learning_rate=1e-3", "stages.1.steps=0", "evaluation.tasks=0", "rollout.max_new_tokens=16",
         "run.checkpoint_every_s=0.01", "trainer.placement=auto"]


class SlowGrader(GradingServer):
    """Verdicts take twice as long as the update before them, on whatever machine: ranks that wait for them could train meanwhile."""

    run = None

    def Verify(self, request, context):
        file = Path(self.run, "metrics.jsonl") if self.run else None
        steps = file.read_text().split("\n")[:-1] if file and file.exists() else []  # whole lines
        time.sleep(2 * json.loads(steps[-1])["train_seconds"] if steps else 0)
        return super().Verify(request, context)


def words(run, *overrides):
    return ["train", "tests/data/small_run.yaml", f"run.directory={run}", *SMALL, *overrides]


def steps_done(run):
    file = Path(run, "metrics.jsonl")
    return file.read_text().count("\n") if file.exists() else 0


def trace(run):
    checkpoint = Path(run, "checkpoints/infilling")
    files = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in checkpoint.rglob("*.safetensors")}
    return files, [reproducible(step) for step in read_lines(f"{run}/metrics.jsonl")], Path(run, "responses.jsonl").read_text()


def generators(run):
    """Of the newest checkpoint; None before the choice."""
    states = sorted(Path(run, "checkpoints").glob("infilling*/trainer/state.json"), key=lambda file: file.stat().st_mtime)
    return read_json(states[-1]).get("placement", {}).get("generators") if states else None


def until_split(run, start):
    """The choice goes by times, and a burst of load in an update spoils them: then the run begins anew. Returns what `start` does."""
    for _ in range(4):
        shutil.rmtree(run, ignore_errors=True)
        grader.run = run
        result = start()
        if generators(run) == 1:
            break
    return result


with folder() as temporary:
    Path(temporary, "reward.yaml").write_text(REWARD)
    grader = SlowGrader()
    common = [f"reward={temporary}/reward.yaml", f"verifier.addresses=[{grader.address}]"]
    moved = [*common, "trainer.max_staleness=1"]
    whole, interrupted = f"{temporary}/whole", f"{temporary}/interrupted"
    code, out, err = until_split(whole, lambda: bicrl(*words(whole, *moved), ranks=RANKS))
    expect(code == 0, "the run ends", code, out, err)
    expect("trainer.placement: auto is split with 1 that generate: forecast" in out + err, "it says what it chose, and why", out, err)
    expect("of which the last 1 only generate" in out + err, "and goes on so", out, err)
    steps = read_lines(f"{whole}/metrics.jsonl")
    expect([step["step"] for step in steps] == [1, 2, 3, 4, 5, 6], "no step is lost or done twice", steps)
    state = read_json(f"{whole}/checkpoints/infilling/trainer/state.json")
    expect(state["placement"] == {"ranks": 2, "generators": 1}, "the choice is kept", state)

    until_split(interrupted, lambda: killed(words(interrupted, *moved), RANKS, lambda: steps_done(interrupted) >= 5))
    expect(generators(interrupted) == 1, "it is killed behind the choice")
    grader.run = None  # by these times the choice would be another one
    code, out, err = bicrl(*words(interrupted, *moved), ranks=RANKS)
    expect(code == 0 and "auto is" not in out + err, "what was decided stays", code, out, err)
    expect("of which the last 1 only generate" in out + err, "and the run goes on with it", out, err)
    for name, left, right in zip(("weights and optimizer", "metrics", "responses"), trace(interrupted), trace(whole)):
        expect(left == right, f"the same {name}", left, right)

    # Nothing to decide: without staleness, and on one rank.
    for ranks, overrides in ((RANKS, []), (None, ["trainer.max_staleness=1"])):
        code, out, err = bicrl(*words(f"{temporary}/{ranks}", *common, "stages.0.steps=4", *overrides), ranks=ranks)
        expect(code == 0 and "only generate" not in out + err, f"ranks stay together with {overrides}", code, out, err)
        expect(("would take turns" in out + err) == (ranks is not None), "and says why", out, err)
    code, out, err = bicrl(*words(f"{temporary}/refused", *common, "trainer.generator_ranks=1"), ranks=RANKS)
    expect(code == 2 and "which chooses it" in out + err, "a number beside it is refused", code, out, err)
print("ranks divide the work as their first steps say")
