// Random programs give the same on the PTX interpreter and as native code of this processor, however their
// lanes part.
#include <dlfcn.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>

#include "common/files/files.h"
#include "common/rng.h"
#include "tests/ptx/kernel_runner.h"
#include "tests/ptx/random_program.h"
#include "tests/support/support.h"

namespace bicrl::ptx {
namespace {

using testing::KernelRunner;

constexpr int kFunctions = 5;
constexpr int kThreads = 290;

using HostFunction = unsigned (*)(unsigned, const unsigned*);

// The same text, compiled for this processor.
std::vector<HostFunction> native(const std::string& text, const bicrl::testing::TemporaryFolder& folder,
                                 uint64_t seed) {
  const auto source = folder.path() / concat("p", seed, ".cpp"),
             library = folder.path() / concat("p", seed, ".so");
  write_file_atomically(source, "#define FUNCTION extern \"C\" __attribute__((noinline))\n" + text);
  const std::string command = concat("c++ -O1 -w -shared -fPIC -o ", library.string(), " ", source.string());
  REQUIRE(std::system(command.c_str()) == 0);
  void* handle = dlopen(library.c_str(), RTLD_NOW);
  REQUIRE(handle);
  std::vector<HostFunction> functions;
  for (int i = 0; i < kFunctions; ++i)
    functions.push_back(reinterpret_cast<HostFunction>(dlsym(handle, concat("f", i).c_str())));
  return functions;
}

}  // namespace

TEST_CASE("random programs") {
  const bicrl::testing::TemporaryFolder folder;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    INFO("seed " << seed);
    const std::string text = testing::random_functions(seed, kFunctions);
    std::string cuda = "#define FUNCTION __device__ __noinline__\n" + text +
                       "extern \"C\" __global__ void all(const unsigned* in, unsigned* out, int n) {\n"
                       "  int t = blockIdx.x * blockDim.x + threadIdx.x;\n  if (t >= n) return;\n";
    for (int i = 0; i < kFunctions; ++i) cuda += concat("  out[", i, " * n + t] = f", i, "(t, in);\n");
    cuda += "}\n";
    KernelRunner runner(cuda, {.shadows = seed % 2 == 0,
                               .seed = seed,
                               .compiler_options = seed % 3 == 0 ? std::vector<std::string>{"-G"}
                                                                 : std::vector<std::string>{},
                               .ptx = ""});
    std::vector<uint32_t> in(64);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint32_t>(mix_key({seed, i, 9}));
    const uint64_t out = runner.reserve(kFunctions * kThreads * 4);
    const auto fault = runner.launch("all", {2, 1, 1}, {160, 1, 1}, 0, runner.upload(in), out, kThreads);
    REQUIRE((fault ? fault->message : "") == "");
    const auto found = runner.download<uint32_t>(out);
    const auto functions = native(text, folder, seed);
    for (int i = 0; i < kFunctions; ++i)
      for (unsigned t = 0; t < kThreads; ++t) {
        const uint32_t expected = functions[static_cast<size_t>(i)](t, in.data());
        if (found[static_cast<size_t>(i) * kThreads + t] == expected) continue;
        INFO("f" << i << "(" << t << ")\n" << text);
        REQUIRE(found[static_cast<size_t>(i) * kThreads + t] == expected);
      }
  }
}

}  // namespace bicrl::ptx
