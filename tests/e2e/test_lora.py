"""A run that trains adapters: it learns, leaves the base as it was and merged weights beside the adapters, goes on after a kill to the
same bits, and is not mixed up with a run that trains everything."""
import hashlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from support import BINARY, ENVIRONMENT, QUICKSTART_POLICY, MPIRUN, SOURCE, bicrl, expect, folder, one_verifier, read_json, read_lines, reproducible

SMALL_RUN = "tests/data/small_run.yaml"
LORA = ["policy.lora={rank: 8, alpha: 16}"]
FULL = ["warm_up.steps=40", "warm_up.samples_per_step=8", "evaluation.tasks=0", "run.checkpoint_every_s=0.01"]
WARM_UP = [*FULL, "warm_up.update.learning_rate=5e-3"]
REFERENCE = "update.kl_weight=0.05", "update.kl_reference=initial"
STAGES = ["warm_up.steps=4", "warm_up.samples_per_step=4", "warm_up.update.learning_rate=1e-2", "evaluation.tasks=0", "run.checkpoint_every_s=0.01",
          *(f"stages.{i}.{key}" for i in (0, 1) for key in ("steps=2", "tasks_per_step=4", "samples_per_task=2", "update.learning_rate=1e-3", *REFERENCE)),
          "trainer.sharding_stage=3", "trainer.recompute=full", *one_verifier()]


def hashes(run, phase):
    checkpoint = Path(run, "checkpoints", phase)
    return {str(p.relative_to(checkpoint)): hashlib.sha256(p.read_bytes()).hexdigest() for p in checkpoint.rglob("*.safetensors")}


def metrics(run):
    return [reproducible(step) for step in read_lines(f"{run}/metrics.jsonl")]


