#include "trainer/experience/unverified.h"

#include <cmath>

#include "common/error.h"

namespace bicrl {
namespace {

constexpr int64_t kMinResponsesOfRank = 8;

bool reaches(const UnverifiedCount& count, double limit) {
  return count.unverified > 0 &&
         static_cast<double>(count.unverified) >= limit * static_cast<double>(count.responses);
}

std::string share_text(const UnverifiedCount& count) {
  return concat(count.unverified, " of ", count.responses, " responses");
}

}  // namespace

std::string unverified_problem(const std::vector<UnverifiedCount>& ranks, double limit) {
  UnverifiedCount all;
  for (const UnverifiedCount& rank : ranks) {
    all.responses += rank.responses;
    all.unverified += rank.unverified;
  }
  if (reaches(all, limit)) return concat(share_text(all), " got no verdict");
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    if (ranks[rank].responses >= kMinResponsesOfRank && reaches(ranks[rank], limit))
      return concat(share_text(ranks[rank]), " of rank ", rank, " got no verdict");
  return "";
}

}  // namespace bicrl
