"""Verifiers by address: servers that grade differently are refused before the first verdict, one that is silent is told, and a
run that is resumed with another verifier does not take over what the first one said."""
from pathlib import Path

from support import bicrl, expect, folder, patient, read_lines, started_verifier


def server(*overrides):
    """The address of a server of its own, which ends with this test."""
    return started_verifier("workers=1", *patient(60, prefix=""), *overrides)[1]


EVAL = ["eval", "configs/eval.yaml", "policy.checkpoint=", "policy.config=configs/quickstart/policy.json",
        "policy.tokenizer=configs/quickstart", "tasks.limit=2", "samples_per_task=1", "pass_at_k=[1]", "rollout.max_new_tokens=8"]
NOWHERE = "127.0.0.1:9"
TRAIN = ["train", "tests/data/small_run.yaml", "warm_up.steps=2", "evaluation.tasks=2", "stages.0.steps=1", "stages.0.tasks_per_step=2",
         "stages.0.samples_per_task=2", "stages.1.tasks_per_step=2", "stages.1.samples_per_task=2"]

code, out, err = bicrl(*EVAL, f"verifier.addresses=[{NOWHERE}]", "verifier.deadline_s=2")
expect(code == 3 and "no verifier answers" in err and NOWHERE in err, "no verifier", code, out, err)

one, lax = server(), server("protocol.tolerance=published")
with folder() as temporary:
    for ranks in (None, 2):
        code, out, err = bicrl(*EVAL, f"verifier.addresses=[{one},{lax}]", ranks=ranks)
        expect(code == 2 and err.count("do not grade alike") == 1 and one in err and lax in err, "verifiers that differ", code, out, err)
    code, out, err = bicrl(*EVAL, f"verifier.addresses=[{NOWHERE},{one}]", "verifier.deadline_s=5", "verifier.backoff_s=0.1")
    expect("does not answer" in err and NOWHERE in err and "got no verdict" not in out, "a silent one beside another", code, out, err)

    # Times where none are measured: reported by any server that is asked, before the first step.
    code, out, err = bicrl(*TRAIN, f"run.directory={temporary}/timed", f"verifier.addresses=[{one}]", "reward=configs/rewards/speedup.yaml")
    expect(code == 2 and one in err and "has the clock 'model'" in err and "warm_up" not in out, "a reward that needs times", code, out, err)

    run = f"run.directory={temporary}/run"
    for address, warned in ((one, 0), (lax, 1)):
        code, out, err = bicrl(*TRAIN, run, f"verifier.addresses=[{address}]", f"stages.1.steps={warned}", "--allow-changed-config")
        expect(code == 0, "a run by address", code, out, err)
        expect(("verifier of another kind" in err) == (warned == 1), "verdicts of another verifier are told", err)
        state = Path(temporary, "run", "run.json")  # as if it had been stopped before its end
        state.write_text(state.read_text().replace("true", "false"))
    verifiers = {entry["verifier"] for entry in read_lines(f"{temporary}/run/ledger/rank-0.jsonl")}
    expect(len(verifiers) == 2, "each verdict names the verifier that gave it", verifiers)
print("verifiers that differ, are silent, or change")
