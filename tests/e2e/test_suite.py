"""`bicrl eval --suite kernelbench`: programs that exist and a policy's, by our verifier and by KernelBench's own protocol on the
host's clock; its script's arithmetic on the files; what is refused."""
import json
import subprocess
import sys
from pathlib import Path

from support import SOURCE, bicrl, expect, folder, patient, read_json, read_lines

TASKS = SOURCE / "tests/data/kernelbench_level1.json"
ROW_SUMS = (SOURCE / "tests/honest/row_sum_tree.py").read_text()  # answers 1_Row_sums
PLAIN = "import torch\n\nclass ModelNew(torch.nn.Module):\n    def __init__(self{arguments}):\n        super().__init__()\n\n    def forward(self, {inputs}):\n        return {answer}\n"
EVAL = f"tasks: {{files: ['{TASKS}']}}\nverifier: {{server: {{workers: 2, cost_device: l4}}}}\n"
STOCK = ["suite.protocol=kernelbench", "suite.stock={device: cpu, timing_trials: 5, timeout_s: 600, memory_gib: 8, build_jobs: 2}"]


def plain(answer, inputs, arguments=""):
    return PLAIN.format(answer=answer, inputs=inputs, arguments=arguments)


def check_script(results, figures):
    """KernelBench's arithmetic over our files gives our figures."""
    baseline = read_json(results / "baseline_time_torch.json")
    first = figures["kernelbench"]["first_sample"]
    expected = {**first, "problems": [int(name.split("_")[0]) for name in baseline["level1"]],
                "fast_p": {p: first["fast_p"][p] or 0 for p in ("0", "0.5", "0.8", "1", "1.5", "2", "4")}}
    (results / "figures.json").write_text(json.dumps(expected))
    done = subprocess.run([sys.executable, SOURCE / "tests/trainer/evaluation/kernelbench_analysis.py", results / "eval_results.json",
                           results / "baseline_time_torch.json", "1", results / "figures.json"], capture_output=True, text=True)
    expect(done.returncode == 0, "the script's arithmetic gives our figures", done.stdout, done.stderr)
    return read_json(results / "eval_results.json"), baseline["level1"]


