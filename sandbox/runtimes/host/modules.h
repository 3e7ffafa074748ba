// The candidate's compiled modules and the names in them: kernels and device variables are known in the trace
// by their symbols, local and hidden ones among them, which only the file's own table has.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace bicrl {

struct Symbol {
  uintptr_t address = 0;
  uint64_t bytes = 0;
  bool is_function = false;
  std::string name;
};

struct SymbolPlace {
  int64_t module = 0;
  const Symbol* symbol = nullptr;
};

// Loads a module and reads its symbols; its number, or -1 with the reason.
int64_t load_module(const char* path, std::string& reason);

// The symbol that an address is the beginning of, or lies in; symbol is nullptr if there is none.
SymbolPlace find_function(const void* address);
SymbolPlace find_variable(const void* address);

}  // namespace bicrl
