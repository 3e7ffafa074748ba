"""Parts of a run by themselves: rollouts, verdicts of saved rollouts, updates from both. Updates from a run's own rollouts and
verdicts are that run again, bit for bit; and a step that blows up leaves its rollouts behind."""
import hashlib
from pathlib import Path

from support import QUICKSTART_POLICY, bicrl, expect, folder, one_verifier, read_lines, reproducible

TASKS = ["tasks.synthetic.train_compositions=8", "tasks.synthetic.development_compositions=8", "tasks.synthetic.max_length=2"]
SMALL = [*TASKS, "policy.config=''", "warm_up.steps=3", "warm_up.update.learning_rate=1e-4", "reward=configs/rewards/pass_rate.yaml", "stages.0.steps=2", "stages.0.tasks_per_step=4", "stages.0.samples_per_task=4",
         "stages.1.steps=2", "stages.1.tasks_per_step=4", "stages.1.samples_per_task=4",
         # Both kinds: what the run found, and what its tasks bring along. Repairs are among the prompts.
         "stages.1.imitation={updates: 1, samples: 8, known_share: 0.5}", "curation.repair.probability=0.3",
         "evaluation.tasks=0", *one_verifier()]
GENERATION = ("generated_tokens", "tokens_per_forward")


def train(run, *overrides, ranks=2):
    return bicrl("train", "tests/data/small_run.yaml", f"run.directory={run}", f"policy.checkpoint={POLICY}", *SMALL, *overrides,
                 ranks=ranks)


def done(what, run, *overrides, ranks=2):
    code, out, err = train(run, *overrides, ranks=ranks)
    expect(code == 0, what, out, err)
    return out


def refused(what, words, run, *overrides, code=2):
    # Without a launcher, which waits some seconds after every failure.
    found, out, err = train(run, *overrides, ranks=None)
    expect(found == code, what, found, out, err)
    for word in words:
        expect(word in err, f"{what}: says {word}", err)


def weights(run):
    return [hashlib.sha256(Path(run, "checkpoints/end_to_end", name).read_bytes()).hexdigest()
            for name in ("model.safetensors", "trainer/optimizer.safetensors")]


def steps(run):
    return [{k: v for k, v in reproducible(step).items() if k not in GENERATION} for step in read_lines(f"{run}/metrics.jsonl")]