with folder() as temporary:
    here = Path(temporary)
    config, json_path, results = here / "eval.yaml", here / "figures.json", here / "results"
    config.write_text(EVAL)

    def evaluate(*words, **options):
        code, out, err = bicrl("eval", config, "--suite", "kernelbench", "--level", "1", "--json", json_path,
                               f"suite.results={results}", *words, **options)
        expect(code == 0, "the evaluation ends well", out, err)
        figures = read_json(json_path)
        return figures, out, *check_script(results, figures)

    # ---- Programs that exist, by KernelBench's own protocol ----
    programs = here / "run"
    programs.mkdir()
    samples = {(1, 0): plain("x.sum(1)", "x"), (1, 1): plain("x.sum(0)", "x"), (2, 0): "import os\nos._exit(0)\n",
               (2, 1): plain("(x - y) * 0.5", "x, y", ", factor")}
    for (problem, sample), text in samples.items():
        (programs / f"level_1_problem_{problem}_sample_{sample}_kernel.py").write_text(text)
    figures, out, graded, baseline = evaluate("--programs", programs, "pass_at_k=[1, 2]", *STOCK)
    expect(list(graded) == ["1", "2", "3"] and [len(graded[p]) for p in graded] == [2, 2, 1], "every problem is there", graded)
    expect([s["correctness"] for p in graded for s in graded[p]] == [True, False, False, True, False], "who is right", graded)
    expect("process_ended" in graded["2"][0]["metadata"] and "missing" in graded["3"][0]["metadata"], "why they are not", graded)
    for sample in graded["1"] + graded["2"]:
        expect("trusts the candidate" in sample["metadata"]["protocol"] and sample["metadata"]["device"] == "cpu",
               "each result says whom it trusts, and the device", sample)
    expect(graded["1"][0]["runtime"] > 0 and graded["1"][1]["runtime"] == -1, "right ones are timed", graded)
    expect([entry["num_trials"] for entry in baseline.values()] == [5, 5, 0], "references with programs are timed", baseline)
    rates = figures["pass_at_k"]
    expect(abs(rates["1"]["value"] - 1 / 3) < 1e-12 and abs(rates["2"]["value"] - 2 / 3) < 1e-12, "pass@k", figures)
    expect(figures["kernelbench"]["best_of"]["correct"] == 2 / 3 and figures["kernelbench"]["device"] == "cpu", "best of two", figures)
    for words in ("trusts the programs", "best of 2", "fast_0 ", "pass@2", "1 problems have no program"):
        expect(words in out, f"the report says: {words}", out)

    # ---- The same place, by our verifier: of lines, with modelled times ----
    lines = here / "programs.jsonl"
    lines.write_text("".join(json.dumps({"task_id": f"level_1_problem_{p}", "program": text}) + "\n"
                             for p, text in ((1, ROW_SUMS), (1, plain("x.sum(1)", "x")), (3, ROW_SUMS))))
    figures, out, graded, baseline = evaluate("--programs", lines, "measure_time=true", *patient(600))
    expect([s["correctness"] for s in graded["1"]] == [True, False] and not graded["3"][0]["correctness"], "our verdicts", graded)
    first = graded["1"][0]
    expect(first["metadata"]["clock"] == "model" and first["runtime"] > 0 and first["ref_runtime"] == baseline["1_Row_sums.py"]["mean"],
           "modelled times, called so", first, baseline)
    expect("does not trust" in first["metadata"]["protocol"] and "our verifier" in out, "whose verdicts these are", first, out)

    # ---- A policy's responses ----
    policy = ["policy.config=configs/quickstart/policy.json", "policy.tokenizer=configs/quickstart", "rollout.max_new_tokens=8",
              "samples_per_task=2", "pass_at_k=[1, 2]"]
    figures, out, graded, _ = evaluate(*policy, f"responses={here}/responses.jsonl", *STOCK)
    expect([len(graded[p]) for p in graded] == [2, 2, 2] and figures["samples_per_task"] == 2, "responses to each problem", graded)
    generated = read_lines(here / "responses.jsonl")
    expect(len(generated) == 6 and all("verdict" not in line for line in generated), "responses are kept", generated)
    figures, out, again, _ = evaluate("--programs", here / "responses.jsonl", *STOCK)
    expect([[s["compiled"] for s in again[p]] for p in again] == [[s["compiled"] for s in graded[p]] for p in graded], "they can be graded again", again)
    figures, out, graded, _ = evaluate(*policy, f"responses={here}/verified.jsonl", *patient(600), ranks=2)
    expect([len(graded[p]) for p in graded] == [2, 2, 2] and figures["ranks"] == 2, "by our verifier, from two ranks", graded)
    expect([line["program"] for line in read_lines(here / "verified.jsonl")] == [line["program"] for line in generated],
           "the same responses whoever grades them", generated)

    # ---- What is refused ----
    def refused(expected_code, text, *words, ranks=None):
        code, out, err = bicrl("eval", config, *words, ranks=ranks)
        expect(code == expected_code and text in err, f"refused: {text}", code, out, err)
        return err

    suite = ["--suite", "kernelbench", "--level", "1"]
    if not Path("/dev/nvidiactl").exists():
        printed = refused(3, "cannot run here: there is no NVIDIA driver", *suite, "--programs", programs, "suite.protocol=kernelbench")
        expect(len(printed.strip().splitlines()) == 1, "in one line", printed)
        printed = refused(3, "there is no NVIDIA driver", *suite, *policy, "suite.protocol=kernelbench")
    refused(2, "no task file has a problem of level 4", "--suite", "kernelbench", "--level", "4", "--programs", programs)
    refused(2, "suite.name", "--suite", "another", "--programs", programs)
    refused(2, "does not exist", *suite, "--programs", here / "none")
    refused(2, "cannot make the folder", *suite, "--programs", programs, f"suite.results={config}/below")
    refused(2, "pass@3 needs", *suite, "--programs", programs, "pass_at_k=[3]")
    refused(2, "by one process", *suite, "--programs", programs, ranks=2)
    refused(2, "has no effect with `suite.programs`", *suite, "--programs", programs, *policy)
    code, out, err = bicrl("eval", config, *suite, "--programs", programs, "--dry-run")
    expect(code == 0 and "# tasks: 3\n" in out and "programs:" in out, "a dry run", out, err)
print("programs that exist and a policy's, by both protocols; the script's arithmetic; what is refused")
