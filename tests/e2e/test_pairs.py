"""`bicrl sft` on pairs: the shipped configuration of DICE's first phase with a tiny policy, and a small run that learns its pairs, is
the same on two ranks and after a break, counts its steps or its epochs, refuses what is no pair, and says that a file has changed
meanwhile."""
import json
from pathlib import Path

from dice_files import lay_out, tiny_policy
from support import DATA, QUICKSTART_POLICY, SOURCE, bicrl, expect, folder, killed, read_json, read_lines, reproducible

SMALL = ["tests/data/small_run.yaml", QUICKSTART_POLICY, "tasks={prompt_style: compact}", "evaluation.tasks=0", "stages=[]",
         "warm_up={samples_per_step: 4, update: {learning_rate: 0.003, tokens_per_pack: 2048}}"]


def pairs(count):
    programs = read_json(SOURCE / "tests" / "data" / "infilling_tasks.json")
    return [{"prompt": f"module {i}", "response": f"<think>plan {i}</think>" + task["middle"][:80]}
            for i, task in enumerate((programs * 9)[:count])]


def shipped(data, tokenizer):
    with folder() as temporary:
        lay_out(data, temporary)
        tiny_policy(tokenizer, temporary)
        Path(temporary, "data").mkdir()
        Path(temporary, "data", "CuKe_dataset.json").write_text(json.dumps(pairs(6)))
        words = ["sft", SOURCE / "configs" / "dice-sft-8b.yaml", "run.directory=run", "policy.checkpoint=policy", "policy.device=cpu",
                 "warm_up.samples_per_step=3", "rollout.max_new_tokens=32", "evaluation.tasks=2"]
        code, out, err = bicrl(*words, "--dry-run", cwd=temporary)
        expect(code == 0 and "max_tokens: 6144" in out, "a dry run", code, out, err)
        expect("3 epochs of 6 pairs = 6 steps of at most 3 samples" in out and "after each phase and each epoch of the warm-up" in out,
               "what an epoch is of, before a run", out)
        words.append("warm_up.epochs=2")
        code, out, err = bicrl(*words, ranks=2, cwd=temporary)
        expect(code == 0 and "finished in" in out, "two epochs", code, out, err)
        expect("warm-up on 6 pairs, 2 epochs of 2 steps; 0 are left out" in out + err, "what it trains on", out, err)
        judged = sorted(path.name for path in Path(temporary, "run", "evaluations").iterdir())
        expect(judged == ["warm_up-000002.jsonl", "warm_up.jsonl"], "the verifier judges the policy after each epoch", judged, out)
        # Whoever counts steps instead leaves the file's epochs out.
        code, out, err = bicrl(*words[:-1], "warm_up.steps=7", "--dry-run", cwd=temporary)
        expect(code == 0 and "steps: 7" in out and "warm_up.epochs: gives way" in out and "evaluation.every_epochs: has no effect" in out,
               "steps in the place of the file's epochs", code, out, err)


