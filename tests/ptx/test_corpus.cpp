// What NVRTC makes of our own CUDA texts and of published programs.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <map>

#include "common/files/files.h"
#include "common/json.h"
#include "sandbox/interpreter/ptx/lowering/slots.h"
#include "sandbox/interpreter/ptx/syntax/parser.h"
#include "tests/support/support.h"

namespace bicrl::ptx {
namespace {

namespace fs = std::filesystem;
using bicrl::testing::run_python;
using bicrl::testing::TemporaryFolder;
using nlohmann::json;

const fs::path kFolder = bicrl::testing::source_path("tests/ptx");

// Agrees with the oracle's counts, function by function.
void check_counts(const Module& module, const json& counts) {
  size_t defined = 0;
  for (const Function& function : module.functions) {
    if (function.is_declared_only) continue;
    ++defined;
    INFO(function.name);
    const json& expected = counts.at(function.name);
    std::map<std::string, size_t> opcodes;
    for (const Instruction& instruction : function.body) ++opcodes[instruction.opcode];
    CHECK(function.is_entry == expected.at("entry"));
    CHECK(function.body.size() == expected.at("instructions"));
    CHECK(function.registers.size() == expected.at("registers"));
    CHECK(function.labels.size() == expected.at("labels"));
    CHECK(opcodes == expected.at("opcodes").get<std::map<std::string, size_t>>());
  }
  CHECK(defined == counts.size());
}

// What has to hold of the blocks and slots of any function.
void check_function(const Function& function) {
  const ControlFlow flow = make_control_flow(function);
  uint32_t next = 0;
  for (const FlowBlock& block : flow.blocks) {
    CHECK(block.first == next);
    next += block.count;
    for (uint32_t i = block.first; i < next; ++i) {
      CHECK((i == block.first || !is_blocking(function.body[i])));
      CHECK((i + 1 == next || !ends_block(function.body[i])));
    }
    for (const uint32_t to : block.successors) CHECK(to < flow.blocks.size());
  }
  CHECK(next == function.body.size());
  const RegisterSlots slots = assign_slots(function, flow);
  for (size_t reg = 0; reg < function.registers.size(); ++reg) {
    const uint32_t bytes = slot_bytes(function.registers[reg].type);
    CHECK(slots.offsets[reg] % bytes == 0);
    CHECK(slots.offsets[reg] + bytes <= slots.bytes);
  }
}

size_t check_folder(const fs::path& folder) {
  run_python(kFolder / "count_ptx.py", {folder.string()});
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".ptx") continue;
    INFO(entry.path().filename());
    const auto module = parse_module(read_file(entry.path()));
    REQUIRE((module.ok() ? "" : module.reason()) == "");
    check_counts(module.value(),
                 parse_json(read_file(fs::path(entry.path()).replace_extension(".json")), "counts"));
    for (const Function& function : module.value().functions) check_function(function);
    ++files;
  }
  return files;
}

}  // namespace

TEST_CASE("PTX of our own sources is read whole") {
  const TemporaryFolder folder;
  run_python(kFolder / "compile_corpus.py", {folder.path().string(), "own", (kFolder / "sources").string()});
  CHECK(check_folder(folder.path()) >= 40);
}

TEST_CASE("PTX of published programs is read whole") {
  const fs::path tasks = bicrl::testing::published_file("infilling_tasks.json");
  const TemporaryFolder folder;
  run_python(kFolder / "compile_corpus.py", {folder.path().string(), "published", tasks.string()});
  CHECK(check_folder(folder.path()) >= 80);
}

}  // namespace bicrl::ptx
