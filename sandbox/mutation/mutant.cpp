#include "sandbox/mutation/mutant.h"

#include <algorithm>

#include "sandbox/mutation/mutation_rules.h"

namespace bicrl {
namespace {

struct CudaText {
  size_t begin = 0, end = 0;  // within the program, without the quotation marks
};

// Literals between three quotation marks that define a kernel.
std::vector<CudaText> cuda_texts(const std::string& program) {
  std::vector<CudaText> found;
  for (size_t at = 0; at < program.size();) {
    const size_t single = program.find("'''", at), twice = program.find("\"\"\"", at);
    const size_t open = std::min(single, twice);
    if (open == std::string::npos) break;
    const size_t begin = open + 3, end = program.find(program.substr(open, 3), begin);
    if (end == std::string::npos) break;
    if (program.substr(begin, end - begin).find("__global__") != std::string::npos)
      found.push_back({begin, end});
    at = end + 3;
  }
  return found;
}

int line_at(const std::string& program, size_t at) {
  return 1 + static_cast<int>(
                 std::count(program.begin(), program.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

void add_mutants(const std::string& program, const CudaText& where, const MutationRule& rule,
                 std::vector<Mutant>& mutants) {
  const TokenText text(program.substr(where.begin, where.end - where.begin));
  const CodeStructure structure(text);
  for (const CodeItem& item : structure.items()) {
    if (item.kind != CodeItem::Kind::kFunction || !item.body || !(item.is_global || item.is_device)) continue;
    const DeviceFunction function(text, structure, item.body);
    rule.find(function, [&](size_t first, size_t last, const std::string& replacement) {
      const size_t begin = where.begin + text.tokens()[first].begin,
                   end = where.begin + text.tokens()[last].end;
      Mutant mutant{rule.kind, line_at(program, begin), function.code(first, last), replacement, program};
      mutant.program.replace(begin, end - begin, replacement);
      mutants.push_back(std::move(mutant));
    });
  }
}

}  // namespace

const std::vector<Mutation>& mutations() {
  static const std::vector<Mutation> all = [] {
    std::vector<Mutation> list;
    for (const MutationRule& rule : mutation_rules()) list.push_back({rule.kind, rule.meaning});
    return list;
  }();
  return all;
}

std::vector<Mutant> mutants_of(const std::string& program) {
  std::vector<Mutant> mutants;
  for (const MutationRule& rule : mutation_rules())
    for (const CudaText& where : cuda_texts(program)) add_mutants(program, where, rule, mutants);
  return mutants;
}

}  // namespace bicrl
