// The state that the parts of the parser share, and the limits that they keep to.
#pragma once
#include <cstdint>
#include <map>

#include "sandbox/interpreter/ptx/syntax/lexer.h"
#include "sandbox/interpreter/ptx/syntax/module.h"
#include "sandbox/interpreter/ptx/syntax/scoped_names.h"

namespace bicrl::ptx {

// A module within these limits takes less than 1 GB.
constexpr size_t kMaxTextBytes = size_t{16} << 20;
constexpr uint64_t kMaxInstructions = 500000;
constexpr uint64_t kMaxParsedOperands = 3000000;
constexpr uint64_t kMaxNames = 1000000;              // that are declared
constexpr uint64_t kMaxDeclaredRegisters = 4000000;  // of all functions
constexpr uint64_t kMaxBranchEdges = 1000000;        // in lists, and of all brx.idx
constexpr uint64_t kMaxInitialBytes = uint64_t{64} << 20;
constexpr uint64_t kMaxVariableBytes = uint64_t{1} << 34;  // of one, and of all, in global memory
constexpr uint64_t kMaxOtherBytes = uint64_t{1} << 20;     // of one in another space
constexpr uint32_t kMaxAlignment = 1 << 16;
constexpr size_t kMaxDimensions = 8;
constexpr size_t kMaxScopes = 64;  // nested
constexpr size_t kMaxModifiers = 24;
constexpr size_t kMaxVectorElements = 256;
constexpr size_t kMaxInstructionOperands = 512;

struct ParseState {
  explicit ParseState(std::string_view text) : lexer(text) {}

  Lexer lexer;
  Module module;
  ScopedNames names;      // of all but functions and ranges of registers
  ScopedNames ranges;     // of registers, by what stands before the number
  ScopedNames functions;  // these belong to the module, also if a local scope is open when they are named
  std::map<uint32_t, uint32_t> files;  // numbers that .file gives -> index in the module
  uint64_t instructions = 0, operands = 0, declared_names = 0, declared_registers = 0, branch_edges = 0,
           initial_bytes = 0, global_bytes = 0;

  void open_scope() {
    names.open();
    ranges.open();
  }
  void close_scope() {
    names.close();
    ranges.close();
  }

  // `scopes` is one of the three above.
  void declare(ScopedNames& scopes, std::string_view name, Symbol symbol) {
    spend(declared_names, 1, kMaxNames, "names");
    scopes.declare(name, symbol);
  }

  // What a name means in an operand or an initial value; null if nothing.
  const Symbol* find(std::string_view name) const {
    const ScopedNames::Entry* entry = names.find(name);
    if (!entry) entry = functions.find(name);
    return entry ? &entry->symbol : nullptr;
  }

  uint32_t file_index(uint32_t number) {
    const auto [place, is_new] = files.try_emplace(number, static_cast<uint32_t>(module.files.size()));
    if (is_new) module.files.emplace_back();
    return place->second;
  }

  // Counts `more` of a thing that has a limit.
  void spend(uint64_t& used, uint64_t more, uint64_t limit, const char* what) {
    if (more > limit || used > limit - more) lexer.fail(std::string("too many or too large ") + what);
    used += more;
  }
};

}  // namespace bicrl::ptx
