#include "sandbox/interpreter/ptx/syntax/scoped_names.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <random>

namespace bicrl::ptx {
namespace {

// Nobody can choose names that collide.
uint64_t process_seed() {
  static const uint64_t seed = [] {
    std::random_device device;
    return uint64_t{device()} << 32 | device();
  }();
  return seed;
}

}  // namespace

size_t ScopedNames::Hash::operator()(std::string_view name) const {
  return XXH3_64bits_withSeed(name.data(), name.size(), seed);
}

ScopedNames::ScopedNames() : newest_(64, Hash{process_seed()}) {}

void ScopedNames::close() {
  const size_t begin = scopes_.back();
  for (size_t i = entries_.size(); i > begin; --i)
    newest_.find(entries_[i - 1].name)->second = entries_[i - 1].hidden;
  entries_.resize(begin);
  scopes_.pop_back();
}

void ScopedNames::declare(std::string_view name, Symbol symbol) {
  int64_t& newest = newest_.try_emplace(name, -1).first->second;
  entries_.push_back({name, symbol, depth(), newest});
  newest = static_cast<int64_t>(entries_.size()) - 1;
}

const ScopedNames::Entry* ScopedNames::find(std::string_view name) const {
  const auto found = newest_.find(name);
  return found == newest_.end() || found->second < 0 ? nullptr : &entries_[found->second];
}

}  // namespace bicrl::ptx