def killed(command, run, words, steps):
    """The run on two ranks until it has done so many steps; then its launcher and its ranks are gone."""
    line = [*MPIRUN, "-np", "2", BINARY, command, SMALL_RUN, f"run.directory={run}", *words]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True, cwd=SOURCE, env=ENVIRONMENT)
    file = Path(run, "metrics.jsonl")
    deadline = time.monotonic() + 600
    while not (file.exists() and file.read_text().count("\n") >= steps):
        expect(process.poll() is None and time.monotonic() < deadline, f"{steps} steps", process.poll(), process.stdout.read() if process.poll() is not None else "")
        time.sleep(0.005)
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            ours = Path("/proc", entry, "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if ours[1:2] == [command.encode()] and f"run.directory={run}".encode() in ours:
            os.kill(int(entry), signal.SIGKILL)
    process.communicate(timeout=300)


def finished(command, run, words, ranks=2):
    code, out, err = bicrl(command, SMALL_RUN, f"run.directory={run}", *words, ranks=ranks)
    expect(code == 0, f"{command} {run} ends well", out, err)
    return out + err


def refused(run, words, *parts):
    code, out, err = bicrl("sft", SMALL_RUN, f"run.directory={run}", *words)
    expect(code == 2, f"refused: {words}", code, out, err)
    for part in parts:
        expect(part in err, f"says {part!r}", err)


def check_merged(run, base):
    """The merged weights are those of the base with the adapters added; all others are the same bits."""
    try:
        import torch
        from safetensors.torch import load_file
    except ImportError as error:
        print(f"left out: {error}")
        return
    frozen, merged = load_file(f"{base}/model.safetensors"), load_file(f"{run}/model.safetensors")
    adapters = load_file(f"{run}/adapter/adapter_model.safetensors")
    expect(frozen.keys() == merged.keys(), "the usual names", merged.keys())
    for name, weight in frozen.items():
        a, b = (adapters.get(f"base_model.model.{name.removesuffix('.weight')}.lora_{side}.weight") for side in "AB")
        if a is None:
            expect(torch.equal(merged[name], weight), f"{name} is as it was")
        else:
            expect((b != 0).any(), f"{name} was trained")
            expect(torch.allclose(merged[name], weight + 16 / 8 * b @ a, rtol=1e-5, atol=1e-6), f"{name} is merged")


with folder() as temporary:
    whole, run = f"{temporary}/whole", f"{temporary}/run"
    code, out, err = bicrl("train", SMALL_RUN, "--dry-run", f"run.directory={whole}", QUICKSTART_POLICY, *LORA, *(f"stages.0.{key}" for key in REFERENCE))
    expect(code == 0 and "trained parameters        77824, adapters of rank 8" in out, "what is trained is told", code, out, err)
    expect("the frozen weights with adapters of an earlier phase, 0 MB more" in out, "what the reference takes is told", out)
    code, out, err = bicrl("train", SMALL_RUN, "--dry-run", *LORA, "warm_up.steps=0", *(f"stages.0.{key}" for key in REFERENCE))
    expect("the frozen weights themselves, nothing more" in out, "without a warm-up it takes nothing", out)
    refused(whole, [QUICKSTART_POLICY, *LORA, "policy.lora.rank=65", *WARM_UP], "policy.lora.rank is 65", "k_proj of [64, 128]")
    expect(not os.path.exists(whole), "refused before anything is written")

    # A base that has learnt a little, by a run that trains everything.
    full, drawn, small = (f"{temporary}/{name}" for name in ("full", "drawn", "small"))
    killed("sft", full, [QUICKSTART_POLICY, *FULL], 3)
    refused(full, [QUICKSTART_POLICY, *LORA, *FULL, "--allow-changed-config"], "trains all weights")
    finished("sft", full, [QUICKSTART_POLICY, *FULL])
    base = f"{full}/checkpoints/warm_up"
    from_base = [f"policy={{checkpoint: {base}}}", *LORA, *WARM_UP]
    for shape, place in (("configs/quickstart/policy.json", drawn), ("tests/data/small_policy.json", small)):
        code, out, err = bicrl("init", shape, place, "--tokenizer", "configs/quickstart", "--dtype", "float32")
        expect(code == 0, "other bases", out, err)

    # It learns, and a killed run ends as one without a fault.
    finished("sft", whole, from_base)
    losses = [step["loss"] for step in metrics(whole)]
    expect(sum(losses[-20:]) / 20 < sum(losses[:10]) / 10 - 0.2, "the loss falls", losses)
    expected = hashes(whole, "warm_up")
    expect(set(expected) == {"model.safetensors", "adapter/adapter_model.safetensors", "trainer/optimizer.safetensors"}, "the files of a checkpoint", expected)
    for steps in (7, 25):
        killed("sft", run, from_base, steps)
        # What does not fit together, on the way.
        refused(run, [*from_base, "policy.lora.rank=4"], "policy.lora.rank")
        changed = [*from_base, "--allow-changed-config"]
        refused(run, [*changed, "policy.lora.rank=4"], "adapter_config.json", "rank 8", "rank 4")
        refused(run, [*changed, f"policy={{checkpoint: {base}}}"], "trains adapters (policy.lora)")
        copy = f"{temporary}/copy-{steps}"
        shutil.copytree(run, copy)
        refused(copy, [*changed, f"policy.checkpoint={drawn}"], "other frozen weights")
    expect("going on after" in finished("sft", run, from_base), "the run goes on")
    expect(metrics(run) == metrics(whole) and hashes(run, "warm_up") == expected, "as if nothing had been")

    # What it leaves: the usual weights, from which another run starts, and an evaluation.
    checkpoint = f"{whole}/checkpoints/warm_up"
    check_merged(checkpoint, base)
    expect(read_json(f"{checkpoint}/adapter/adapter_config.json")["base_model_name_or_path"] == base, "the base is named")
    summary = read_json(f"{whole}/summary.json")
    expect(0 < summary["trained_parameters"] < 0.1 * summary["parameters"], "few parameters are trained", summary)
    source = f"policy={{checkpoint: {checkpoint}}}"
    on_top = f"{temporary}/on_top"
    finished("sft", on_top, [source, *LORA, *WARM_UP, "warm_up.steps=5"], ranks=None)
    expect(metrics(on_top)[0]["loss"] < losses[0] - 0.1, "it starts where the other ended", metrics(on_top), losses)
    code, out, err = bicrl("eval", "configs/eval.yaml", source, *LORA)
    expect(code == 2 and "policy.lora" in err and "nothing is trained here" in err, "no adapters without training", code, out, err)

    # The stages, with everything divided and a reference: killed in each, and by other ranks in another stage up to rounding.
    whole, run = f"{temporary}/stages", f"{temporary}/stages_killed"
    finished("train", whole, [*LORA, *STAGES])
    for steps in (5, 7):
        killed("train", run, [*LORA, *STAGES], steps)
    other = f"{temporary}/other"
    killed("train", other, [*LORA, *STAGES], 5)
    finished("train", run, [*LORA, *STAGES])
    expect(metrics(run) == metrics(whole) and hashes(run, "end_to_end") == hashes(whole, "end_to_end"), "as if nothing had been", metrics(run), metrics(whole))
    expect(all(step["log_prob_gap"] < 1e-3 for step in metrics(whole)[4:]), "rollout and trainer agree", metrics(whole))
    check_merged(f"{whole}/checkpoints/end_to_end", small)  # a run of the same seed draws the same
    finished("train", other, [*LORA, *STAGES, "trainer.sharding_stage=0", "trainer.recompute=none"], ranks=None)
    expect("adapter/adapter_model.safetensors" in hashes(other, "end_to_end"), "taken up by one rank", hashes(other, "end_to_end"))
print("adapters: trained, killed and gone on with, merged")
