"""The shipped DICE configurations start on the published files, train a step of each stage and go on. Everything is as shipped but a tiny
policy on the CPU, 2 tasks x 2 responses of 64 tokens, one step a stage and two held-out tasks. Where the published files are not
there, small ones of the same forms stand for them."""
from dice_files import lay_out, tiny_policy
from support import DATA, SOURCE, bicrl, expect, folder, one_verifier, read_lines

OWN = SOURCE / "tests" / "data"


def train(size, data, tokenizer, verifier):
    """`verifier`: overrides; none for the embedded one that the configuration asks for."""
    with folder() as temporary:
        lay_out(data, temporary)
        tiny_policy(tokenizer, temporary)
        words = ["train", SOURCE / "configs" / f"dice-{size}.yaml", "run.directory=run", "policy.checkpoint=policy", "policy.device=cpu",
                 "rollout.max_new_tokens=64", "evaluation.tasks=2", *verifier]
        for stage in (0, 1):
            words += [f"stages.{stage}.tasks_per_step=2", f"stages.{stage}.samples_per_task=2", f"stages.{stage}.steps=1"]
        code, out, err = bicrl(*words, "--dry-run", cwd=temporary)
        expect(code == 0 and "tasks: [kernel_infilling]" in out, f"{size}: a dry run", code, out, err)
        code, out, err = bicrl(*words, ranks=2, cwd=temporary)
        expect(code == 0 and "finished in" in out, f"{size}: one step of each stage", code, out, err)
        for title in ("after infilling", "after end_to_end", "as infilling"):
            expect(title in out, f"{size}: {title} is in the table", out)
        # A finished run gets another step.
        code, out, err = bicrl(*words, "stages.1.steps=2", ranks=2, cwd=temporary)
        expect(code == 0 and "end_to_end 2/2" in out and "end_to_end 1/2" not in out, f"{size}: goes on", code, out, err)
        steps = read_lines(f"{temporary}/run/metrics.jsonl")
        expect([(s["phase"], s["step"]) for s in steps] == [("infilling", 1), ("end_to_end", 1), ("end_to_end", 2)], "steps", steps)
        for step in steps:
            expect(step["responses"] == 4 and step["masked_rate"] == 0, "truncated responses count, as DICE counts them", step)
        asked = {s["phase"]: {r["task"].partition(":")[0] for r in s["responses"]} for s in read_lines(f"{temporary}/run/responses.jsonl")}
        expect(asked == {"infilling": {"kernel_infilling"}, "end_to_end": {"end_to_end_tasks"}}, "each stage asks its file", asked)
        print(f"dice-{size} on {data}: {[round(s['step_seconds'], 1) for s in steps]} s a step")


published = (DATA / "infilling_tasks.json").exists()
data, tokenizer = (DATA, DATA / "sdar-8b") if published else (OWN, OWN / "tokenizer")
train("1.7b", data, tokenizer, [])
verifier = one_verifier()
for size in ("4b", "8b"):
    train(size, data, tokenizer, verifier)
if published:
    train("1.7b", OWN, OWN / "tokenizer", verifier)
else:
    print(f"left out: the published files are not under BICRL_DATA ({DATA})")
