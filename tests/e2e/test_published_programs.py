"""`bicrl verify` on infilling programs in the published form, our own and the 50 published ones: those that call no vendor
library are correct, the others end as library calls."""
from collections import Counter

from support import bicrl, expect, folder, ours_and_published, patient, read_json


def calls_library(text):
    return any(name in text.lower() for name in ("cublas", "cudnn"))


def verify(path, direct):
    """Verifies all programs of a file; `direct`: how many of them need their inputs' values to be recorded."""
    tasks = read_json(path)
    library_calls = sum(calls_library(task["cuda_code"]) for task in tasks)
    with folder() as temporary:
        report = f"{temporary}/verdicts.json"
        code, out, err = bicrl("verify", "--tasks", path, "--json", report, *patient(600), "verifier.attempt_s=3000",
                               "verifier.deadline_s=3000", timeout=1500)
        expect(code == 0, "bicrl verify succeeds", out, err)
        result = read_json(report)
    verdicts = result["verdicts"]
    classes = Counter("correct" if v["correct"] else v["fault_class"] for v in verdicts)
    details = "\n".join(f"{v['task_id']}: {v['fault_class']} {v['diagnostics'][:200]}" for v in verdicts if not v["correct"])
    correct = len(tasks) - library_calls
    expect(classes == {"correct": correct, "library_call": library_calls}, f"classes {dict(classes)}", details)
    tiers = Counter(v["tier"] for v in verdicts if v["correct"])
    expect(tiers == Counter(replay=correct - direct, direct=direct), f"tiers {dict(tiers)}", details)
    for v in verdicts:
        if v["correct"]:
            expect(v["trials"] >= 3 and v["trials_passed"] == v["trials"], f"{v['task_id']}: every trial passes", v)
        else:
            expect(calls_library(v["diagnostics"]), f"{v['task_id']}: says which", v)
    print(f"{path.name}: {dict(classes)}, {result['candidates_per_second']:.1f} candidates a second")
    return classes


ours, *published = ours_and_published("infilling_tasks.json", "infilling_tasks.json")
verify(ours, direct=0)
for path in published:
    # One's host part reads an input's value; another's reads a small parameter's, which the recorder knows.
    classes = verify(path, direct=1)
    expect(classes == {"correct": 42, "library_call": 8}, f"classes {dict(classes)}")
