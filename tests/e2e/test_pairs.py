"""`bicrl sft` on pairs: the shipped configuration of DICE's first phase with a tiny policy, and a small run that learns its pairs, is
the same on two ranks and after a break, refuses what is no pair, and says that a file has changed meanwhile."""
import json
from pathlib import Path

from dice_files import lay_out, tiny_policy
from support import DATA, SOURCE, bicrl, expect, folder, read_json, read_lines, reproducible

SMALL = ["tests/data/small_run.yaml", "tasks={prompt_style: compact}", "evaluation.tasks=0", "stages=[]",
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
                 "warm_up.steps=2", "warm_up.samples_per_step=3", "rollout.max_new_tokens=32", "evaluation.tasks=2", "evaluation.every_steps=1"]
        code, out, err = bicrl(*words, "--dry-run", cwd=temporary)
        expect(code == 0 and "max_tokens: 6144" in out, "a dry run", code, out, err)
        code, out, err = bicrl(*words, ranks=2, cwd=temporary)
        expect(code == 0 and "finished in" in out, "two steps", code, out, err)
        expect("warm-up on 6 pairs, each 1 times on average; 0 are left out" in out + err, "what it trains on", out, err)
        expect(Path(temporary, "run", "evaluations", "warm_up.jsonl").exists(), "the verifier judges the policy", out)


with folder() as temporary:
    file = Path(temporary, "pairs.json")
    file.write_text(json.dumps(pairs(4)))
    sources = f"warm_up.pairs={{sources: [{{file: {file}}}]}}"

    def train(name, *more, **how):
        code, out, err = bicrl("sft", *SMALL, sources, f"run.directory={temporary}/{name}", *more, **how)
        return code, out, err

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

    file.write_text(json.dumps(pairs(5)))
    code, out, err = train("whole", "warm_up.steps=41")
    expect(code == 0 and "going on with another content of: pairs" in err, "pairs that have changed are told", code, out, err)
    file.write_text('{"prompt": "a", "response": "b"}\n{"prompt": "a", "reply": "b"}\n')
    code, out, err = train("broken", "warm_up.steps=1")
    expect(code == 2 and "pairs.json: entry 2: response: missing" in err, "a broken entry is named", code, out, err)
    expect(not Path(temporary, "broken").exists(), "before anything starts")
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
