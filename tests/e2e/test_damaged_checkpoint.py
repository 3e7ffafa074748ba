"""A checkpoint of a run with one byte flipped: generate, eval, train and sft from it name the file and end, with --no-verify they go
on; the run's own resume refuses it, too."""
import shutil
from pathlib import Path

from support import bicrl, expect, folder

SMALL = ["tasks.synthetic.train_compositions=8", "tasks.synthetic.development_compositions=2", "tasks.synthetic.variants=1"]


def flip(path, at):
    data = bytearray(Path(path).read_bytes())
    data[at] ^= 1
    Path(path).write_bytes(data)


with folder() as temporary:
    sft = ["sft", "tests/data/small_run.yaml", *SMALL, "warm_up.steps=1", "warm_up.samples_per_step=2", "evaluation.tasks=0"]
    run = Path(temporary, "run")
    code, out, err = bicrl(*sft, f"run.directory={run}")
    expect(code == 0, "a warm-up of one step", out, err)
    checkpoint = run / "checkpoints" / (run / "checkpoints" / "latest").read_text().strip()

    copies = Path(temporary, "checkpoint")
    shutil.copytree(checkpoint, copies)
    flip(copies / "model.safetensors", -5)

    Path(temporary, "prompts.jsonl").write_text('{"id": "a", "prompt": "x = 1"}\n')
    of_policy = f"policy: {{checkpoint: {copies}}}\nrollout: {{max_new_tokens: 4, temperature: 0}}\n"
    Path(temporary, "generate.yaml").write_text(of_policy + f"prompts: {temporary}/prompts.jsonl\noutput: {temporary}/out.jsonl\n")
    Path(temporary, "eval.yaml").write_text(of_policy + "tasks: {synthetic: {train_compositions: 2, development_compositions: 1}}\n")
    commands = {
        "generate": ["generate", f"{temporary}/generate.yaml"],
        "eval": ["eval", f"{temporary}/eval.yaml"],
        "sft": [*sft, f"run.directory={temporary}/next", f"policy={{checkpoint: {copies}}}"],
        "train": ["train", *sft[1:], f"run.directory={temporary}/train", f"policy={{checkpoint: {copies}}}", "stages=[]"],
    }
    for name, command in commands.items():
        code, out, err = bicrl(*command)
        expect(code == 2 and "model.safetensors" in err and "damaged" in err, f"{name}: refuses the file by name", code, out, err)
        if name in ("generate", "sft"):
            code, out, err = bicrl(*command, "--no-verify")
            expect(code == 0, f"{name}: goes on without a look", code, out, err)

    # So does a tokenizer that is taken from there, and its text before what follows from it.
    flip(copies / "model.safetensors", -5)
    flip(copies / "tokenizer.json", 1)
    code, out, err = bicrl("generate", f"{temporary}/generate.yaml",
                           f"policy={{config: configs/quickstart/policy.json, tokenizer: {copies}}}", f"output={temporary}/other.jsonl")
    expect(code == 2 and "tokenizer.json" in err and "damaged" in err, "a tokenizer's file", code, out, err)
    flip(copies / "tokenizer.json", 1)

    # The optimizer's file counts where its moments are taken.
    flip(copies / "trainer" / "optimizer.safetensors", -5)
    moments = [*sft, f"run.directory={temporary}/moments", f"policy={{checkpoint: {copies}, moments: true}}"]
    code, out, err = bicrl(*moments)
    expect(code == 2 and "optimizer.safetensors" in err, "moments: refuses the file by name", code, out, err)
    code, out, err = bicrl(*moments, "policy.moments=false")
    expect(code == 0, "and does not read it otherwise", code, out, err)
