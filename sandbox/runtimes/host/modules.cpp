#include "modules.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "bicrl/bindings.h"
#include "sandbox/frontend/device/lambda_ranks.h"

namespace bicrl {
namespace {

struct Module {
  std::vector<Symbol> symbols;  // by address
};
std::vector<Module>& modules() {
  static std::vector<Module> all;
  return all;
}

std::string read_all(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The compiler made the file, but a candidate may have changed it since: nothing in it is trusted.
class SymbolReader {
 public:
  SymbolReader(const std::string& file, uintptr_t base) : file_(file), base_(base) {}

  std::vector<Symbol> run() {
    std::vector<Symbol> symbols;
    const auto* head = at<Elf64_Ehdr>(0, 1);
    if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0) return symbols;
    const auto* sections = at<Elf64_Shdr>(head->e_shoff, head->e_shnum);
    for (size_t i = 0; sections && i < head->e_shnum; ++i)
      if (sections[i].sh_type == SHT_SYMTAB && sections[i].sh_link < head->e_shnum)
        read(sections[i], sections[sections[i].sh_link], symbols);
    std::stable_sort(symbols.begin(), symbols.end(),
                     [](const Symbol& a, const Symbol& b) { return a.address < b.address; });
    return symbols;
  }

 private:
  template <class T>
  const T* at(uint64_t offset, uint64_t count) const {
    if (offset > file_.size() || count > (file_.size() - offset) / sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(file_.data() + offset);
  }

  void read(const Elf64_Shdr& table, const Elf64_Shdr& strings, std::vector<Symbol>& symbols) const {
    const uint64_t count = table.sh_size / sizeof(Elf64_Sym);
    const auto* entries = at<Elf64_Sym>(table.sh_offset, count);
    const char* names = at<char>(strings.sh_offset, strings.sh_size);
    for (uint64_t i = 0; entries && names && i < count; ++i) {
      const Elf64_Sym& e = entries[i];
      const int type = ELF64_ST_TYPE(e.st_info);
      if ((type != STT_FUNC && type != STT_OBJECT) || e.st_shndx == SHN_UNDEF) continue;
      if (e.st_name >= strings.sh_size) continue;
      const char* name = names + e.st_name;
      const size_t length = strnlen(name, strings.sh_size - e.st_name);
      symbols.push_back({base_ + e.st_value, e.st_size, type == STT_FUNC, std::string(name, length)});
    }
  }

  const std::string& file_;
  uintptr_t base_;
};

void rank_functions(std::vector<Symbol>& symbols) {
  std::vector<std::string> names;
  for (const Symbol& s : symbols) names.push_back(s.is_function ? s.name : "");
  const std::vector<std::string> ranked = rank_lambdas(names);
  for (size_t i = 0; i < symbols.size(); ++i)
    if (symbols[i].is_function) symbols[i].name = ranked[i];
}

SymbolPlace find(const void* address, bool function) {
  const auto a = reinterpret_cast<uintptr_t>(address);
  for (size_t m = 0; m < modules().size(); ++m) {
    const auto& symbols = modules()[m].symbols;
    auto next = std::upper_bound(symbols.begin(), symbols.end(), a,
                                 [](uintptr_t value, const Symbol& s) { return value < s.address; });
    // Aliases of one address stand side by side.
    while (next != symbols.begin()) {
      const Symbol& s = *--next;
      if (s.is_function == function && (s.address == a || (!function && a - s.address < s.bytes)))
        return {static_cast<int64_t>(m), &s};
      if (s.address != a && s.is_function == function) break;
    }
  }
  return {};
}

}  // namespace

int64_t load_module(const char* path, std::string& reason) {
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (!handle) {
    const char* text = dlerror();
    reason = text ? text : "dlopen failed";
    return -1;
  }
  struct link_map* map = nullptr;
  auto* enter = reinterpret_cast<void (*)(Registry&)>(dlsym(handle, "bicrl_register"));
  if (!enter || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) {
    reason = "the module has no bicrl_register";
    return -1;
  }
  const std::string file = read_all(path);
  modules().push_back({SymbolReader(file, map->l_addr).run()});
  rank_functions(modules().back().symbols);
  Registry registry;
  enter(registry);
  return static_cast<int64_t>(modules().size()) - 1;
}

SymbolPlace find_function(const void* address) { return find(address, true); }
SymbolPlace find_variable(const void* address) { return find(address, false); }

}  // namespace bicrl
