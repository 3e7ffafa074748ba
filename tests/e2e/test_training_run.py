"""A whole run in small: warm-up, both stages with real verification, two ranks; its files; the same again in a second
run directory; sft and generate on its checkpoint."""
import math
from pathlib import Path

from support import bicrl, expect, folder, one_verifier, patient, read_json, read_lines, reproducible

SMALL = ["warm_up.steps=6", "stages.0.steps=1", "stages.0.tasks_per_step=4", "stages.0.samples_per_task=2",
         "stages.1.steps=2", "stages.1.tasks_per_step=4", "stages.1.samples_per_task=2", "evaluation.tasks=6",
         *patient(60)]

with folder() as temporary:
    run = f"{temporary}/run"
    code, out, err = bicrl("train", "tests/data/small_run.yaml", f"run.directory={run}", *SMALL, ranks=2)
    expect(code == 0, "the run ends well", out, err)
    expect("infilling 1/1" in out and "end_to_end 2/2" in out, "a line per step", out)
    expect("after warm_up" in out and "after end_to_end" in out, "the table of held-out tasks", out)

    summary = read_json(f"{run}/summary.json")
    for phase in ("warm_up", "infilling", "end_to_end"):
        rate = summary["held_out"][phase]["correct_rate"]
        expect(0 <= rate <= 1, f"{phase}: a rate", summary)
        expect(summary["held_out"][phase]["unverified"] == 0, f"{phase}: every answer has a verdict", summary)
        expect(summary["seconds"][phase] > 0, f"{phase}: took time", summary)
    steps = read_lines(f"{run}/metrics.jsonl")
    expect([s["phase"] for s in steps] == ["warm_up"] * 6 + ["infilling"] + ["end_to_end"] * 2, "an entry per step", steps)
    for step in steps[6:]:
        expect(step["responses"] == 8 and step["infrastructure_rate"] == 0, "all responses have verdicts", step)
        expect(math.isfinite(step["loss"]) and 0 <= step["log_prob_gap_mean"] <= step["log_prob_gap"] < 1e-4
               and step["log_prob_gap_mean"] < 1e-6, "rollout and trainer agree", step)
        expect(step["reward_rule"] == "binary" and abs(sum(step["reward_terms"].values()) - step["reward_mean"]) < 1e-9,
               "what the reward is made of", step)
    samples = read_lines(f"{run}/samples.jsonl")
    expect(samples and all(math.isclose(sum(s["terms"].values()), s["reward"]) for s in samples if "terms" in s), "samples, too", samples)
    for file in ("config.yaml", "reward.yaml", "verifier.log"):
        expect(Path(run, file).exists(), f"{file} is kept")

    here = one_verifier()  # the first run had one of its own
    # The same command again starts nothing; with another directory it gives the same numbers.
    code, out, err = bicrl("train", f"{run}/config.yaml", ranks=2)
    expect(code == 0 and "has finished" in out, "a finished run is left alone", out, err)
    expect(read_lines(f"{run}/metrics.jsonl") == steps, "and nothing is added to it")
    code, out, err = bicrl("train", f"{run}/config.yaml", f"run.directory={run}-2", *here, ranks=2)
    expect(code == 0, "the kept configuration runs again", out, err)
    again = read_lines(f"{run}-2/metrics.jsonl")
    same = [reproducible(step) for step in steps]
    expect(same == [reproducible(step) for step in again], "the same numbers", same, again)

    # Checkpoints by the clock, which ranks read at different times, every few steps.
    code, out, err = bicrl("sft", f"{run}/config.yaml", f"run.directory={run}-3", "warm_up.steps=100",
                           "warm_up.samples_per_step=2", "evaluation.tasks=0", "run.checkpoint_every_s=0.08", ranks=2)
    expect(code == 0 and len(read_lines(f"{run}-3/metrics.jsonl")) == 100, "ranks agree when to save", out, err)

    checkpoint = f"{run}/checkpoints/end_to_end"
    code, out, err = bicrl("train", f"{run}/config.yaml", *here, f"run.directory={run}-4", "warm_up.steps=0", "stages.0.steps=0",
                           "stages.1.steps=3", "evaluation.every_steps=1", "policy.config=''", "policy.tokenizer=''", f"policy.checkpoint={checkpoint}", ranks=2)
    expect(code == 0 and "at the start" in out, "a run without a warm-up is compared with its start", out, err)
    held_out = read_json(f"{run}-4/summary.json")["held_out"]
    expect(list(held_out) == ["end_to_end", "end_to_end-000001", "end_to_end-000002", "start"], "in the summary, too")
    expect("end_to_end, step 2" in out, "evaluations within a phase, too", out)
    rewards = {name: result["reward_mean"] for name, result in held_out.items() if name != "start"}
    best = Path(f"{run}-4/checkpoints/best")
    name = best.read_text().strip()
    expect(rewards[name] == max(rewards.values()), "the best checkpoint is marked, by the reward", name, rewards)
    expect(Path(best.parent, name, "manifest.json").exists(), "and is there")
    expect(f"checkpoints/{name} (reward " in out and "newest" in out, "the end of a run names it beside the newest one", out)
    code, out, err = bicrl("train", f"{run}/config.yaml", *here, f"run.directory={run}-last", "warm_up.steps=0", "stages.0.steps=1", "stages.1.steps=1", "evaluation.phases=last",
                           "policy.config=''", "policy.tokenizer=''", f"policy.checkpoint={checkpoint}", ranks=2)
    expect(code == 0 and list(read_json(f"{run}-last/summary.json")["held_out"]) == ["end_to_end"], "evaluated after the last phase alone", out, err)
    # Gradients that are not finite: their updates are left out and what they were made of is kept; too many end the run.
    Path(f"{temporary}/reward.yaml").write_text("rule: binary\ntruncated: penalise\ntruncated_value: -1\n")  # tells bad responses apart
    broken = [f"reward={temporary}/reward.yaml", "stages.1.samples_per_task=4", "warm_up.steps=2", "stages.0.steps=0", "stages.1.steps=3", "stages.1.update.kl_weight=1.0e+300",
              "stages.1.update.kl_reference=initial", "evaluation.tasks=0"]
    code, out, err = bicrl("train", f"{run}/config.yaml", *here, f"run.directory={run}-5", *broken, ranks=2)
    skipped = [s["skipped_updates"] for s in read_lines(f"{run}-5/metrics.jsonl")]
    expect(code == 0 and skipped[2:] == [s["updates"] for s in read_lines(f"{run}-5/metrics.jsonl")][2:] and sum(skipped) > 1,
           "a run goes on without them", skipped, out, err)
    weights = [Path(f"{run}-5/checkpoints/{phase}/model.safetensors").read_bytes() for phase in ("warm_up", "end_to_end")]
    expect(weights[0] == weights[1], "no weight has changed")
    kept = sorted(path.name for path in Path(f"{run}-5/rollouts").iterdir() if path.is_dir())
    expect(len(kept) == sum(s > 0 for s in skipped), "the rollouts of each such step are kept", kept, skipped)
    # Divided over ranks that have different numbers of packs.
    broken += ["trainer.sharding_stage=3", "stages.1.update.tokens_per_pack=256", "trainer.wait_limit_s=120"]
    code, out, err = bicrl("train", f"{run}/config.yaml", *here, f"run.directory={run}-6", *broken, "run.max_skipped_updates=1", ranks=2)
    expect(code == 1 and "run.max_skipped_updates is 1" in err, "and ends after so many", code, out, err)
    code, out, err = bicrl("train", f"{run}/config.yaml", *here, f"run.directory={run}-6", *broken, "run.max_skipped_updates=5", ranks=2)
    expect(code == 0 and "going on after" in out + err, "from where it goes on, if more are allowed", code, out, err)

    tasks = f"{temporary}/tasks.json"
    Path(tasks).write_text('[{"idx": 0, "level": "1", "pytorch_code": "import torch\\nclass Model: pass\\ndef get_inputs(): return []\\ndef get_init_inputs(): return []", "cuda_code": ""}]')
    Path(f"{temporary}/generate.yaml").write_text(
        f"policy: {{checkpoint: {checkpoint}}}\ntasks: {tasks}\nprompt_style: compact\nsamples_per_task: 3\n"
        f"rollout: {{max_new_tokens: 16}}\noutput: {temporary}/programs.jsonl\n")
    code, out, err = bicrl("generate", f"{temporary}/generate.yaml")
    expect(code == 0, "generate runs on the checkpoint", out, err)
    programs = read_lines(f"{temporary}/programs.jsonl")
    expect(len(programs) == 3 and all(len(p["step_map"]) == len(p["tokens"]) - p["prompt_tokens"] for p in programs),
           "one entry per response", programs)

    code, out, err = bicrl("sft", f"{run}/config.yaml", f"run.directory={temporary}/sft", "warm_up.steps=2",
                           "evaluation.tasks=0", "policy.config=''", "policy.tokenizer=''",
                           f"policy.checkpoint={checkpoint}")
    expect(code == 0, "sft goes on from a checkpoint", out, err)
    expect(Path(temporary, "sft/checkpoints/warm_up/config.json").exists(), "sft saves its policy")

    # The divergence from a stage's own start is zero there; that from the start of reinforcement is not any more.
    for reference, of_second in [("initial", [False, False]), ("stage", [True, False])]:
        stage = f"{{stage: end_to_end, steps: 2, tasks_per_step: 3, samples_per_task: 4, update: {{kl_weight: 0.05, kl_reference: {reference}}}}}"
        code, out, err = bicrl("train", f"{run}/config.yaml", *here, f"run.directory={run}-{reference}", f"reward={temporary}/reward.yaml", "warm_up.steps=2",
                               f"stages=[{stage}, {stage}]", "evaluation.tasks=0")
        kl = [step["kl"] for step in read_lines(f"{run}-{reference}/metrics.jsonl") if "kl" in step]
        expect(code == 0 and len(kl) == 4 and [value == 0 for value in kl[2:]] == of_second, f"kl_reference={reference}", kl, out, err)

    # Stages with rewards of their own, and held-out evaluations by that of the stage in progress.
    for name, value in [("first", -1), ("second", -2)]:
        Path(f"{temporary}/{name}.yaml").write_text(f"rule: binary\ntruncated: penalise\ntruncated_value: {value}\n")
    stages = ", ".join(f"{{stage: {stage}, steps: 1, tasks_per_step: 3, samples_per_task: 2, reward: {temporary}/{name}.yaml}}"
                       for stage, name in [("infilling", "first"), ("end_to_end", "second")])
    own = [f"run.directory={run}-own", "warm_up.steps=1", f"stages=[{stages}]", "rollout.max_new_tokens=4"]
    code, out, err = bicrl("train", f"{run}/config.yaml", *here, *own)
    terms = [step["reward_terms"] for step in read_lines(f"{run}-own/metrics.jsonl")[1:]]
    expect(code == 0 and terms == [{"truncated": -1}, {"truncated": -2}], "each stage is rewarded by its file", terms, out, err)
    held_out = {name: result["reward_mean"] for name, result in read_json(f"{run}-own/summary.json")["held_out"].items()}
    expect(held_out == {"warm_up": -1, "infilling": -1, "end_to_end": -2}, "and so is its evaluation", held_out)
    expect("reward:" not in Path(f"{run}-own/config.yaml").read_text().split("stages:")[0]
           and "# stages.1" in Path(f"{run}-own/reward.yaml").read_text(), "what rewards is kept")
    code, out, err = bicrl("train", f"{run}/config.yaml", *here, *own, "--reward", f"{temporary}/first.yaml")
    expect(code == 2 and "reward: has no effect where every stage has its own" in err, "a common reward without effect is refused", code, out, err)

    # A second stage of a kind goes on in the tasks where the first one ended.
    stage = "{stage: end_to_end, steps: 1, tasks_per_step: 3, samples_per_task: 2}"
    code, out, err = bicrl("train", f"{run}/config.yaml", *here, f"run.directory={run}-7", "warm_up.steps=1", f"stages=[{stage}, {stage}]", "evaluation.tasks=0")
    asked = [sorted({r["task"] for r in step["responses"]}) for step in read_lines(f"{run}-7/responses.jsonl")]
    expect(code == 0 and asked == [["train_0001", "train_0002", "train_0003"], ["train_0004", "train_0005", "train_0006"]], "the next tasks", asked, out, err)
print("a run, its repetition, sft and generate")
