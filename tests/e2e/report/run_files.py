"""A run's files, read without the program: what a page has to agree with."""
import gzip
import json
import math
from pathlib import Path


def lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


class RunFiles:
    def __init__(self, folder, number=0):
        """`number`: of the run on its page."""
        self.folder, self.number = Path(folder), number
        self.name = self.folder.name
        self.metrics = lines(self.folder / "metrics.jsonl")
        self.row_of = {(entry["phase"], entry["step"]): row for row, entry in enumerate(self.metrics)}
        verdicts = {entry["key"]: entry["verdict"] for file in (self.folder / "ledger").glob("*.jsonl") for entry in lines(file)}
        self.responses = [{**response, "row": self.row_of[step["phase"], step["step"]], "verdict": verdicts[response["verdict_key"]]}
                          for step in lines(self.folder / "responses.jsonl") for response in step["responses"]]

    def text(self, row, group, sample):
        entry = self.metrics[row]
        with gzip.open(self.folder / "texts" / f"{entry['phase']}-{entry['step']:06d}-rank-0.jsonl.gz", "rt") as file:
            return next(line for line in map(json.loads, file) if (line["group"], line["sample"]) == (group, sample))

    def place(self, row):
        return self.metrics[row]["phase"], self.metrics[row]["step"]

    def row_of_evaluation(self, name):
        """The row of the step behind which it was made."""
        phase, _, step = name.rpartition("-")
        return self.row_of[phase, int(step)] if phase else max(row for (phase, _), row in self.row_of.items() if phase == name)

    def evaluations(self):
        """The rates of each, by the keys of the curves on which they lie."""
        found = {}
        for file in (self.folder / "evaluations").glob("*.jsonl"):
            judged = [line for line in lines(file) if line["verdict"] not in ("infrastructure", "invalid_task", "undecided")]
            speedups = [line["speedup"] for line in judged if line["correct"]]
            found[file.stem] = {"correct_rate": len(speedups) / len(judged), "compile_rate": sum(line["compiled"] for line in judged) / len(judged),
                                "geomean_speedup": math.exp(sum(map(math.log, speedups)) / len(speedups)),
                                "fast_1": sum(speedup > 1 for speedup in speedups) / len(judged)}
        return found

    def best_of_task(self, task):
        """The first response with the task's largest speed-up."""
        correct = [r for r in self.responses if r["task"] == task and r["verdict"]["correct"]]
        return max(correct, key=lambda r: r["verdict"]["eager_ms"] / r["verdict"]["candidate_ms"])

    def largest_fall(self):
        """The row of the step whose mean reward is furthest below that of the step before, in the same phase."""
        with_reward = [row for row, entry in enumerate(self.metrics) if "reward_mean" in entry]
        pairs = [(a, b) for a, b in zip(with_reward, with_reward[1:]) if self.metrics[a]["phase"] == self.metrics[b]["phase"]]
        return min(pairs, key=lambda pair: self.metrics[pair[1]]["reward_mean"] - self.metrics[pair[0]]["reward_mean"])

    def fault_that_rose(self, before, after):
        counts = [self.metrics[row].get("fault_classes", {}) for row in (before, after)]
        return max(counts[1], key=lambda name: counts[1][name] - counts[0].get(name, 0))

    def fault_that_grew(self):
        """Whose share of the responses rose most from the first quarter of the steps to the last."""
        rows = sorted({r["row"] for r in self.responses})
        quarter = max(1, len(rows) // 4)

        def share(chosen, outcome):
            found = [r["verdict"]["fault_class"] for r in self.responses if r["row"] in chosen]
            return found.count(outcome) / len(found)
        outcomes = {r["verdict"]["fault_class"] for r in self.responses} - {""}
        return max(outcomes, key=lambda each: share(set(rows[-quarter:]), each) - share(set(rows[:quarter]), each))

    def where_time_goes(self):
        parts = {"generating": "rollout_seconds", "waiting for verdicts": "verify_wait_seconds", "training": "train_seconds",
                 "waiting for checkpoints": "checkpoint_stall_seconds"}
        total = {label: sum(entry[key] for entry in self.metrics if entry["phase"] != "warm_up") for label, key in parts.items()}
        total["other"] = sum(entry["step_seconds"] for entry in self.metrics if entry["phase"] != "warm_up") - sum(total.values())
        return max(total, key=total.get)

    def solved_least_often(self):
        tasks = {r["task"]: [0, 0] for r in self.responses}
        for r in self.responses:
            tasks[r["task"]][0] += r["verdict"]["correct"]
            tasks[r["task"]][1] += 1
        return min((name for name, (correct, _) in tasks.items() if correct), key=lambda name: (tasks[name][0] / tasks[name][1], name))

    def beat_its_group_most(self):
        best = max(self.responses, key=lambda r: r["advantage"])
        return self.place(best["row"]), best["group"], best["sample"]

    def least_sure_token(self, places):
        """Of the texts at these places (row, group, sample): the smallest hundredths, and the pieces that have them."""
        least, pieces = 0, set()
        for place in places:
            entry = self.text(*place)
            record, text = entry["denoising"], entry["text"].encode()
            begin = record["text_begin"]
            whole = text[begin:begin + record["text_bytes"]] + record["tail"].encode()
            at = 0
            for size, hundredths in zip(record["bytes"], record["log_prob_hundredths"]):
                if hundredths < least: least, pieces = hundredths, set()
                if hundredths == least: pieces.add(whole[at:at + size].decode())
                at += size
        return least, pieces
