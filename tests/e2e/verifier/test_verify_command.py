"""`bicrl verify` on a task file with broken entries: they are named, the others verified; what the exit code and the figures of the
report say."""
import json
import os
import subprocess
from pathlib import Path

from support import CANDIDATES, bicrl, candidate_text, expect, folder, one_verifier, patient, read_json


def entry(name, program):
    return {"idx": name, "level": 1, "pytorch_code": (CANDIDATES / "tasks/affine.py").read_text(),
            "cuda_code": candidate_text(program)}

LARGE = """import torch
rows = 16384
columns = 4096 * 8
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.exp(-x)
def get_inputs():
    return [torch.rand(rows, columns)]
def get_init_inputs():
    return []
"""
LARGE_PROGRAM = """import torch
from torch.utils.cpp_extension import load_inline
source = '''
#include <torch/extension.h>
__global__ void decay(const float* x, float* out, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) out[i] = expf(-x[i]);
}
torch::Tensor run(torch::Tensor x) {
    auto out = torch::empty_like(x);
    decay<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.numel());
    return out;
}
'''
module = load_inline(name="m", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=source, functions=["run"])
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return module.run(x)
"""


with folder() as temporary:
    tasks, report = Path(temporary, "tasks.json"), Path(temporary, "verdicts.json")

    here = one_verifier(600)

    def verify(entries, *words, verifier=here):
        tasks.write_text(json.dumps(entries))
        report_to = [] if "--json" in words else ["--json", report]
        return bicrl("verify", "--tasks", tasks, *report_to, *verifier, *words)

    def candidate(name):
        path = Path(temporary, f"{name}.py")
        path.write_text(candidate_text(name))
        return ["--candidate", path]

    correct, incorrect, broken = entry("good", "honest"), entry("wrong", "wrong_value"), {**entry("broken", "honest"), "level": "high"}
    code, out, err = verify([correct, broken, incorrect, 7], verifier=patient(600))  # one of its own, as a user has
    expect(code == 2, "broken entries show in the exit code", code, out, err)
    for words in (f"{tasks}: entry 2: level", f"{tasks}: entry 4: must be an object"):
        expect(words in err, f"names {words}", err)
    expect("2 broken entries" in out and "1 correct" in out and "1 wrong_value" in out, "the others are verified", out)
    result = read_json(report)
    expect([v["task_id"] for v in result["verdicts"]] == ["good", "wrong"] and len(result["left_out"]) == 2, "in the report", result)

    # An incorrect program shows in the exit code as well.
    code, out, err = verify([correct, incorrect])
    expect(code == 1 and "1 wrong_value" in out, "a known program is incorrect", code, out, err)
    report_of_two = read_json(report)
    code, out, err = verify([correct])
    expect(code == 0, "all programs are correct", code, out, err)
    code, out, err = verify([correct], *candidate("wrong_value"), "--task", "good")
    expect(code == 1 and "1 wrong_value" in out, "a candidate is incorrect", code, out, err)

    # A task without a program is counted, and no program is made up for it.
    alone = {key: value for key, value in entry("alone", "honest").items() if key != "cuda_code"}
    code, out, err = verify([correct, alone])
    result = read_json(report)
    expect(code == 0 and f"1 tasks of {tasks} have no program" in out, "a task without a program", code, out, err)
    expect(result["candidates"] == 1 and result["without_program"] == 1, "in the report", result)
    code, out, err = verify([alone])
    expect(code == 2 and "none of its 1 tasks has a program" in err, "no program at all", code, out, err)

    # The report goes to where a link leads, and through a pipe; both stay.
    link, pipe = Path(temporary, "link.json"), Path(temporary, "pipe.json")
    link.symlink_to(report)
    os.mkfifo(pipe)
    report.unlink()
    code, out, err = verify([correct], "--json", link)
    expect(code == 0 and link.is_symlink() and read_json(report)["candidates"] == 1, "through a link", code, out, err)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True)
    code, out, err = verify([correct], "--json", pipe)
    expect(code == 0 and json.loads(reader.communicate(timeout=60)[0])["candidates"] == 1 and pipe.is_fifo(), "through a pipe", code, out, err)

    # Quantiles lie between neighbours, and that of few times is none of the lower ones.
    low, high = sorted(v["total_ms"] for v in report_of_two["verdicts"])
    for share, key in ((0.5, "p50_ms"), (0.95, "p95_ms")):
        expect(abs(report_of_two[key] - (low + share * (high - low))) < 1e-6 * high, key, report_of_two[key], low, high)

    # One program for one task: what is broken beside it does not matter. An entry that is, cannot be named.
    program = [*candidate("honest"), "--task"]
    code, out, err = verify([broken, correct], *program, "good")
    expect(code == 0 and "1 correct" in out and "entry 1" in err, "one task of a file", code, out, err)
    code, out, err = verify([broken, correct], *program, "broken")
    expect(code == 2 and "has no task 'broken'" in err and "entry 1" in err, "a broken task", code, out, err)

    # A task that is too large is verified at reduced sizes, by hand or found; its own is refused by name.
    large = entry("large", "honest")
    large["pytorch_code"] = LARGE
    large["cuda_code"] = LARGE_PROGRAM
    code, out, err = verify([large])
    verdict = read_json(report)["verdicts"][0]
    expect(code == 0 and "at reduced sizes" in out and verdict["graded_at"] == "reduced", "reduced sizes", code, out, err)
    expect("1 of 1 graded at reduced sizes" in out and read_json(report)["reduced"] == 1, "which are counted", out)
    code, out, err = verify([large], "--size", "own")
    expect(code == 2 and "oracle.max_input_mib" in out and read_json(report)["verdicts"][0]["outcome"] == "invalid_task", "own size", code, out, err)
    narrow = {**large, "reduced_sizes": [{"rows": 40, "columns": 33}, {"rows": 41, "columns": 65}]}
    narrow["cuda_code"] = LARGE_PROGRAM.replace("i < n", "i < n && i < 41 * 65")
    code, out, err = verify([narrow])
    expect(code == 0, "sizes by hand", code, out, err)
    # Remarks on a correct program are printed, too. Times are extrapolated from two sizes.
    code, out, err = verify([{**narrow, "reduced_sizes": narrow["reduced_sizes"][:1]}], "--profile")
    for words in ("compared at one reduced size", "no times: the task has one valid reduced size"):
        expect(code == 0 and words in out, f"remarks: {words}", out, err)
    code, out, err = verify([{**narrow, "reduced_sizes": [{"rows": 0}]}])
    expect(code == 2 and "reduced_sizes: must give whole numbers" in err, "sizes by hand are checked", code, out, err)
    code, out, err = verify([correct], "--size", "reduced")
    expect(code == 0 and read_json(report)["verdicts"][0]["graded_at"] == "reduced", "a small task at reduced sizes", code, out, err)
    code, out, err = verify([correct])
    expect(read_json(report)["verdicts"][0]["graded_at"] == "own" and "graded at reduced" not in out, "and at its own", code, out, err)

    # Of a configuration only the verifier is read: what lies elsewhere would do nothing.
    for words, message in ((["configs/verifiers/cpu.yaml"], "has no section 'verifier'"),
                           (["configs/eval.yaml", "workers=1"], "'workers=1' has no effect"),
                           (["configs/eval.yaml", "verifier.server.wokers=1"], "wokers")):
        code, out, err = verify([correct], *words)
        expect(code == 2 and message in err, f"refuses {words}", code, out, err)

    # Small changes to what is correct are found out, and reported by kind; an incorrect program has none.
    code, out, err = verify([correct, incorrect], "--mutate")
    mutants = read_json(report)["mutants"]
    expect(code == 1 and f"{len(mutants)} mutants of 1 correct programs" in out, "mutants of the correct program", code, out, err)
    ends = [(m["kind"], m["end"]) for m in mutants]
    expect(ends and all(m["task_id"] == "good" and m["line"] > 0 for m in mutants), "each says where it is", mutants)
    expect([kind for kind, _ in ends] == ["bound_shortened", "bound_widened", "comparison_turned"], "in the order of mutants_of()", ends)
    expect(("bound_shortened", "killed") in ends and out.count("survives:") == sum(end == "survived" for _, end in ends),
           "killed ones are counted, the others listed", out)

    code, out, err = verify([broken])
    expect(code == 2 and "none of its 1 entries can be used" in err, "nothing to verify", code, out, err)
    code, out, err = verify([correct, broken], "--verifier", "127.0.0.1:9", "verifier.max_attempts=1")
    expect(code == 1, "a program without a verdict counts more", code, out, err)
print("broken entries are named, the others verified")
