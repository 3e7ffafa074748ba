"""What an operator of a run meets: words that are wrong, a run that is stopped or goes on longer, texts that are kept, and a supervised
run without a reward."""
import gzip
import json
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

from support import BINARY, ENVIRONMENT, SOURCE, bicrl, expect, folder, one_verifier, read_json, read_lines

SMALL = ["warm_up.steps=3", "warm_up.samples_per_step=4", "stages.0.steps=1", "stages.0.tasks_per_step=2", "stages.0.samples_per_task=2",
         "stages.1.steps=1", "stages.1.tasks_per_step=2", "stages.1.samples_per_task=2", "evaluation.tasks=2", "rollout.max_new_tokens=32",
         "stages.1.imitation={updates: 1, samples: 2, known_share: 1}",  # so that a step moves the policy, whatever it answers
         *one_verifier()]


def train(run, *overrides, command="train"):
    return bicrl(command, "tests/data/small_run.yaml", f"run.directory={run}", *SMALL, *overrides)


# ---- Words.
code, out, err = bicrl("--version")
expect(code == 0 and re.fullmatch(r"bicrl \d+\.\d+\.\d+( \(commit [0-9a-f]{12}( with changes)?\))?\n", out), "the version", code, out, err)
code, out, err = bicrl("trian", "configs/quickstart.yaml")
expect(code == 2 and "there is no subcommand 'trian'; did you mean train?" in err, "a subcommand that is misspelt", code, out, err)

