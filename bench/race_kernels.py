#!/usr/bin/env python3
"""compute-sanitizer on the kernels of tests/races, beside what the PTX interpreter says of them: bench/races.md.

    BICRL_CORPUS= build/cpu/bin/test_races >ours.txt
    bench/race_kernels.py OUT [--ours ours.txt] [--jobs 8] [--timeout-s 30] [--arch sm_90] [--tools racecheck memcheck initcheck synccheck]

Needs a GPU, nvcc and compute-sanitizer. Each kernel is launched once, in a process of its own under each tool, as its line in the file
says. What the tools said is in OUT/KERNEL.TOOL; a table of kinds of kernels and what found something follows, and each kernel on which
racecheck and the PTX interpreter differ, with the machine's words."""
import argparse
import re
import subprocess
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

KERNELS = Path(__file__).resolve().parent.parent / "tests/races/kernels"
INTS = 1 << 14
HEAD = re.compile(r"^//! (\w+) (\d+) (\d+)([^\n]*)\n(?:(?!//! ).*\n)*?.*?__global__ void (?:__\w+__\([^)]*\) )?(\w+)", re.M)
ERRORS = re.compile(r"ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard")
INCLUDES = "".join(f"#include <{name}>\n" for name in ("cstdio", "cstdlib", "cstring", "vector"))  # the kernels' macros are short
MAIN = """
struct Kernel { const char* name; const void* address; unsigned grid, block, shared; bool cooperative; };
static const Kernel kernels[] = {%(rows)s};
#define CHECK(call) do { cudaError_t e = call; if (e != cudaSuccess) { printf("FAILED %%s\\n", cudaGetErrorString(e)); return 2; } } while (0)
int main(int, char** argv) {
  for (const Kernel& one : kernels) {
    if (strcmp(one.name, argv[1]) != 0) continue;
    int n = %(ints)d, *buffers[3];
    std::vector<int> in(n), zeros(n);
    srand(7);
    for (int& value : in) value = rand() %% 256;
    for (int i = 0; i < 3; ++i) {
      CHECK(cudaMalloc(&buffers[i], n * sizeof(int)));
      CHECK(cudaMemcpy(buffers[i], (i == 0 ? in : zeros).data(), n * sizeof(int), cudaMemcpyHostToDevice));
    }
    void* arguments[] = {&buffers[0], &buffers[1], &buffers[2], &n};
    CHECK(cudaFuncSetAttribute(one.address, cudaFuncAttributeMaxDynamicSharedMemorySize, one.shared));
    if (one.cooperative)
      CHECK(cudaLaunchCooperativeKernel(one.address, dim3(one.grid), dim3(one.block), arguments, one.shared, 0));
    else
      CHECK(cudaLaunchKernel(one.address, dim3(one.grid), dim3(one.block), arguments, one.shared, 0));
    CHECK(cudaDeviceSynchronize());
    printf("RAN\\n");
    return 0;
  }
  return 3;
}
"""


class Kernel:
    def __init__(self, file, match):
        self.file, self.expected, self.grid, self.block, rest, self.name = file, *match.groups()
        words = rest.split(" -> ")[0].split()
        self.cooperative = "cooperative" in words
        self.shared = next((int(word) for word in words if word.isdigit()), 0)


def build(path, out, arch):
    text = path.read_text()
    kernels = [Kernel(path.stem, match) for match in HEAD.finditer(text)]
    rows = ", ".join(f'{{"{k.name}", (const void*){k.name}, {k.grid}, {k.block}, {k.shared}, {str(k.cooperative).lower()}}}' for k in kernels)
    source = out / path.name
    source.write_text(INCLUDES + text + MAIN % {"rows": rows, "ints": INTS})
    subprocess.run(["nvcc", "-O3", "-std=c++17", "-lineinfo", f"-arch={arch}", "-o", out / path.stem, source], check=True)
    return kernels


def watch(kernel, tool, out, timeout_s):
    """Whether it found something: yes, no; or why it did not come to its end."""
    command = ["compute-sanitizer", "--tool", tool, *(["--racecheck-report", "all"] if tool == "racecheck" else []),
               out / kernel.file, kernel.name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired:
        return "no end"
    (out / f"{kernel.name}.{tool}").write_text(done.stdout + done.stderr)
    errors = ERRORS.search(done.stdout)
    if errors and int(errors[1] or errors[2]):
        return "yes"
    return "no" if "RAN" in done.stdout and errors else "failed"


def read_ours(path):
    """kernel -> the PTX interpreter's first words, "" for nothing"""
    if not path:
        return {}
    return {match[1]: match[2] or "" for match in re.finditer(r"^(\w+): (race[^\n]*|.*barrier[^\n]*)?$", path.read_text(), re.M)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--ours", type=Path)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--timeout-s", type=float, default=30)
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--tools", nargs="+", default=["racecheck", "memcheck", "initcheck", "synccheck"])
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    ours = read_ours(options.ours)
    with ThreadPoolExecutor(options.jobs) as pool:
        kernels = [k for built in pool.map(lambda path: build(path, options.out, options.arch), sorted(KERNELS.glob("*.cu"))) for k in built]
        found = defaultdict(dict)
        pairs = [(k, tool) for k in kernels for tool in options.tools]
        for (kernel, tool), said in zip(pairs, pool.map(lambda pair: watch(*pair, options.out, options.timeout_s), pairs)):
            found[kernel.name][tool] = said
    table, ends = Counter(), Counter()
    for kernel in kernels:
        tools = [tool for tool in options.tools if found[kernel.name][tool] == "yes"]
        table[kernel.file, kernel.expected, "+".join(tools) or "nothing"] += 1
        ends.update(f"{tool}: {said}" for tool, said in found[kernel.name].items() if said not in ("yes", "no"))
    print("| kernels | they are | tools that find something | how many |\n|---|---|---|---|")
    for (file, expected, tools), count in sorted(table.items()):
        print(f"| {file} | {expected} | {tools} | {count} |")
    print(f"\n{len(kernels)} kernels; not seen to the end: {dict(ends) or 'none'}\n")
    print("| kernel | it is | tools | the PTX interpreter |\n|---|---|---|---|")
    for kernel in kernels:
        if (found[kernel.name]["racecheck"] == "yes") != (kernel.expected == "racy") or "failed" in found[kernel.name].values():
            said = ", ".join(f"{tool} {what}" for tool, what in found[kernel.name].items() if what != "no") or "nothing"
            print(f"| {kernel.file}: {kernel.name} | {kernel.expected} | {said} | {ours.get(kernel.name, '')[:160]} |")


if __name__ == "__main__":
    main()
