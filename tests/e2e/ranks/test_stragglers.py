"""A run gives up verdicts that straggle: their responses are masked, and a run that is killed after that (or between the ledger's
line and the update) and goes on with a quick verifier ends with the weights of the run that nothing happened to."""
import hashlib
import json
import shutil
import threading
import time
from pathlib import Path

from grading_server import GradingServer
from support import bicrl, expect, folder, killed, read_lines, reproducible

RANKS = 2
EVERYTHING = type("Everything", (), {"__contains__": lambda *_: True})()
HELD = 4  # so many programs get no answer the first time that they are asked about
TASKS = ["tasks.synthetic.train_compositions=8", "tasks.synthetic.development_compositions=4", "tasks.synthetic.max_length=2"]
SMALL = [*TASKS, "warm_up.steps=0", "stages.0.steps=2", "stages.0.tasks_per_step=4", "stages.0.samples_per_task=4",
         "stages.1.steps=0", "evaluation.tasks=0", "rollout.max_new_tokens=16", "run.checkpoint_every_s=0", "run.save_rollouts=true", "run.max_unverified_share=1",
         "verifier.deadline_s=600", "verifier.attempt_s=600", "stages.0.update.learning_rate=1e-3"]
REWARD = "rule: binary\ncorrect: 1\nincorrect: 0\ntruncated: score\n"  # a fresh policy's responses do not end


class Grader(GradingServer):
    """While it holds, chosen programs get no answer the first time."""

    def __init__(self):
        self.lock = threading.Lock()
        self.begin()
        super().__init__()

    def begin(self, chosen=None, holds=True):
        """Of a run: the programs to hold are `chosen`, or the first that come of as many tasks."""
        with self.lock:
            self.asked, self.chosen, self.held, self.holds = set(), chosen, set(), holds

    def is_new(self, task):
        # One of each group: of one group alone all rewards may be alike, and what is masked there shapes nothing.
        return len(self.held) < HELD and all(task != other for other, _ in self.held)

    def Verify(self, request, context):
        content = (request.task.id, request.program)
        with self.lock:
            first = content not in self.asked
            held = self.holds and first and (self.is_new(request.task.id) if self.chosen is None else content in self.chosen)
            self.asked.add(content)
            if held:
                self.held.add(content)
        while held and context.is_active():
            time.sleep(0.01)
        return super().Verify(request, context)


def words(run, *overrides):
    return ["train", "tests/data/small_run.yaml", f"run.directory={run}", *SMALL, *overrides]


def done(what, run, *overrides):
    code, out, err = bicrl(*words(run, *overrides), ranks=RANKS)
    expect(code == 0, what, out, err)
    return out + err


def ledgers(run):
    return sorted(Path(run, "ledger").glob("rank-*.jsonl"))


def masked(run):
    """(step, group, sample, key) of what the ledger says was left without a verdict."""
    return sorted((line["step"], r["group"], r["sample"], r["key"]) for file in ledgers(run)
                  for line in read_lines(file) if "masked" in line for r in line["masked"])


def steps_done(run):
    file = Path(run, "metrics.jsonl")
    return file.read_text().count("\n") if file.exists() else 0


def masking_ranks(run):
    return sum('"masked"' in file.read_text() for file in ledgers(run))


def weights(run):
    return [hashlib.sha256(Path(run, "checkpoints/infilling", name).read_bytes()).hexdigest()
            for name in ("model.safetensors", "trainer/optimizer.safetensors")]


def steps(run):
    return [reproducible(step) for step in read_lines(f"{run}/metrics.jsonl")]


def trace(run):
    return weights(run), steps(run), Path(run, "responses.jsonl").read_text(), Path(run, "samples.jsonl").read_text()


def without_masked(run):
    for file in ledgers(run):
        file.write_text("".join(line + "\n" for line in file.read_text().splitlines() if '"masked"' not in line))


def with_late_verdicts(run):
    """As if the programs that got no verdict had got one since, as right ones, in another step."""
    entries = [line for file in ledgers(run) for line in read_lines(file) if "masked" not in line]
    right = next(e for e in entries if e["verdict"]["correct"])
    with ledgers(run)[0].open("a") as ledger:
        for _, _, _, key in masked(run):
            ledger.write(json.dumps({**right, "key": key, "round": 7}) + "\n")


