"""A small policy that solves about half of its training tasks, evaluated by one process, by one rank and by two: equal
figures; greedy; its progress bar; and what is refused."""
import json
import math
import subprocess
from pathlib import Path

from support import BINARY, ENVIRONMENT, MPIRUN, SOURCE, bicrl, expect, folder, on_terminal, patient, read_json, read_lines, started_verifier

TASKS = "{prompt_style: compact, %s synthetic: {train_compositions: 8, development_compositions: 8, max_length: 2}}"


def section_of(document, head):
    """The lines below `head` that are indented further."""
    lines = document.splitlines()
    first = lines.index(head) + 1
    end = next((i for i in range(first, len(lines)) if not lines[i].startswith("   ")), len(lines))
    return lines[first:end]


with folder() as temporary:
    Path(temporary, "sft.yaml").write_text(
        f"run: {{directory: {temporary}/run}}\n"
        "policy: {config: configs/quickstart/policy.json, tokenizer: configs/quickstart}\n"
        f"tasks: {TASKS % ''}\n"
        "warm_up: {steps: 105, samples_per_step: 16, infilling_share: 0, update: {learning_rate: 3.0e-3, tokens_per_pack: 2048}}\n"
        "reward: configs/rewards/binary.yaml\nevaluation: {tasks: 0}\n")
    code, out, err = bicrl("sft", f"{temporary}/sft.yaml")
    expect(code == 0, "the policy is trained", out, err)
    config = f"{temporary}/eval.yaml"
    Path(config).write_text(
        f"policy: {{checkpoint: {temporary}/run/checkpoints/warm_up}}\n"
        f"tasks: {TASKS % 'split: train,'}\n"
        "samples_per_task: 4\npass_at_k: [1, 2, 4]\nmeasure_time: true\nrollout: {max_new_tokens: 96, threshold: 0.9}\n"
        "verifier: {server: {workers: 2}}\n")

    def evaluate(name, *words, ranks=None):
        code, out, err = bicrl("eval", config, *words, f"responses={temporary}/{name}.jsonl", "--json",
                               f"{temporary}/{name}.json", ranks=ranks)
        expect(code == 0, f"{name}: ends well", out, err)
        figures = read_json(f"{temporary}/{name}.json")
        expect(figures.pop("ranks") == (ranks or 1) and figures.pop("seconds") > 0, f"{name}: ranks and time", figures)
        expect(figures["unverified"] == 0, f"{name}: every response has a verdict", figures)
        responses = [{**r, "verdict": (r["verdict"]["correct"], r["verdict"]["fault_class"])}
                     for r in read_lines(f"{temporary}/{name}.jsonl")]
        table = [line for line in out.splitlines() if "responses in" not in line]
        return figures, responses, table

    figures, responses, table = evaluate("alone", *patient(60))
    expect(figures["responses"] == 32 and len(responses) == 32, "four responses to each of eight tasks", figures)
    expect(0 < figures["all"]["correct"]["value"] < 1, "some responses are correct, some are not", table)
    rates = [figures["pass_at_k"][k]["value"] for k in ("1", "2", "4")]
    expect(math.isclose(rates[0], figures["all"]["correct"]["value"]) and rates == sorted(rates) and rates[2] > rates[0],
           "more samples pass more often", rates)
    solved = [task["correct"] > 0 for task in figures["per_task"]]
    expect(abs(rates[2] - sum(solved) / 8) < 1e-12, "pass@4 of four samples is the share of solved tasks", figures)
    fault_classes = [r["verdict"][1] for r in responses if not r["verdict"][0]]
    expect(figures["fault_classes"] == {name: fault_classes.count(name) for name in set(fault_classes)}, "faults are counted", figures)
    expect(sum(c["tasks"] for c in figures["families"].values()) == 8, "every task has a family", figures)
    expect(any(line.startswith("pass@4") for line in table), "a table", table)
    speedups = {}
    for line in read_lines(f"{temporary}/alone.jsonl"):
        if line["verdict"]["correct"]:
            speedups.setdefault(line["task_id"], []).append(line["verdict"]["eager_ms"] / line["verdict"]["candidate_ms"])

    def geometric_mean(values):
        return math.exp(sum(map(math.log, values)) / len(values))

    expect(math.isclose(figures["all"]["speedup"]["value"], geometric_mean([geometric_mean(v) for v in speedups.values()])), "speed-ups", figures)
    expect(math.isclose(figures["all"]["best_speedup"]["value"], geometric_mean([max(v) for v in speedups.values()])), "the fastest", figures)
    expect(math.isclose(figures["all"]["fast_1"]["value"], sum(x > 1 for v in speedups.values() for x in v) / 32), "fast_1", figures)
    expect(any(line.startswith("fast_2") for line in table), "speed in the table", table)
    order = [(r["task_id"], r["sample"]) for r in responses]
    expect(order == [(task["task_id"], s) for task in figures["per_task"] for s in range(4)], "responses in order", order)

    # From here on by address: a verifier of one's own takes seconds to start.
    _, address = started_verifier("workers=2", *patient(60, prefix=""))
    by_address = f"verifier: {{addresses: ['{address}']}}\n"
    Path(config).write_text(Path(config).read_text().replace("verifier: {server: {workers: 2}}\n", by_address))
    for ranks in (1, 2):
        again = evaluate(f"ranks_{ranks}", ranks=ranks)
        expect(again == (figures, responses, table), f"equal figures on {ranks} ranks", figures, again[0], table, again[2])

    greedy = [evaluate(f"greedy_{ranks}", "rollout.temperature=0", "samples_per_task=1", "pass_at_k=[1]", "seed=5",
                       ranks=ranks)[0] for ranks in (None, 2)]
    expect(greedy[0] == greedy[1], "greedy figures are equal, too", greedy)
    expect(greedy[0]["all"]["correct"]["high"] - greedy[0]["all"]["correct"]["low"] > 0.2, "Wilson of eight tasks", greedy)

    # Task files, with the infilling form, and a held-out split that shares nothing with training.
    code, out, err = bicrl("eval", config, "tasks.split=development", "samples_per_task=1", "pass_at_k=[]", "tasks.limit=2",
                           "stage=infilling", "rollout.max_new_tokens=16", "--json", f"{temporary}/infilling.json")
    expect(code == 0 and "infilling, 2 tasks x 1" in out, "the infilling stage", out, err)
    asked = {}
    for split in ("train", "development", "test"):
        code, out, err = bicrl("eval", config, f"tasks.split={split}", "tasks.synthetic.test_compositions=4", "samples_per_task=1", "pass_at_k=[]",
                               "tasks.limit=2", "measure_time=false", "rollout.max_new_tokens=8", f"responses={temporary}/{split}.jsonl")
        expect(code == 0, f"the {split} split", out, err)
        asked[split] = {r["task_id"] for r in read_lines(f"{temporary}/{split}.jsonl")}
    expect(len(set.union(*asked.values())) == 6, "splits share no task", asked)

    # The bar is there on a terminal, for ranks as well, and nowhere else.
    short = [BINARY, "eval", config, "tasks.limit=2", "samples_per_task=2", "pass_at_k=[1]", "rollout.max_new_tokens=16"]
    for command in (short, [*MPIRUN, "-np", "2", *short]):
        code, shown = on_terminal(*command)
        expect(code == 0, "the command ends well", shown)
        expect("evaluating  [" in shown and "pass@1" in shown, "a progress bar", shown)
        done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, cwd=SOURCE)
        expect(done.returncode == 0 and "evaluating" not in done.stdout + done.stderr and "\x1b" not in done.stdout,
               "no progress bar in a pipe", done.stdout, done.stderr)

    def refused(expected_code, text, *words):
        code, out, err = bicrl("eval", config, *words)
        expect(code == expected_code and text in err, f"refused: {text}", code, out, err)

    refused(2, "does not exist", f"policy.checkpoint={temporary}/none")
    refused(2, "tokenizer", f"policy.checkpoint={temporary}")
    refused(2, "pass@8 needs at least 8 samples", "pass_at_k=[8]")
    code, out, err = bicrl("eval", config, "pass_at_k=[8]", ranks=2)
    expect(code == 2 and err.count("pass@8 needs") == 1, "ranks tell a fault of the input once", code, out, err)
    Path(temporary, "empty.json").write_text("[]")
    refused(2, "empty.json", f"tasks={{files: [{temporary}/empty.json]}}")
    refused(2, "is no folder", "--json", f"{temporary}/none/figures.json")
    refused(2, "verifier.server.worker", "verifier.server.worker=2")

    # A key of the file that a word of the command line makes idle is dropped, and said to be.
    idle = "rollout.threshold: has no effect with 'strategy: random', and is left out"
    refused(2, idle, "rollout.strategy=random", "--json", f"{temporary}/none/figures.json")
    code, out, err = bicrl("eval", config, "rollout.strategy=random", "--dry-run")
    expect(code == 0 and any(line.startswith("# ") and line.endswith(idle) for line in out.splitlines()), "a dry run says so", code, out, err)

    reference = ("import torch\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x + 1\n\n"
                 "def get_inputs():\n    return [torch.rand(8)]\n\ndef get_init_inputs():\n    return []\n")
    # A prompt that does not fit is left out and reported, once; if none is left, that ends the command.
    tasks = [{"idx": i, "level": 1, "cuda_code": "", "pytorch_code": reference + "#" + " filler" * (3000 if i == 1 else 0)} for i in range(2)]
    Path(temporary, "long.json").write_text(json.dumps(tasks))
    long = [f"tasks={{files: [{temporary}/long.json]}}", "rollout.max_new_tokens=8"]
    for ranks in (None, 2):
        code, out, err = bicrl("eval", config, *long, "samples_per_task=2", "pass_at_k=[1]", ranks=ranks)
        expect(code == 0 and err.count("1 of 2 tasks are left out") == 1 and "task long:1 has" in err and "2 responses" in out,
               "a prompt that is too long", code, out, err)
        Path(temporary, "long.json").write_text(json.dumps(tasks[::-1]))  # a limit counts the tasks that fit
        code, out, err = bicrl("eval", config, *long, "tasks.limit=1", "samples_per_task=2", "pass_at_k=[1]", ranks=ranks)
        expect(code == 0 and "2 responses" in out, "a limit behind a prompt that is too long", code, out, err)
        Path(temporary, "long.json").write_text(json.dumps(tasks[1:]))
        code, out, err = bicrl("eval", config, *long, "samples_per_task=2", "pass_at_k=[1]", ranks=ranks)
        expect(code == 2 and err.count("none is left") == 1, "no prompt that fits", code, out, err)
        Path(temporary, "long.json").write_text(json.dumps(tasks))

    # configs/eval.yaml says that it asks the quickstart's held-out tasks, and that the quickstart compares alike.
    fresh = ["policy.checkpoint=", "policy.config=configs/quickstart/policy.json", "policy.tokenizer=configs/quickstart"]
    documents = [bicrl(*words, "--dry-run") for words in (("eval", "configs/eval.yaml", *fresh),
                                                          ("train", "configs/quickstart.yaml"))]
    expect(all(code == 0 for code, _, _ in documents), "both configurations are read", documents)
    for section in ("  synthetic:", "  server:"):
        resolved = [section_of(out, section) for _, out, _ in documents]
        expect(resolved[0] == resolved[1], f"equal {section}", *resolved)
print("an evaluation alone and on ranks, greedy, its bar, and what is refused")
