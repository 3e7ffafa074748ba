"""Makes a run directory as a run of a few phases leaves it, without training: for tests of pages."""
import gzip
import json
import random

SCAFFOLD = 'import torch\n\nsource = """\n{}\n"""\ncpp_src = """\nvoid f();\n"""\nmodule = load_inline(cpp_sources=cpp_src, cuda_sources=source)\n'
FAULTS = {"compile": "cuda_sources:2:5: error: expected ';'", "wrong_value": "0 of 4 trials are correct", "race": "two threads write y[0]"}


def verdict(outcome, speedup):
    correct = outcome == "correct"
    return {"correct": correct, "compiled": outcome != "compile", "fault_class": "" if correct else outcome, "outcome": "graded",
            "eager_ms": 0.06 if correct else 0, "candidate_ms": 0.06 / speedup if correct else 0,
            "clock": "model" if correct else "", "device": "l4, tables 3",
            "counters": json.dumps({"bound_by": "memory", "listed": [{"name": "k1", "blocks": 8, "threads_per_block": 64,
                                                                      "load_sectors": 100}]}) if correct else "",
            "diagnostics": "" if correct else FAULTS.get(outcome, outcome)}


def denoising(text, begin, draw):
    """Of a response whose tokens are the words behind `begin`, four a block."""
    pieces, piece = [], ""
    for character in text[begin:]:
        piece += character
        if character in " \n;":
            pieces.append(piece)
            piece = ""
    pieces += [piece] if piece else []
    steps = [1 + 3 * (i // 4) + draw.randrange(3) for i in range(len(pieces))] + [-3 * (len(pieces) // 4) - 3]
    return {"block_tokens": 4, "offset_in_block": 0, "text_begin": len(text[:begin].encode()),
            "text_bytes": len(text[begin:].encode()), "tail": "<end>",
            "bytes": [len(p.encode()) for p in pieces] + [5], "scored_tokens": len(pieces),
            "step_changes": [abs(b) - abs(a) for a, b in zip([0] + steps, steps)],
            "log_prob_hundredths": [-draw.randrange(120) for _ in pieces] + [0]}


class RunMaker:
    def __init__(self, folder, seed=1):
        self.folder, self.draw = folder, random.Random(seed)
        for below in ("ledger", "texts", "evaluations", "checkpoints"):
            (folder / below).mkdir(parents=True, exist_ok=True)
        self.metrics = []
        self.state(False)
        (folder / "config.yaml").write_text("run:\n  seed: 1\n")

    def state(self, finished):
        (self.folder / "run.json").write_text(json.dumps({"format": 6, "protocol": "8", "finished": finished,
                                                          "machine": {"processor": "some CPU"}}) + "\n")

    def line(self, file, entry):
        with open(self.folder / file, "a") as out:
            out.write(json.dumps(entry) + "\n")

    def metric(self, entry):
        self.metrics.append(entry)
        self.line("metrics.jsonl", entry)

    def warm_up(self, steps):
        for step in range(1, steps + 1):
            self.metric({"phase": "warm_up", "step": step, "steps": steps, "loss": 7 / step + self.draw.random() / 10,
                         "grad_norm": self.draw.random(),
                         "step_seconds": 0.3, "train_seconds": 0.29, "memory_peak_bytes": 7e8 + step, "checkpoint_stall_seconds": 0.0})

    def step(self, phase, step, steps, groups, **figures):
        """`groups`: lists of dictionaries with task, outcome, speedup, body and, if wanted, text, diagnostics and repair."""
        listed, texts, faults, rewards = [], [], {}, []
        for g, group in enumerate(groups):
            mine = [1 + r["speedup"] if r["outcome"] == "correct" else 0 for r in group]
            rewards += mine
            for s, (r, reward) in enumerate(zip(group, mine)):
                key = f"{phase}-{step}-{g}-{s}"
                advantage = reward - sum(mine) / len(mine)
                found = {**verdict(r["outcome"], r["speedup"]), **({"diagnostics": r["diagnostics"]} if "diagnostics" in r else {})}
                if r["outcome"] != "correct":
                    faults[r["outcome"]] = faults.get(r["outcome"], 0) + 1
                listed.append({"group": g, "sample": s, "task": r["task"], "reward": reward, "advantage": advantage,
                               "masked": False, "truncated": False, "verdict_key": key})
                self.line("ledger/rank-0.jsonl", {"key": key, "round": 0, "verdict": found})
                text = r.get("text") or SCAFFOLD.format(r["body"])
                texts.append({"phase": phase, "step": step, "group": g, "sample": s, "task": r["task"],
                              "repair": r.get("repair", False), "reward": reward, "advantage": advantage,
                              "terms": {"correct": float(r["outcome"] == "correct"), "speedup": r["speedup"]}, "text": text,
                              "truncated": False, "verdict": found,
                              "prompt": "Write " + r["task"], "denoising": denoising(text,
                                                                                     text.find(r["body"]) if "body" in r else 0, self.draw)})
        correct = sum(r["outcome"] == "correct" for group in groups for r in group)
        self.metric({"phase": phase, "step": step, "steps": steps, "responses": len(rewards), "groups": len(groups),
                     "reward_mean": sum(rewards) / len(rewards),
                     "correct_rate": correct / len(rewards), "compile_rate": 1 - faults.get("compile", 0) / len(rewards),
                     "fault_classes": faults, "zero_variance_groups": 0, "too_few_groups": 0,
                     "reward_terms": {"correct": correct / len(rewards),
                                      "speedup": sum(rewards) / len(rewards) - correct / len(rewards)}, "entropy": self.draw.random(),
                     "kl": self.draw.random() / 9,
                     "loss": self.draw.random(), "grad_norm": self.draw.random(), "step_seconds": 9 + self.draw.random(),
                     "rollout_seconds": 1.5, "verify_wait_seconds": 4.25, "train_seconds": 2.5,
                     "checkpoint_stall_seconds": 0.1, "memory_peak_bytes": 8e8 + step,
                     "tokens_per_second": 800 * self.draw.random(), "clock": "model", "reward_rule": "profile", **figures})
        self.line("responses.jsonl", {"advantage": "zscore", "phase": phase, "step": step, "responses": listed})
        with gzip.open(self.folder / "texts" / f"{phase}-{step:06d}-rank-0.jsonl.gz", "wt") as out:
            out.writelines(json.dumps(entry) + "\n" for entry in texts)

    def evaluation(self, name, correct, of, speedup):
        for i in range(of):
            good = i < correct
            # Some more that no rate counts.
            if i < 3:
                self.line(f"evaluations/{name}.jsonl", {"task_id": f"lost_{i}", "sample": 0, "verdict": ("undecided", "infrastructure", "invalid_task")[i],
                                                        "compiled": False, "correct": False, "truncated": False, "tokens": 9, "program": ""})
            self.line(f"evaluations/{name}.jsonl", {"task_id": f"held_{i}", "sample": 0, "verdict": "correct" if good else "race",
                                                    "compiled": True, "correct": good,
                                                    "truncated": False, "tokens": 9, "program": "int main() {}",
                                                    **({"speedup": speedup, "candidate_ms": 0.05,
                                                        "eager_ms": 0.05 * speedup} if good else {})})


def make_run(folder, steps=12, seed=1):
    """A finished run whose races grow, whose reward falls at step 7, and whose fastest kernel of task_1 is found at step 5."""
    run = RunMaker(folder, seed)
    run.warm_up(40)
    run.evaluation("warm_up", 40, 64, 1.2)
    for step in range(1, steps + 1):
        groups = []
        for task in ("task_1", "task_2", f"task_{2 + step}"):
            group = []
            for sample in range(4):
                speedup = round(1 + run.draw.random(), 3)
                outcome = "correct"
                if step == 7 and sample > 0: outcome = "compile"
                elif sample == 3: outcome = "race" if step > 6 else "wrong_value"
                if (step, task, sample) == (5, "task_1", 2): speedup = 3.75
                body = f"__global__ void k(float* y) {{\n  y[{step}] = {sample}; // {speedup}\n}}"
                group.append({"task": task, "outcome": outcome, "speedup": speedup if outcome == "correct" else 0, "body": body,
                              "repair": step == 9 and task == "task_2"})
            groups.append(group)
        run.step("end_to_end", step, steps, groups, imitation_updates=2 if step > 2 else 0)
        if step == 6: run.evaluation("end_to_end-000006", 48, 64, 1.5)
    run.evaluation("end_to_end", 52, 64, 1.75)
    run.state(True)
    return run