with folder() as temporary:
    # ---- Everything that is missing is said together.
    code, out, err = bicrl("train", "configs/dice-8b.yaml", f"run.directory={temporary}/none", "--dry-run")
    for file in ("SDAR-8B-Chat", "kernel_infilling.json", "end_to_end_tasks.json", "kernel_infilling_eval.json"):
        expect(code == 2 and file in err, f"{file} is missing", code, err)
    # ---- A dry run refuses what a run refuses.
    for words, reason, status in ((["evaluation.tasks=40"], "40 held-out tasks are asked for, and there are 32", 2),
                                  (["trainer.placement=split"], "needs at least 2 ranks", 2), (["policy.device=cuda"], "policy.device=cuda", 3)):
        for mode in (["--dry-run"], []):
            code, out, err = bicrl("train", "tests/data/small_run.yaml", f"run.directory={temporary}/none", *words, *mode)
            expect(code == status and reason in err, f"{words} {mode}", code, out, err)
    expect(not Path(temporary, "none").exists(), "before anything is written")

    # ---- A run whose texts are kept, and which goes on with more steps when it has finished.
    run = f"{temporary}/run"
    code, out, err = train(run, "run.keep_texts=all", "rollout.strategy=random")
    expect(code == 0 and "rollout.threshold: has no effect with 'strategy: random', and is left out" in err, "an idle key of the file is dropped", code, out, err)
    expect(re.search(r"ETA [\d:]+( s)?, run [\d:]+", out), "what is left of the run", out)
    texts = [json.loads(line) for line in gzip.open(f"{run}/texts/end_to_end-000001-rank-0.jsonl.gz", "rt")]
    expect(len(texts) == 4 and [t["sample"] for t in texts] == [0, 1, 0, 1], "every response", texts)
    entries = read_lines(f"{run}/responses.jsonl")[-1]["responses"]
    for text, entry in zip(texts, entries):
        expect(all(text[key] == value for key, value in entry.items()), "with what is kept of it elsewhere", text, entry)
        expect("class Model" in text["prompt"] and isinstance(text["text"], str) and "terms" in text and "verdict" in text, "prompt, text, verdict", text)
        record = text["denoising"]
        written = text["text"].encode()[record["text_begin"]:record["text_begin"] + record["text_bytes"]] + record["tail"].encode()
        expect(sum(record["bytes"]) == len(written) and len(record["bytes"]) == len(record["step_changes"]) == len(record["log_prob_hundredths"]), "how it was denoised", record)
        expect((len(record["bytes"]) + record["offset_in_block"]) % record["block_tokens"] == 0, "in whole blocks", record)
    code, out, err = bicrl("report", run, "--output", f"{temporary}/report.html")
    page = json.loads(re.search(r'id="data">(.*?)</script>', Path(temporary, "report.html").read_text(), re.S).group(1))
    shown = page["denoising"]["responses"]
    expect(code == 0 and shown and all(len(r["pieces"]) == len(r["steps"]) and max(r["steps"]) >= 1 for r in shown), "the page plays it back", code, err, shown)
    expect("machine: processor" in page["runs"][0]["facts"] or "machine: usable CPUs" in page["runs"][0]["facts"], "and names the machine", page["runs"])
    weights = Path(run, "checkpoints/end_to_end/model.safetensors").read_bytes()
    code, out, err = train(run, "rollout.strategy=random")
    expect(code == 0 and "has finished; more steps of its last stage extend it" in out, "it has finished", code, out, err)
    code, out, err = train(run, "rollout.strategy=random", "stages.1.steps=2")
    expect(code == 0 and "end_to_end 2/2" in out and "end_to_end 1/2" not in out, "goes on where it was", code, out, err)
    expect("end_to_end, step 1" in out and "after end_to_end" in out, "what its end was is a step within the stage", out)
    expect(re.search(r"finished in [\d:]+( s)? \([\d:]+( s)? since it was taken up again\)", out), "and its time counts", out)
    expect(Path(run, "checkpoints/end_to_end/model.safetensors").read_bytes() != weights, "with new weights under the stage's name")
    whole = f"{temporary}/whole"
    code, out, err = train(whole, "rollout.strategy=random", "stages.1.steps=2")
    expect(code == 0 and "since it was taken up" not in out, "in one go", code, out, err)
    same = [Path(each, "checkpoints/end_to_end/model.safetensors").read_bytes() for each in (run, whole)]
    expect(same[0] == same[1], "the same weights as a run that was that long from the start")
    code, out, err = train(run, "rollout.strategy=random", "stages.1.steps=3", "run.seed=5")
    expect(code == 2 and "run.seed: 1 -> 5" in err, "another run is not an extension", code, err)

    # ---- It goes on with other files, and says so: within the stage the curriculum begins anew.
    tasks = json.loads((SOURCE / "tests/data/infilling_tasks.json").read_text())
    Path(temporary, "grown.json").write_text(json.dumps(tasks[:3]))
    grown = ["tasks.synthetic=~", f"tasks.train=[{temporary}/grown.json]", "evaluation.tasks=0", "warm_up.steps=0",
             "stages=[{stage: infilling, steps: 1, tasks_per_step: 2, samples_per_task: 2}]"]
    code, out, err = train(f"{temporary}/grown", *grown)
    expect(code == 0 and "infilling 1/1" in out, "on three tasks", code, out, err)
    Path(temporary, "grown.json").write_text(json.dumps(tasks[:4]))
    code, out, err = train(f"{temporary}/grown", *grown, "stages.0.steps=2")
    expect(code == 0 and "infilling 2/2" in out and "infilling 1/2" not in out, "and on with four", code, out, err)
    expect("going on with another content of: training tasks" in err and "the curriculum of stage infilling begins anew" in err, "which is said", err)

    # ---- Tasks that are trained on and held out are refused by all who read them; allowed, a task that can never be graded leaves both
    # lists at the same evaluation, whether or not the run was taken up again in between.
    tasks = json.loads((SOURCE / "tests/data/infilling_tasks.json").read_text())[:3]
    tasks[1]["pytorch_code"] = tasks[1]["pytorch_code"].replace("def get_inputs():\n    return [", "def get_inputs():\n    return nothing[")
    Path(temporary, "tasks.json").write_text(json.dumps(tasks))
    both = ["tasks.synthetic=~", f"tasks.train=[{temporary}/tasks.json]", f"tasks.held_out=[{temporary}/tasks.json]", "evaluation.tasks=3",
            "warm_up.steps=0", "stages=[{stage: infilling, steps: 1, tasks_per_step: 3, samples_per_task: 2}]"]
    for command in (["train", "--dry-run"], ["train"], ["tasks", "--check"]):
        code, out, err = bicrl(*command, "tests/data/small_run.yaml", f"run.directory={temporary}/both", *SMALL, *both)
        expect(code == 2 and "3 of 3 held-out tasks are training tasks as well: of the file tasks" in err, f"{command}: refused", code, out, err)
    counts = []
    for steps in ((1, 2), (2,)):
        place = f"{temporary}/both-{len(steps)}"
        for count in steps:
            code, out, err = train(place, *both, "tasks.allow_overlap=true", f"stages.0.steps={count}")
            expect(code == 0 and "(tasks.allow_overlap)" in err, "allowed, and said", code, out, err)
        counts.append([read_json(f"{place}/summary.json")["held_out"][name]["tasks"] for name in ("start", "infilling")])
    expect(counts[0] == counts[1] == [3, 2], "the same tasks count", counts)

    # ---- Ctrl-C is acknowledged at once.
    words = [BINARY, "train", "tests/data/small_run.yaml", f"run.directory={temporary}/stopped", *SMALL, "warm_up.steps=100000"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=SOURCE, env=ENVIRONMENT)
    metrics = Path(temporary, "stopped", "metrics.jsonl")
    deadline = time.monotonic() + 300
    while not (metrics.exists() and metrics.read_text().count("\n") >= 2) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=120)
    expect(process.returncode == 130 and output.count("stopping after this step; again to end now") == 1, "said once", process.returncode, output)

    # ---- Supervised steps need no reward.
    config = f"{temporary}/sft.yaml"
    Path(config).write_text(re.sub(r"(?m)^reward:.*$", "", (SOURCE / "tests/data/small_run.yaml").read_text()))
    words = [config, f"run.directory={temporary}/sft", *SMALL, f"policy.config={SOURCE}/configs/quickstart/policy.json", f"policy.tokenizer={SOURCE}/configs/quickstart"]
    code, out, err = bicrl("sft", *words)
    expect(code == 0 and "after warm_up" in out and read_json(f"{temporary}/sft/summary.json")["best_checkpoint"] == "warm_up", "no reward", code, out, err)
    code, out, err = bicrl("train", *words, f"run.directory={temporary}/sft-2")
    expect(code == 2 and "reward: is required" in err, "stages need one", code, err)

    # ---- A port that is in use is said before the self-check.
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        for key in ("listen", "metrics_listen"):
            code, out, err = bicrl("verifier", f"{key}=127.0.0.1:{taken.getsockname()[1]}")
            expect(code == 2 and f"verifier.{key}: cannot listen on" in err and "in use" in err and "self-check" not in err, f"{key} is in use", code, out, err)

print("operating: words, extensions, texts, stops, ports")
