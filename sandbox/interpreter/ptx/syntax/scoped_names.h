// Names of a PTX text with the scopes that they belong to. One thread; holds views of the text.
#pragma once
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sandbox/interpreter/ptx/syntax/module.h"

namespace bicrl::ptx {

struct Symbol {
  enum class Kind : uint8_t {
    kVariable,
    kFunction,
    kRegister,       // one register
    kRegisterRange,  // .reg %r<count>
    kLabel,
    kBranchTargets,
    kPrototype
  };
  Kind kind = Kind::kVariable;
  Type type = Type::kNone;  // of registers
  uint32_t index = 0;       // in the list of its kind; of registers, into the parser's list of declarations
  uint32_t count = 0;       // of kRegisterRange
};

// Time per operation does not depend on the names, not even on hostile ones.
class ScopedNames {
 public:
  struct Entry {
    std::string_view name;
    Symbol symbol;
    uint32_t depth = 0;
    int64_t hidden = -1;  // the entry of the same name that this one hides
  };

  ScopedNames();
  uint32_t depth() const { return static_cast<uint32_t>(scopes_.size()); }  // 0: the module's scope
  void open() { scopes_.push_back(entries_.size()); }
  void close();
  void declare(std::string_view name, Symbol symbol);
  const Entry* find(std::string_view name) const;  // the innermost; valid until the next declare() or close()
  const Entry* hidden_by(const Entry& entry) const {
    return entry.hidden < 0 ? nullptr : &entries_[entry.hidden];
  }

 private:
  struct Hash {
    uint64_t seed;
    size_t operator()(std::string_view name) const;
  };
  std::unordered_map<std::string_view, int64_t, Hash> newest_;  // into entries_; -1: none any more
  std::vector<Entry> entries_;
  std::vector<size_t> scopes_;
};

}  // namespace bicrl::ptx
