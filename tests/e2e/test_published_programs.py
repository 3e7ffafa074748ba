"""`bicrl verify` on the 50 published infilling programs: the 42 that call no vendor library are correct, the others
end as library calls."""
from collections import Counter

from support import bicrl, expect, folder, patient, published, read_json

LIBRARY_CALLS = 8
DIRECT = 1  # its host part reads an input's value; another reads a small parameter's, which the recorder knows

tasks = published("infilling_tasks.json")
with folder() as temporary:
    report = f"{temporary}/verdicts.json"
    code, out, err = bicrl("verify", "--tasks", tasks, "--json", report, *patient(600), "verifier.attempt_s=3000",
                           "verifier.deadline_s=3000", timeout=800)
    expect(code == 0, "bicrl verify succeeds", out, err)
    result = read_json(report)

verdicts = result["verdicts"]
classes = Counter("correct" if v["correct"] else v["fault_class"] for v in verdicts)
details = "\n".join(f"{v['task_id']}: {v['fault_class']} {v['diagnostics'][:200]}" for v in verdicts if not v["correct"])
expect(classes == {"correct": 50 - LIBRARY_CALLS, "library_call": LIBRARY_CALLS}, f"classes {dict(classes)}", details)
tiers = Counter(v["tier"] for v in verdicts if v["correct"])
expect(tiers == {"replay": 50 - LIBRARY_CALLS - DIRECT, "direct": DIRECT}, f"tiers {dict(tiers)}", details)
for v in verdicts:
    if v["correct"]:
        expect(v["trials"] >= 3 and v["trials_passed"] == v["trials"], f"{v['task_id']}: every trial passes", v)
    else:
        expect(any(name in v["diagnostics"].lower() for name in ("cublas", "cudnn")), f"{v['task_id']}: says which", v)
print(f"{dict(classes)}, {result['candidates_per_second']:.1f} candidates a second")
