"""Fresh weights of a given shape as a folder, and the configurations of the published sizes."""
import json
from pathlib import Path

from support import SOURCE, bicrl, expect, folder, read_json

SHAPE, TOKENIZER = "tests/data/small_policy.json", "configs/quickstart"
PARAMETERS = {"1.7b": 2031739904, "4b": 4411424256, "8b": 8190735360}  # of the published checkpoints

with folder() as temporary:
    drawn = f"{temporary}/drawn"
    code, out, err = bicrl("init", SHAPE, drawn, "--tokenizer", TOKENIZER, "--seed", "3", "--dtype", "float32")
    expect(code == 0 and "parameters, float32, drawn from seed 3" in out, "weights are drawn", code, out, err)
    # A rate so small that no weight moves: the run's weights are those that it began with.
    code, out, err = bicrl("sft", "tests/data/small_run.yaml", f"run.directory={temporary}/run", "run.seed=3", "warm_up.steps=1",
                           "warm_up.samples_per_step=1", "warm_up.update.learning_rate=1.0e-30", "evaluation.tasks=0")
    expect(code == 0, "a run of the same seed", code, out, err)
    weights = [Path(place, "model.safetensors").read_bytes() for place in (drawn, f"{temporary}/run/checkpoints/warm_up")]
    expect(weights[0] == weights[1], "begins with the same weights")
    code, out, err = bicrl("generate", "configs/generate.yaml", "--dry-run", f"policy={{checkpoint: {drawn}}}", "tasks=tests/data/infilling_tasks.json")
    expect(code == 0, "the folder is a policy", code, out, err)

    code, out, err = bicrl("init", SHAPE, drawn, "--tokenizer", TOKENIZER)
    expect(code == 2 and drawn in err and "new or empty" in err, "a folder with files is left alone", code, out, err)
    for words, reason in ((["--tokenizer", f"{temporary}/none"], "none"), ([], "--tokenizer"), (["--tokenizer", TOKENIZER, "--dtype", "int8"], "int8")):
        code, out, err = bicrl("init", SHAPE, f"{temporary}/other", *words)
        expect(code == 2 and reason in out + err and not Path(temporary, "other").exists(), f"refused: {words}", code, out, err)
    code, out, err = bicrl("init", f"{temporary}/no.json", f"{temporary}/other", "--tokenizer", TOKENIZER)
    expect(code == 2 and "no.json" in out + err, "a shape that is not there", code, out, err)

    tasks = "tasks={train: [tests/data/infilling_tasks.json], held_out: [tests/data/end_to_end_tasks.json], prompt_style: dice}"
    ids = {key: value for key, value in read_json(Path(SOURCE, "tests/data/tokenizer/config.json")).items() if key.endswith("token_id")}
    for size, parameters in PARAMETERS.items():
        shape = Path(temporary, f"{size}.json")  # with the tokens of the tokenizer that is here
        shape.write_text(json.dumps({**read_json(Path(SOURCE, f"configs/shapes/sdar-{size}.json")), **ids}))
        code, out, err = bicrl("train", f"configs/dice-{size}.yaml", "--dry-run", "policy.checkpoint=''", f"policy.config={shape}",
                               "policy.tokenizer=tests/data/tokenizer", tasks, "policy.device=cpu", "evaluation.tasks=2", "stages.0.tasks=~", "stages.1.tasks=~")
        expect(code == 0, f"configs/dice-{size}.yaml can be read", code, out, err)
        expect(f" {parameters}\n" in out, "and has the published size", out)

print("init: weights are drawn, the published sizes are described")
