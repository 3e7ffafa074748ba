"""Ten questions about a run, written before the page was, answered from the data that a page of `bicrl report` holds.

    report_answers.py REPORT.html TASK
"""
import json
import re
import sys
from pathlib import Path


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1))


def place(data, row, run=0):
    phase = next(p for p in data["runs"][run]["phases"] if p["begin"] <= row < p["end"])
    return phase["name"], row - phase["begin"] + phase["first_step"]


def which_step_found_the_fastest_kernel(data, task):
    kernel = next(k for k in data["kernels"]["kernels"][0] if k["task"] == task)
    return kernel["phase"], kernel["step"], kernel["speedup"]


def how_did_the_fastest_kernel_come_about(data, task):
    return next(k["lineage"] for k in data["kernels"]["kernels"][0] if k["task"] == task)


def where_did_the_reward_fall_most(data):
    """From one step to the next."""
    return place(data, data["rewards"]["falls"][0][0]["row"])


def why_did_the_reward_fall_there(data):
    """The fault class whose number rose most at that step."""
    failures = data["rewards"]["falls"][0][0]["failures"]
    return max(failures, key=failures.get)


def which_fault_grew(data):
    """From the first quarter of the steps to the last one."""
    shares = {name: o["last_quarter"] - o["first_quarter"] for name, o in data["rewards"]["outcomes"][0].items() if name != "correct"}
    return max(shares, key=shares.get)


def did_held_out_correctness_improve(data):
    plain = [e for e in data["overview"]["evaluations"][0] if not e["name"].endswith(("_best_of", "_as_infilling"))]
    return plain[0]["correct"]["value"], plain[-1]["correct"]["value"], plain[-1]["correct"]["low"] > plain[0]["correct"]["high"]


def where_does_time_go(data):
    """In all phases but the warm-up."""
    total = {}
    for phase in data["overview"]["time"][0]:
        for part, seconds in phase["parts"].items():
            if phase["phase"] != "warm_up": total[part] = total.get(part, 0) + seconds
    return max(total, key=total.get)


def which_task_is_solved_least_often(data):
    """Of those with a kernel."""
    kernels = data["kernels"]["kernels"][0]
    return min(kernels, key=lambda k: (k["correct"] / k["responses"], k["task"]))["task"]


def which_response_beat_its_group_most(data):
    best = data["rewards"]["largest_advantages"][0][0]
    return place(data, best["row"]), best["group"], best["sample"]


def which_token_was_the_policy_least_sure_of(data):
    """Of the responses that are played: its text, and whether that response was correct."""
    found = min(((p, r["pieces"][i], r["label"]) for r in data["denoising"]["responses"] for i,
                 p in enumerate(r["log_prob_hundredths"])), key=lambda x: x[0])
    return found[1], found[2]


QUESTIONS = (which_step_found_the_fastest_kernel, how_did_the_fastest_kernel_come_about, where_did_the_reward_fall_most,
             why_did_the_reward_fall_there, which_fault_grew,
             did_held_out_correctness_improve, where_does_time_go, which_task_is_solved_least_often,
             which_response_beat_its_group_most, which_token_was_the_policy_least_sure_of)


def answers(data, task):
    return {question.__name__: question(data,
                                        task) if "kernel" in question.__name__ and "fastest" in question.__name__ else question(data) for question in QUESTIONS}


if __name__ == "__main__":
    for name, answer in answers(data_of(Path(sys.argv[1]).read_text()), sys.argv[2]).items():
        print(f"{name.replace('_', ' ')}? {answer}")
