"""oracle_synthetic.py TASKS.jsonl: checks synthesised tasks against PyTorch.

Every module runs, its output is finite, varies and depends on the input. Every known program, compiled as C++
against the few definitions below (one block after the other; the threads of a block concurrently where the kernel
has barriers or shuffles), computes what its module does.
"""
import ctypes
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import torch
except ImportError as error:
    print(f"needs torch: {error}")
    sys.exit(77)

PRELUDE = r"""
#include <math.h>
#include <stdint.h>
#include <algorithm>
#include <barrier>
#include <memory>
#include <thread>
#include <vector>
#define __global__ static
#define __device__ static
#define __shared__ static
using std::min;
struct Index { unsigned x, y, z; };
static thread_local Index blockIdx, blockDim, threadIdx, gridDim;
static std::barrier<>* block_barrier;
static void __syncthreads() { block_barrier->arrive_and_wait(); }
static float exchanged[1024];
// Every thread of a block shuffles as often as the others, so that the block's barrier does for the warp's.
static float __shfl_xor_sync(unsigned, float v, int lanes) {
  exchanged[threadIdx.x] = v;
  __syncthreads();
  const float other = exchanged[threadIdx.x ^ lanes];
  __syncthreads();
  return other;
}
// What a thread does. std::function takes the compiler three times as long, and launch() as a template longer still: there are
// hundreds of kernels.
struct Body {
  void* of;
  void (*call)(void*);
  template <class F> Body(F&& f) : of(&f), call([](void* of) { (*static_cast<std::remove_reference_t<F>*>(of))(); }) {}
  void operator()() const { call(of); }
};
void launch(unsigned blocks, unsigned threads, bool concurrent, Body body) {
  if (!concurrent) {
    blockDim = {threads, 1, 1}, gridDim = {blocks, 1, 1};
    for (unsigned b = 0; b < blocks; ++b)
      for (unsigned t = 0; t < threads; ++t) blockIdx = {b, 0, 0}, threadIdx = {t, 0, 0}, body();
    return;
  }
  std::barrier<> barrier(threads);
  block_barrier = &barrier;
  std::vector<std::thread> running;
  for (unsigned t = 0; t < threads; ++t)
    running.emplace_back([=] {
      blockDim = {threads, 1, 1}, gridDim = {blocks, 1, 1};
      for (unsigned b = 0; b < blocks; ++b) blockIdx = {b, 0, 0}, threadIdx = {t, 0, 0}, body(), __syncthreads();
    });
  for (auto& thread : running) thread.join();
}
namespace torch {
struct Options {};
struct Tensor {
  std::vector<int64_t> sizes;
  std::shared_ptr<std::vector<float>> owned;
  float* data = nullptr;
  int64_t numel() const { int64_t n = 1; for (auto s : sizes) n *= s; return n; }
  int64_t size(int i) const { return sizes[i]; }
  Options options() const { return {}; }
  template <class T> T* data_ptr() const { return data; }
};
inline Tensor empty(std::vector<int64_t> sizes, Options) {
  Tensor t{std::move(sizes), nullptr, nullptr};
  t.owned = std::make_shared<std::vector<float>>(t.numel(), NAN);
  t.data = t.owned->data();
  return t;
}
inline Tensor empty_like(const Tensor& t) { return empty(t.sizes, {}); }
}
"""

WRAPPER = r"""
extern "C" int64_t run_%(number)d(float* x, int64_t rows, int64_t cols, float* y, float* out) {
  torch::Tensor tx{{rows, cols}, nullptr, x}, ty{{cols}, nullptr, y};
  torch::Tensor result = program_%(number)d::forward_cuda(%(arguments)s);
  for (int64_t i = 0; i < result.numel(); ++i) out[i] = result.data[i];
  return result.numel();
}
"""


def module_of(task):
    scope = {}
    exec(task["pytorch_code"], scope)
    return scope["Model"](*scope["get_init_inputs"]()), scope["get_inputs"]


def check_module(task):
    model, get_inputs = module_of(task)
    torch.manual_seed(1)
    first, second = get_inputs(), get_inputs()
    numel = first[0].numel()
    assert 2**8 <= numel <= 2**14, f"{numel} elements"
    a, b = model(*first), model(*second)
    assert torch.isfinite(a).all(), "not finite"
    assert a.std() > 0.03, f"standard deviation {a.std()}"
    assert (a - b).abs().mean() > 0.01, "does not depend on the input"
    assert torch.equal(model(*first), a), "not deterministic"


def translation_unit(programs):
    text = PRELUDE
    for number, whole in enumerate(programs):
        scope = {}
        exec(whole[whole.index("source = "):whole.index("module = ")], scope)
        body = re.sub(r"#include.*\n", "", scope["source"])
        concurrent = "true" if runs_together(body) else "false"
        body = re.sub(r"(k\d)<<<(.*), T>>>(\(.*\));", rf"launch(\2, T, {concurrent}, [&] {{ \1\3; }});", body)
        assert "<<<" not in body and scope["cpp_src"].strip().rstrip(";") in body
        arguments = "tx, ty" if "torch::Tensor y" in body else "tx"
        text += f"namespace program_{number} {{\n{body}\n}}\n" + WRAPPER % dict(number=number, arguments=arguments)
    return text


def runs_together(program):
    return "__syncthreads" in program or "__shfl" in program


def compile_programs(programs, folder):
    source, library = folder / "programs.cpp", folder / "programs.so"
    source.write_text(translation_unit(programs))
    subprocess.run(["g++", "-std=c++20", "-w", "-shared", "-fPIC", "-pthread", source, "-o", library], check=True)
    return ctypes.CDLL(str(library))


def pointer(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


def check_program(task, program, function):
    model, get_inputs = module_of(task)
    torch.manual_seed(2)
    inputs = get_inputs()
    if runs_together(program):
        inputs[0] = inputs[0][:8].contiguous()  # so many real threads take their time
    expected = model(*inputs)
    out = torch.empty(inputs[0].numel())
    function.restype = ctypes.c_int64
    rows, cols = inputs[0].shape
    count = function(pointer(inputs[0]), ctypes.c_int64(rows), ctypes.c_int64(cols), pointer(inputs[-1]), pointer(out))
    assert count == expected.numel(), f"{count} values, expected {expected.numel()}"
    torch.testing.assert_close(out[:count].view_as(expected), expected, atol=1e-4, rtol=1e-4)


def main(path):
    tasks = [json.loads(line) for line in Path(path).read_text().splitlines()]
    programs = [(task, known["cuda_code"]) for task in tasks for known in [task, *task.get("alternatives", [])]]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        library = compile_programs([program for _, program in programs], Path(folder))
        checks = [(task, lambda task=task: check_module(task)) for task in tasks]
        checks += [(task, lambda task=task, program=program, number=number: check_program(task, program, getattr(library, f"run_{number}")))
                   for number, (task, program) in enumerate(programs)]
        for task, check in checks:
            try:
                check()
            except Exception as error:
                failed += 1
                print(f"{task['id']} {task['composition']}: {type(error).__name__}: {error}")
    print(f"{len(tasks)} tasks, {len(programs)} programs, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
