"""Known programs through KernelBench's own protocol, each with the end that it must have: bench/kernelbench.md.

    python bench/kernelbench.py BICRL [--device cuda:0] [--precision fp32] [--timeout-s 180] [--keep FOLDER] [--ending]
    --device cpu: only what needs no GPU; --ending: without the two that never end

Exit code 0 if every program ended as it must, and KernelBench's arithmetic on the files gives the printed figures.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
TASKS = SOURCE / "tests/data/kernelbench_level1.json"
KERNEL = """
import torch
from torch.utils.cpp_extension import load_inline

source = r'''
#include <torch/extension.h>
template <class T>
__global__ void scale(const T* x, const T* y, T* z, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) %s;
}
torch::Tensor scaled(torch::Tensor x, torch::Tensor y, double factor) {
  auto z = torch::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "scale", [&] {
    scale<<<(x.numel() + 127) / 128, 128>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), z.data_ptr<scalar_t>(), factor, x.numel());
  });
  return z;
}
'''
built = load_inline(name="scaled", cpp_sources="torch::Tensor scaled(torch::Tensor x, torch::Tensor y, double factor);",
                    cuda_sources=source, functions=["scaled"])


class ModelNew(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x, y):
        return built.scaled(x, y, self.factor)
"""
PLAIN = """
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x, y):
        %s
"""

# Answers to problem 2, (x - y) * factor: name, program, whether it needs a GPU, compiled, correct, a key of its metadata.
PROGRAMS = [
    ("correct, by a kernel", KERNEL % "z[i] = (x[i] - y[i]) * factor", True, True, True, "clock"),
    ("incorrect, by a kernel", KERNEL % "z[i] = (x[i] + y[i]) * factor", True, True, False, "correctness_issue"),
    ("does not compile", KERNEL % "z[i] = block", True, False, False, "compilation_error"),
    ("an illegal access", KERNEL % "z[i + (1 << 30)] = x[i]", True, False, False, "cuda_error"),
    ("a kernel without end", KERNEL % "{ volatile int go = 1; while (go) z[i] = 1; }", True, True, False, "timeout"),
    ("correct, by PyTorch", PLAIN % "return (x - y) * self.factor", False, True, True, "clock"),
    ("incorrect, by PyTorch", PLAIN % "return (x - y) * self.factor + 0.1", False, True, False, "correctness_issue"),
    ("raises", PLAIN % "raise ValueError('no answer')", False, True, False, "runtime_error"),
    ("ends its process", PLAIN % "import os; os._exit(0)", False, True, False, "process_ended"),
    ("without end", PLAIN % "while True: pass", False, True, False, "timeout"),
    ("no Python", "def broken(:\n", False, False, False, "compilation_error"),
]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bicrl")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--precision", default="fp32", choices=("fp32", "fp16", "bf16"))
    parser.add_argument("--timeout-s", type=float, default=180, help="of a build, and of what follows: two programs spend it")
    parser.add_argument("--keep", help="folder for the files of results")
    parser.add_argument("--ending", action="store_true", help="leave out the two programs that never end")
    arguments = parser.parse_args()
    asked = [program for program in PROGRAMS if (arguments.device != "cpu" or not program[2])
             and not (arguments.ending and program[-1] == "timeout")]
    with tempfile.TemporaryDirectory() as temporary:
        here = pathlib.Path(temporary)
        results = pathlib.Path(arguments.keep) if arguments.keep else here / "results"
        programs, config, figures = here / "programs.jsonl", here / "eval.yaml", here / "figures.json"
        programs.write_text("".join(json.dumps({"task_id": "level_1_problem_2", "program": program[1]}) + "\n" for program in asked))
        config.write_text(json.dumps({"tasks": {"files": [str(TASKS)]}, "suite": {
            "name": "kernelbench", "level": 1, "protocol": "kernelbench", "programs": str(programs), "results": str(results),
            "stock": {"device": arguments.device, "precision": arguments.precision, "timeout_s": arguments.timeout_s, "memory_gib": 16}}}))
        done = subprocess.run([arguments.bicrl, "eval", str(config), "--json", str(figures)], check=False)
        if done.returncode != 0:
            sys.exit(f"bicrl eval ends with {done.returncode}")
        samples = json.loads((results / "eval_results.json").read_text())["2"]
        bad = 0
        print(f"\n{'program':24} {'compiled':9} {'correct':8} {'ms':>9}  {'reference':>9}")
        for (name, _, _, compiled, correct, key), sample in zip(asked, samples, strict=True):
            as_expected = (sample["compiled"], sample["correctness"]) == (compiled, correct) and key in sample["metadata"]
            as_expected &= (sample["runtime"] > 0) == correct
            bad += not as_expected
            print(f"{name:24} {str(sample['compiled']):9} {str(sample['correctness']):8} {sample['runtime']:9.4g}  {sample['ref_runtime']:9.4g}"
                  + ("" if as_expected else f"   NOT AS IT MUST: {key} expected, {sample['metadata']}"))
        expected = {**json.loads(figures.read_text())["kernelbench"]["first_sample"], "problems": [1, 2, 3]}
        expected["fast_p"] = {p: expected["fast_p"][p] for p in ("0", "0.5", "0.8", "1", "1.5", "2", "4")}
        figures.write_text(json.dumps(expected))
        script = SOURCE / "tests/trainer/evaluation/kernelbench_analysis.py"
        subprocess.run([sys.executable, str(script), str(results / "eval_results.json"), str(results / "baseline_time_torch.json"), "1",
                        str(figures)], check=True)
        sys.exit(f"{bad} programs ended otherwise than they must" if bad else 0)


main()
