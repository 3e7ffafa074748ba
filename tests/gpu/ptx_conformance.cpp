// Every arithmetic instruction of the machine against a GPU: one kernel for each, on edge values and random
// bits, executed by both. No test of the suite, as it asks for a GPU:
//   ptx_conformance [FILTER]           a report: instructions whose name holds FILTER
//   ptx_conformance --text [FILTER]    their kernels, for ptxas
// A line for each instruction whose results differ: how many, by how much at most, and an example.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/rng.h"
#include "sandbox/interpreter/ptx/alu/alu_table.h"
#include "sandbox/interpreter/ptx/execution/grid.h"
#include "sandbox/interpreter/ptx/syntax/parser.h"
#include "tests/gpu/gpu_driver.h"

namespace bicrl::ptx {
namespace {

constexpr uint32_t kElements = 1 << 14;
constexpr uint32_t kThreads = 256;
constexpr size_t kMaxArrays = kMaxAluSources + kMaxAluDestinations;
using testing::GpuDriver;

// ---- One instruction as a kernel ----

struct Form {
  std::string name;  // of the table
  AluEntry entry;
  int lut = -1;  // of lop3
};

int register_bits(Type type) {
  switch (type) {
    case Type::kB16:
      return 16;
    case Type::kB64:
    case Type::kF64:
      return 64;
    case Type::kB128:
      return 128;
    default:
      return 32;
  }
}
size_t count_of(const auto& types) {
  return static_cast<size_t>(std::find(types.begin(), types.end(), Type::kNone) - types.begin());
}
size_t element_bytes(Type type) { return static_cast<size_t>(register_bits(type)) / 8; }

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string kernel_text(const Form& form, const std::string& kernel) {
  const std::string opcode = form.name.substr(0, form.name.find('/'));
  const std::string shape = form.name.substr(opcode.size());
  const auto has = [&](const char* word) { return shape.find(word) != std::string::npos; };
  const AluEntry& entry = form.entry;
  const size_t sources = count_of(entry.sources), destinations = count_of(entry.destinations);
  std::string text = ".visible .entry " + kernel + "(";
  for (size_t i = 0; i < kMaxArrays; ++i) text += concat(i ? ", " : "", ".param .u64 a", i);
  text += ")\n{\n.reg .b64 %at, %base; .reg .b32 %i, %t, %n;\n";
  const auto declare = [&](const char* prefix, Type type, size_t i) {
    text += type == Type::kPred ? concat(".reg .pred %", prefix, i, ";\n")
                                : concat(".reg .b", register_bits(type), " %", prefix, i, ";\n");
  };
  for (size_t i = 0; i < sources; ++i) declare("s", entry.sources[i], i);
  for (size_t i = 0; i < destinations; ++i) declare("d", entry.destinations[i], i);
  text += "mov.u32 %i, %ctaid.x; mov.u32 %n, %ntid.x; mov.u32 %t, %tid.x; mad.lo.u32 %i, %i, %n, %t;\n";
  const auto address = [&](size_t array, Type type) {
    text += concat("ld.param.u64 %base, [a", array, "]; mul.wide.u32 %at, %i, ", element_bytes(type),
                   "; add.u64 %at, %at, %base;\n");
  };
  for (size_t i = 0; i < sources; ++i) {
    const Type type = entry.sources[i];
    address(i, type);
    if (type == Type::kPred)
      text += concat("ld.global.u32 %t, [%at]; setp.ne.u32 %s", i, ", %t, 0;\n");
    else
      text += concat("ld.global.b", register_bits(type), " %s", i, ", [%at];\n");
  }
  const size_t inputs = sources - (entry.reads_carry ? 1 : 0),
               results = destinations - (entry.writes_carry ? 1 : 0);
  if (entry.reads_carry)  // the flag is a borrow to what subtracts
    text += concat("selp.u32 %t, 1, 0, %s", inputs,
                   opcode.starts_with("sub") ? "; sub.cc.u32 %t, 0, %t;\n" : "; add.cc.u32 %t, %t, -1;\n");
  std::vector<std::string> to, from;
  for (size_t i = 0; i < results; ++i) to.push_back(concat("%d", i));
  for (size_t i = 0; i < inputs; ++i) from.push_back(concat("%s", i));
  if (has("/not")) from.back() = "!" + from.back();
  if (form.lut >= 0) from.back() = std::to_string(form.lut);
  std::string results_text = joined(to), inputs_text = joined(from);
  if (has("/pq")) results_text = to.at(0) + "|" + to.at(1);
  if (has("/unpack")) results_text = "{" + results_text + "}";
  if (has("/pack")) inputs_text = "{" + inputs_text + "}";
  text += opcode + " " + results_text + ", " + inputs_text + ";\n";
  if (entry.writes_carry) {
    const bool borrow = opcode.starts_with("sub");
    text += borrow ? "subc.u32 %t, 0, 0;\n" : "addc.u32 %t, 0, 0;\n";
    text += concat("setp.ne.u32 %d", results, ", %t, 0;\n");
  }
  for (size_t i = 0; i < destinations; ++i) {
    const Type type = entry.destinations[i];
    address(kMaxAluSources + i, type);
    if (type == Type::kPred)
      text += concat("selp.u32 %t, 1, 0, %d", i, "; st.global.u32 [%at], %t;\n");
    else
      text += concat("st.global.b", register_bits(type), " [%at], %d", i, ";\n");
  }
  return text + "ret;\n}\n";
}

constexpr const char* kHead = ".version 9.0\n.target sm_90a\n.address_size 64\n";

// ---- Values ----

std::vector<char> inputs_of(Type type, uint64_t seed) {
  static const std::vector<uint64_t> edges = {0,
                                              1,
                                              2,
                                              3,
                                              7,
                                              8,
                                              15,
                                              16,
                                              31,
                                              32,
                                              33,
                                              63,
                                              64,
                                              127,
                                              128,
                                              255,
                                              256,
                                              0x7fff,
                                              0x8000,
                                              0x8001,
                                              0xffff,
                                              0x10000,
                                              0x7fffffff,
                                              0x80000000,
                                              0x80000001,
                                              0xffffffff,
                                              0x100000000,
                                              0x7fffffffffffffff,
                                              0x8000000000000000,
                                              0xffffffffffffffff,
                                              0x3f800000,
                                              0xbf800000,
                                              0x3fc00000,
                                              0x40200000,
                                              0x7f800000,
                                              0xff800000,
                                              0x7fc00000,
                                              0x7fc00001,
                                              0x00800000,
                                              0x007fffff,
                                              0x80000001,
                                              0x7f7fffff,
                                              0x4b000000,
                                              0x4f000000,
                                              0x5f000000,
                                              0x33000000,
                                              0x477fe000,
                                              0x477ff000,
                                              0x38800000,
                                              0x38000000,
                                              0x3c00,
                                              0xbc00,
                                              0x7c00,
                                              0xfc00,
                                              0x7e00,
                                              0x0400,
                                              0x03ff,
                                              0x7bff,
                                              0x3f80,
                                              0x7f80,
                                              0x3ff0000000000000,
                                              0xbff0000000000000,
                                              0x7ff0000000000000,
                                              0xfff0000000000000,
                                              0x7ff8000000000000,
                                              0x0010000000000000,
                                              0x000fffffffffffff,
                                              0x4330000000000000,
                                              0x41dfffffffc00000,
                                              0x43e0000000000000,
                                              0x3690000000000000,
                                              0x47efffffe0000000};
  const size_t bytes = element_bytes(type);
  std::vector<char> data(kElements * bytes);
  for (uint32_t i = 0; i < kElements; ++i) {
    uint64_t words[2] = {mix_key({seed, i, 0}), mix_key({seed, i, 1})};
    if (i % 4 < 2) words[0] = edges[mix_key({seed, i, 2}) % edges.size()];
    if (i % 4 == 2) {  // of a size that sums and functions are good for
      const double small = static_cast<double>(static_cast<int64_t>(words[0] >> 40)) / (1 << 20) - 8;
      const auto narrow = static_cast<float>(small);
      if (bytes == 8) memcpy(words, &small, 8);
      if (bytes == 4) words[0] = 0, memcpy(words, &narrow, 4);
    }
    if (type == Type::kPred) words[0] &= 1;
    memcpy(data.data() + i * bytes, words, bytes);
  }
  return data;
}

bool is_nan(uint64_t bits, Type type) {
  if (type == Type::kF32) return (bits & 0x7fffffff) > 0x7f800000;
  if (type == Type::kF64) return (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
  return false;
}

// Runs the kernel on the machine over the same arrays.
std::vector<std::vector<char>> run_machine(const Module& module, const std::string& kernel, const Form& form,
                                           const std::vector<std::vector<char>>& inputs) {
  DeviceMemory memory({.max_bytes = uint64_t{1} << 26, .seed = 1, .shadows = false});
  auto loaded = LoadedModule::load(module, memory);
  LaunchConfig config{.grid = {kElements / kThreads, 1, 1},
                      .block = {kThreads, 1, 1},
                      .dynamic_shared_bytes = 0,
                      .parameters = {},
                      .cooperative = false};
  std::vector<DeviceMemory::BufferId> buffers;
  for (size_t i = 0; i < kMaxArrays; ++i) {
    const auto id = memory.allocate(kElements * 16, DeviceMemory::Permission::kReadWrite).value();
    if (i < inputs.size()) memory.write(id, 0, {inputs[i].data(), inputs[i].size()}, Writer::kInput);
    buffers.push_back(id);
    const uint64_t address = memory.buffer(id).address;
    config.parameters.append(reinterpret_cast<const char*>(&address), sizeof address);
  }
  const auto lowered = lower_kernel(module, kernel);
  if (!lowered.ok()) throw std::runtime_error(lowered.reason());
  Grid grid(lowered.value(), loaded.value(), memory, config, {}, {}, {});
  if (const auto fault = grid.run()) throw std::runtime_error(fault->message);
  std::vector<std::vector<char>> results;
  for (size_t i = 0; i < count_of(form.entry.destinations); ++i) {
    const size_t bytes = kElements * element_bytes(form.entry.destinations[i]);
    const auto* data = reinterpret_cast<const char*>(memory.buffer(buffers[kMaxAluSources + i]).data.get());
    results.emplace_back(data, data + bytes);
  }
  return results;
}

struct Tally {
  uint32_t different = 0, nan_bits = 0;
  uint64_t distance = 0;
  std::string example;
};

Tally compare(const Form& form, const std::vector<std::vector<char>>& ours,
              const std::vector<std::vector<char>>& theirs, const std::vector<std::vector<char>>& inputs) {
  Tally tally;
  for (size_t result = 0; result < ours.size(); ++result) {
    const Type type = form.entry.destinations[result];
    const size_t bytes = element_bytes(type);
    for (uint32_t i = 0; i < kElements; ++i) {
      uint64_t a = 0, b = 0;
      memcpy(&a, ours[result].data() + i * bytes, std::min<size_t>(bytes, 8));
      memcpy(&b, theirs[result].data() + i * bytes, std::min<size_t>(bytes, 8));
      if (a == b) continue;
      if (is_nan(a, type) && is_nan(b, type)) {
        ++tally.nan_bits;
        continue;
      }
      ++tally.different;
      const uint64_t distance = a > b ? a - b : b - a;
      if (distance <= tally.distance) continue;
      tally.distance = distance;
      char text[256];
      int length = snprintf(text, sizeof text, "%llx, GPU %llx of", static_cast<unsigned long long>(a),
                            static_cast<unsigned long long>(b));
      for (size_t s = 0; s < inputs.size(); ++s) {
        uint64_t in = 0;
        const size_t size = element_bytes(form.entry.sources[s]);
        memcpy(&in, inputs[s].data() + i * size, std::min<size_t>(size, 8));
        length += snprintf(text + length, sizeof text - static_cast<size_t>(length), " %llx",
                           static_cast<unsigned long long>(in));
      }
      tally.example = text;
    }
  }
  return tally;
}

std::vector<Form> find_forms(const std::string& filter) {
  std::vector<Form> forms;
  for (const auto& [name, entry] : alu_table(best_isa_variant()).entries()) {
    if (name.find(filter) == std::string::npos) continue;
    if (name.starts_with("lop3"))
      for (int lut : {0x00, 0x80, 0x96, 0xE8, 0xCA, 0x1B}) forms.push_back({name, entry, lut});
    else
      forms.push_back({name, entry, -1});
  }
  std::sort(forms.begin(), forms.end(), [](const Form& a, const Form& b) { return a.name < b.name; });
  return forms;
}

int print_text(const std::string& filter) {
  fputs(kHead, stdout);
  size_t number = 0;
  for (const Form& form : find_forms(filter))
    printf("// %s\n%s", form.name.c_str(), kernel_text(form, concat("k", number++)).c_str());
  return 0;
}

int run(const std::string& filter) {
  const std::vector<Form> forms = find_forms(filter);
  GpuDriver gpu;
  std::array<uint64_t, kMaxArrays> arrays;
  for (uint64_t& array : arrays) array = gpu.allocate(kElements * 16);
  std::map<std::pair<Type, size_t>, std::vector<char>> values;
  size_t equal = 0, differing = 0, refused = 0;
  const auto compare_form = [&](const Form& form, const std::string& kernel) {
    std::vector<std::vector<char>> inputs;
    for (size_t i = 0; i < count_of(form.entry.sources); ++i) {
      auto& array = values[{form.entry.sources[i], i}];
      if (array.empty()) array = inputs_of(form.entry.sources[i], 100 + i);
      inputs.push_back(array);
      gpu.upload(arrays[i], array.data(), array.size());
    }
    const std::string parameters(reinterpret_cast<const char*>(arrays.data()), sizeof arrays);
    gpu.run(kernel, {.grid = {kElements / kThreads, 1, 1},
                     .block = {kThreads, 1, 1},
                     .shared_bytes = 0,
                     .parameters = parameters});
    std::vector<std::vector<char>> theirs;
    for (size_t i = 0; i < count_of(form.entry.destinations); ++i)
      theirs.push_back(
          gpu.download(arrays[kMaxAluSources + i], kElements * element_bytes(form.entry.destinations[i])));
    const auto module = parse_module(kHead + kernel_text(form, kernel));
    if (!module.ok()) throw std::runtime_error(module.reason());
    const Tally tally = compare(form, run_machine(module.value(), kernel, form, inputs), theirs, inputs);
    if (tally.different == 0 && tally.nan_bits == 0) {
      ++equal;
      return;
    }
    ++differing;
    printf("%-44s %5u differ, at most by %llu; %u NaNs of other bits; %s\n", form.name.c_str(),
           tally.different, static_cast<unsigned long long>(tally.distance), tally.nan_bits,
           tally.example.c_str());
  };
  constexpr size_t kTogether = 64;
  for (size_t first = 0; first < forms.size(); first += kTogether) {
    const size_t last = std::min(first + kTogether, forms.size());
    std::string text = kHead;
    for (size_t i = first; i < last; ++i) text += kernel_text(forms[i], concat("k", i));
    const bool all = gpu.load(text);
    for (size_t i = first; i < last; ++i) {
      const std::string kernel = concat("k", i);
      if (!all && !gpu.load(kHead + kernel_text(forms[i], kernel))) {
        ++refused;
        printf("%-44s refused by the GPU's assembler\n", forms[i].name.c_str());
        continue;
      }
      try {
        compare_form(forms[i], kernel);
      } catch (const std::exception& error) {
        printf("%-44s %s\n", forms[i].name.c_str(), error.what());
      }
    }
  }
  printf("%zu equal bit for bit, %zu differing, %zu refused\n", equal, differing, refused);
  return 0;
}

}  // namespace
}  // namespace bicrl::ptx

int main(int count, char** words) {
  try {
    const std::string first = count > 1 ? words[1] : "";
    if (first == "--text") return bicrl::ptx::print_text(count > 2 ? words[2] : "");
    return bicrl::ptx::run(first);
  } catch (const std::exception& error) {
    fprintf(stderr, "ptx_conformance: %s\n", error.what());
    return 1;
  }
}