with folder() as temporary:
    # A policy whose programs compile now and then: if all rewards are equal, nothing is updated.
    code, out, err = bicrl("sft", "tests/data/small_run.yaml", f"run.directory={temporary}/warm", QUICKSTART_POLICY, *TASKS, "warm_up.steps=120",
                           "warm_up.samples_per_step=16", "warm_up.update.learning_rate=3e-3", "evaluation.tasks=0", ranks=2)
    expect(code == 0, "a first policy", out, err)
    POLICY = f"{temporary}/warm/checkpoints/warm_up"
    whole = f"{temporary}/whole"
    done("a run that saves its rollouts", whole, "run.save_rollouts=true")
    expect(any(s["grad_norm"] > 0 for s in steps(whole)[3:]), "something is learnt", steps(whole))
    saved = sorted(str(p.relative_to(whole)) for p in Path(whole, "rollouts").rglob("*.safetensors"))
    expect(len(saved) == 8, "a file for each step and rank", saved)

    again = f"{temporary}/again"
    done("updates alone", again, "replay.only=updates", f"replay.rollouts={whole}")
    expect(steps(again) == steps(whole), "the same figures from saved rollouts and verdicts", steps(again), steps(whole))
    expect(weights(again) == weights(whole), "the same weights and optimizer, bit for bit")
    tables = [bicrl("rescore", run, "--reward", "configs/rewards/binary.yaml")[1] for run in (whole, again)]
    expect(tables[0] == tables[1] and "note" not in tables[1], "the verdicts that were used are its own", *tables)
    expect(not Path(again, "verifier.log").exists(), "no verifier was started for it")

    # Rollouts of one policy, verdicts on them, updates from both: three runs.
    policy = [f"policy.checkpoint={whole}/checkpoints/warm_up", "warm_up.steps=0"]
    rollouts, verdicts, updates = (f"{temporary}/{name}" for name in ("rollouts", "verdicts", "updates"))
    out = done("rollouts alone", rollouts, *policy, "replay.only=rollouts")
    expect("correct" not in out and "unique" in out, "nothing is said of what was not verified", out)
    expect(not Path(rollouts, "ledger").exists(), "nothing was verified")
    done("verdicts alone", verdicts, "replay.only=verdicts", f"replay.rollouts={rollouts}", ranks=1)
    judged = steps(verdicts)
    expect(len(judged) == 4 and all(s["responses"] == 16 and s["infrastructure_rate"] == 0 for s in judged), "all judged", judged)
    done("updates from both", updates, *policy, "replay.only=updates", f"replay.rollouts={rollouts}", f"replay.verdicts={verdicts}")
    expect([s["reward_mean"] for s in steps(updates)] == [s["reward_mean"] for s in judged], "the rewards of these verdicts",
           steps(updates), judged)
    # The first step has the same policy and keys as the whole run had.
    first = [s for s in steps(whole) if s["phase"] == "infilling"][0]
    expect(steps(updates)[0]["reward_mean"] == first["reward_mean"], "the rollouts of a whole run's first step", steps(updates)[0], first)

    training = f"{temporary}/training"
    done("verdicts and updates in one", training, *policy, "replay.only=training", f"replay.rollouts={rollouts}")
    expect([s["reward_mean"] for s in steps(training)] == [s["reward_mean"] for s in steps(updates)], "the same verdicts as one after the other",
           steps(training), steps(updates))
    expect(weights(training) == weights(updates), "and the same weights and optimizer")

    # What cannot be replayed.
    bad = f"{temporary}/bad"
    refused("no rollouts named", ["replay.rollouts", "needs a run"], bad, "replay.only=updates")
    refused("rollouts of nobody", ["replay.rollouts", "/nowhere"], bad, "replay.only=updates", "replay.rollouts=/nowhere")
    refused("more steps than were saved", ["end_to_end step 3", "replay.rollouts"], f"{bad}1", "replay.only=updates",
            f"replay.rollouts={whole}", "stages.1.steps=3")
    refused("another number of groups", ["has 4 groups, tasks_per_step is 8"], f"{bad}5", "replay.only=updates",
            f"replay.rollouts={whole}", "stages.0.tasks_per_step=8")
    refused("groups of another size", ["has 4 responses, samples_per_task is 2"], f"{bad}2", "replay.only=updates",
            f"replay.rollouts={whole}", "stages.0.samples_per_task=2")
    Path(temporary, "empty/ledger").mkdir(parents=True)
    refused("no verdicts", ["got no verdict", "ledger has no verdict"], f"{bad}3", "replay.only=updates", f"replay.rollouts={whole}",
            f"replay.verdicts={temporary}/empty", code=1)
    file = Path(whole, saved[-1])
    content = file.read_bytes()
    for damaged in (content[:len(content) // 2], content[:-3] + b"abc"):
        file.write_bytes(damaged)
        refused("a damaged file", [str(file)], f"{bad}4", "replay.only=updates", f"replay.rollouts={whole}")
    file.write_bytes(content)

    # A step that blows up is kept, and can be tried again with other settings.
    burst = f"{temporary}/burst"
    code, out, err = train(burst, "run.max_loss=1e-12")
    expect(code == 1 and "run.max_loss" in err, "a loss beyond the bound ends the run", code, out, err)
    code, out, err = train(f"{burst}2", "stages.0.update.learning_rate=1e30", "stages.0.update.max_grad_norm=1e30",
                           "stages.0.steps=6")
    expect(code == 1 and "destroys the policy" in err and "are kept in" in err, "an update that destroys the policy ends the run", code, out, err)
    kept = sorted(p.parent.name for p in Path(burst + "2", "rollouts").rglob("*.safetensors"))
    expect(len(kept) == 2 and len(set(kept)) == 1, "the step's rollouts of both ranks are kept", kept)
print("rollouts, verdicts and updates by themselves")