def epochs(temporary, words):
    """Of four pairs, two in a step: killed within an epoch, or with more of them later on, the run is the undisturbed one."""
    asked = ["policy.config=tests/data/small_policy.json", "warm_up.samples_per_step=3", "run.checkpoint_every_s=0.001"]

    def train(*more):
        return bicrl(*words(*more))

    code, out, err = train("epochs", "warm_up.epochs=20", *asked)
    expect(code == 0 and "| epoch 20/20 |" in out, "twenty epochs", code, out, err)
    steps = read_lines(f"{temporary}/epochs/metrics.jsonl")
    expect([(s["epoch"], s["epochs"]) for s in steps] == [(1 + i // 2, 20) for i in range(40)], "steps and their epochs", steps)

    def end_of(name):
        weights = Path(temporary, name, "checkpoints", "warm_up", "model.safetensors").read_bytes()
        return [{**reproducible(s), "steps": 40, "epochs": 20} for s in read_lines(f"{temporary}/{name}/metrics.jsonl")], weights

    def has_begun():
        metrics = Path(temporary, "killed", "metrics.jsonl")
        return metrics.exists() and metrics.read_text().count("\n") >= 5

    killed(words("killed", "warm_up.epochs=20", *asked), 1, has_begun)
    code, out, err = train("killed", "warm_up.epochs=20", *asked)
    expect(code == 0 and "going on after warm_up step" in out + err, "goes on after a kill", code, out, err)
    expect(end_of("killed") == end_of("epochs"), "the same steps and weights", read_lines(f"{temporary}/killed/metrics.jsonl"))
    for count in (7, 20):
        code, out, err = train("extended", f"warm_up.epochs={count}", *asked)
        expect(code == 0, "more epochs of a run that has finished", code, out, err)
    expect(end_of("extended") == end_of("epochs"), "the same steps and weights", read_lines(f"{temporary}/extended/metrics.jsonl"))
    code, out, err = train("falling", "warm_up.epochs=20", "warm_up.update.learning_rate_decay=linear", *asked)
    rates = [s["learning_rate"] for s in read_lines(f"{temporary}/falling/metrics.jsonl")]
    expect(code == 0 and 0 < rates[-1] < 0.03 * rates[0], "the learning rate falls until the last epoch", code, rates)

    config = Path(temporary, "both.yaml")
    config.write_text(f"run: {{directory: {temporary}/both}}\npolicy: {{config: configs/quickstart/policy.json, tokenizer: configs/quickstart}}\n"
                      f"warm_up: {{steps: 3, epochs: 1, pairs: {{sources: [{{file: {temporary}/pairs.json}}]}}}}\n")
    code, out, err = bicrl("sft", config)
    expect(code == 2 and "either `steps` or `epochs`" in err and f"{config}:3" in err, "both are refused", code, out, err)
    code, out, err = bicrl("sft", SMALL[0], f"run.directory={temporary}/known", "warm_up.epochs=1")
    expect(code == 2 and "warm_up.epochs" in err and "needs 'pairs.sources'" in err, "known programs have no epochs", code, out, err)
    code, out, err = train("steps", "warm_up.steps=2", "evaluation.every_epochs=1")
    expect(code == 2 and "evaluation.every_epochs" in err and "without 'warm_up.epochs'" in err, "epochs between evaluations of steps", code, out, err)
    other = Path(temporary, "other.json")
    other.write_text(json.dumps(pairs(6)[4:]))
    code, out, err = train("weights", "warm_up.epochs=1", f"warm_up.pairs.sources=[{{file: {temporary}/pairs.json}}, {{file: {other}, weight: 4}}]")
    expect(code == 0 and "1 epoch of 2 steps" in out + err, "an epoch of two files", code, out, err)
    expect("other.json: each of 2 pairs is drawn 2 times an epoch" in out + err, "weights say how often", out, err)


with folder() as temporary:
    file = Path(temporary, "pairs.json")
    file.write_text(json.dumps(pairs(4)))
    sources = f"warm_up.pairs={{sources: [{{file: {file}}}]}}"

    def words(name, *more, command="sft"):
        return [command, *SMALL, sources, f"run.directory={temporary}/{name}", *more]

    def train(name, *more, command="sft", **how):
        return bicrl(*words(name, *more, command=command), **how)


    code, out, err = train("whole", "warm_up.steps=40")
    expect(code == 0, "a run on pairs", code, out, err)
    steps = read_lines(f"{temporary}/whole/metrics.jsonl")
    first, last = (sum(s["loss"] for s in part) / 5 for part in (steps[:5], steps[-5:]))
    expect(last < 0.5 * first, "its pairs are learned", first, last)
    code, out, err = train("parts", "warm_up.steps=20")
    expect(code == 0, "the half", code, out, err)
    code, out, err = train("parts", "warm_up.steps=40")
    halves = [{**reproducible(s), "steps": 40} for s in read_lines(f"{temporary}/parts/metrics.jsonl")]
    expect(code == 0 and halves == [reproducible(s) for s in steps], "in two parts it is the same", code, out, err)
    code, out, err = train("ranks", "warm_up.steps=3", ranks=2)
    expect(code == 0, "two ranks", code, out, err)
    for ours, theirs in zip(read_lines(f"{temporary}/ranks/metrics.jsonl"), steps):
        expect(ours["trained_tokens"] == theirs["trained_tokens"] and abs(ours["loss"] - theirs["loss"]) < 1e-3, "ranks divide the pairs",
               ours, theirs)
    code, out, err = train("given", "warm_up.steps=1", "warm_up.pairs.reasoning=given")
    given = read_lines(f"{temporary}/given/metrics.jsonl")[0]["trained_tokens"]
    expect(code == 0 and given < steps[0]["trained_tokens"], "reasoning is context if asked for", given, steps[0])

    epochs(temporary, words)

    file.write_text(json.dumps(pairs(5)))
    code, out, err = train("whole", "warm_up.steps=41")
    expect(code == 0 and "going on with another content of: pairs" in err, "pairs that have changed are told", code, out, err)
    file.write_text('{"prompt": "a", "response": "b"}\n{"prompt": "a", "reply": "b"}\n')
    code, out, err = train("broken", "warm_up.steps=1")
    expect(code == 2 and "pairs.json: entry 2: response: missing" in err, "a broken entry is named", code, out, err)
    expect(not Path(temporary, "broken").exists(), "before anything starts")
    for key in ("steps", "epochs"):
        code, out, err = train("unused", f"warm_up.{key}=0", "--dry-run", command="train")
        expect(code == 0 and f"warm_up.pairs has no effect with 'warm_up.{key}: 0'" in out, "pairs that nothing trains on", code, out, err)
        code, out, err = train("unused", f"warm_up.{key}=0")
        expect(code == 2 and f"warm_up.{key}: `bicrl sft` runs the warm-up" in err, "no warm-up: the key that says so", code, out, err)
    code, out, err = train("unused", "warm_up.epochs=0", "evaluation.every_epochs=1")
    expect(code == 2 and "every_epochs" in err and "with 'warm_up.epochs: 0'" in err, "evaluations after none of the epochs", code, out, err)
    code, out, err = bicrl("sft", *SMALL, f"run.directory={temporary}/none", "warm_up.steps=1", "warm_up.pairs={sources: [{file: none.json}]}")
    expect(code == 2 and "none.json" in err, "a file that is not there", code, out, err)
    code, out, err = train("both", "warm_up.steps=1", "warm_up.programs=best")
    expect(code == 2 and "programs" in err and "sources" in err, "known programs beside pairs", code, out, err)

    file.write_text(json.dumps([*pairs(3), {"prompt": "long", "response": "word " * 40000}]))
    code, out, err = train("long", "warm_up.steps=1")
    expect(code == 0 and "1 are left out for their length" in out + err, "a pair that no policy holds takes no memory", code, out, err)

if (DATA / "infilling_tasks.json").exists() and (DATA / "sdar-8b").exists():
    shipped(DATA, DATA / "sdar-8b")
else:
    shipped(SOURCE / "tests" / "data", SOURCE / "tests" / "data" / "tokenizer")
print("pairs train")