def whole_and_killed(temporary, grader, deadline_s):
    """A run that nothing happens to and two that are killed. None if this machine was so busy that programs were given up that the
    verifier did not hold: which ones that are is nobody's choice then, and the runs are different ones."""
    common = [f"reward={temporary}/reward.yaml", f"verifier.addresses=[{grader.address}]", f"run.straggler_deadline_s={deadline_s}"]
    whole, updated, written = (f"{temporary}/{deadline_s}/{name}" for name in ("whole", "updated", "written"))
    grader.begin()
    out = done("the run without faults", whole, *common)
    held = set(grader.held)
    grader.begin(held)
    killed(words(updated, *common), RANKS, lambda: steps_done(updated) >= 1)
    grader.begin(held)
    # What only some ranks had written is decided anew by the others: nothing has come of it.
    killed(words(written, *common), RANKS, lambda: masking_ranks(written) == masking_ranks(whole) or steps_done(written) >= 1)
    if not masked(whole) == masked(updated) == masked(written):
        return None
    return whole, updated, written, common, out


with folder() as temporary:
    Path(temporary, "reward.yaml").write_text(REWARD)
    grader = Grader()
    for deadline_s in (2, 15, 100):
        found = whole_and_killed(temporary, grader, deadline_s)
        if found:
            break
    expect(found, "programs that are not held have their verdicts in time")
    whole, updated, written, common, out = found
    lost = masked(whole)
    first, *others = steps(whole)
    expect(len(lost) >= HELD and {step for step, *_ in lost} == {1}, "what was held is masked, in the first step alone", lost)
    expect(first["stragglers"] == len(lost) and first["infrastructure_rate"] == len(lost) / 16 and
           first["masked_rate"] == len(lost) / 16, "it is counted", first)
    expect(all(s["stragglers"] == 0 for s in others), "later steps have all verdicts", others)
    expect(f"(given up {len(lost)})" in out and "verdicts given up after" in out, "it is told", out)
    expect(first["grad_norm"] > 0, "the others teach something", first)

    # Too many end the step: then nothing is decided, and the same command asks again.
    hopeless = f"{temporary}/hopeless"
    grader.begin(EVERYTHING)
    code, out, err = bicrl(*words(hopeless, *common[:2], "run.straggler_deadline_s=0.5", "stages.0.steps=1"))
    expect(code == 1 and "16 of 16 responses got no verdict" in err and "given up after 0.5 s" in err, "no verdict in time", code, out, err)
    expect(not masked(hopeless), "a step that ends the run masks nothing", masked(hopeless))
    grader.begin(holds=False)
    code, out, err = bicrl(*words(hopeless, *common, "stages.0.steps=1"))
    expect(code == 0 and not masked(hopeless), "the step is taken with all verdicts", code, out, err)

    forgetful = f"{temporary}/forgetful"
    shutil.copytree(updated, forgetful)
    with_late_verdicts(written)
    grader.begin(holds=False)  # quick from now on
    for run, when in ((updated, "after the update of the step"), (written, "before it, and with verdicts that came late")):
        done(f"goes on, killed {when}", run, *common)
        for part, name in zip(range(4), ("weights and optimizer", "metrics", "responses", "samples")):
            expect(masked(run) == lost and trace(run)[part] == trace(whole)[part], f"the same {name}, killed {when}",
                   trace(run)[part], trace(whole)[part], masked(run), lost)

    # The control: without the ledger's lines it is another run.
    without_masked(forgetful)
    done("goes on without what was masked", forgetful, *common)
    expect(not masked(forgetful) and weights(forgetful) != weights(whole), "what is masked shapes the weights")

    replay = ["replay.only=updates", f"replay.rollouts={whole}", f"run.directory={temporary}/none"]
    code, out, err = bicrl("train", "tests/data/small_run.yaml", *replay, "run.straggler_deadline_s=1", "--dry-run")
    expect(code == 0 and "straggler_deadline_s has no effect" in out, "no update waits in a replay of updates", code, out, err)

    # A replay of updates and a new scoring leave out what the run left out, whatever the ledger knows by now.
    again = f"{temporary}/again"
    done("updates alone", again, *common[:1], "replay.only=updates", f"replay.rollouts={whole}", f"replay.verdicts={written}")
    expect(weights(again) == weights(whole) and masked(again) == lost, "a replay of updates is the same run", masked(again), lost)
    code, out, err = bicrl("rescore", written, "--reward", f"{temporary}/reward.yaml")
    line = next(text for text in out.splitlines() if text.startswith("infilling") and text.split()[1] == "1")
    before, after = (side.split() for side in line.split("|")[1:3])
    expect(code == 0 and before == after and before[0] == str(16 - len(lost)), "the same reward gives the same step", out, err)
    expect(f"note: {len(lost)} responses had no verdict" in out, "and says what is left out", out)
print("stragglers are masked, and masked again")
