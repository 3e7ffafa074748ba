#include "trainer/ranks/entered_operations.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/error.h"
#include "common/hash.h"

namespace bicrl {

int64_t EnteredOperations::enter(const std::string& operation, const std::string& what,
                                 const at::Tensor& like) {
  const std::string text = concat(operation, " of ", what, " (", like.numel(), " elements of ",
                                  c10::toString(like.scalar_type()), ")");
  hash_ = hash_hex({hash_, text});
  recent_.push_back({text, hash_});
  if (static_cast<int64_t>(recent_.size()) > kRecent) recent_.pop_front();
  return count_++;
}

const EnteredOperations::Entered& EnteredOperations::entered(int64_t number) const {
  BICRL_CHECK(number >= oldest() && number < count_, number, " of ", count_);
  return recent_[static_cast<size_t>(number - oldest())];
}

std::string EnteredOperations::text(int64_t number) const { return entered(number).text; }

std::string EnteredOperations::to_bytes() const {
  nlohmann::json recent = nlohmann::json::array();
  for (const Entered& each : recent_) recent.push_back({each.text, each.hash});
  std::string bytes;
  nlohmann::json::to_cbor({count_, hash_, recent}, bytes);
  return bytes;
}

EnteredOperations EnteredOperations::from_bytes(const std::string& bytes) {
  const nlohmann::json document = nlohmann::json::from_cbor(bytes);
  EnteredOperations operations;
  operations.count_ = document.at(0);
  operations.hash_ = document.at(1);
  for (const nlohmann::json& each : document.at(2)) operations.recent_.push_back({each.at(0), each.at(1)});
  return operations;
}

std::string difference(int rank, const EnteredOperations& own, int other, const EnteredOperations& theirs) {
  const int64_t end = std::min(own.count(), theirs.count());
  for (int64_t n = std::max(own.oldest(), theirs.oldest()); n < end; ++n)
    if (own.entered(n).hash != theirs.entered(n).hash)
      return concat("rank ", rank, " is in ", own.text(n), ", and rank ", other, " in ", theirs.text(n));
  return "";
}

namespace {

// Digests differ: of the operations of all ranks, in rank order.
std::string why_they_differ(int rank, const std::vector<std::string>& by_rank) {
  const EnteredOperations own = EnteredOperations::from_bytes(by_rank[static_cast<size_t>(rank)]);
  const auto latest = [](const EnteredOperations& operations) {
    return operations.count() == 0 ? "none" : operations.text(operations.count() - 1);
  };
  std::string numbers;
  for (int other = 0; other < static_cast<int>(by_rank.size()); ++other) {
    const EnteredOperations theirs = EnteredOperations::from_bytes(by_rank[static_cast<size_t>(other)]);
    const std::string found = difference(rank, own, other, theirs);
    if (!found.empty()) return found;
    if (numbers.empty() && theirs.digest() != own.digest())
      numbers = concat("rank ", rank, " has entered ", own.count(), " operations, at last ", latest(own),
                       ", and rank ", other, " ", theirs.count(), ", at last ", latest(theirs));
  }
  return numbers.empty() ? concat("ranks have entered different operations, but not rank ", rank) : numbers;
}

}  // namespace

void compare_entered(TensorPlane& tensors, ControlPlane& control) {
  const EnteredOperations* const own = tensors.entered();
  if (!own || control.size() == 1) return;
  const std::vector<std::string> digests = control.all_gather(own->digest());
  if (std::ranges::all_of(digests, [&](const std::string& each) { return each == digests.front(); })) return;
  const std::string why = why_they_differ(control.rank(), control.all_gather(own->to_bytes()));
  // What other ranks have not entered as well never ends.
  tensors.abort();
  throw Error(why);
}

}  // namespace bicrl
