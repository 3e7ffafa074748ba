#include "rollout/record/candidate_record.h"

#include <algorithm>

#include "common/error.h"

namespace bicrl {

void CandidateRecord::add_draw(int64_t token, int64_t step, int64_t id, float log_prob) {
  tokens.push_back(static_cast<int32_t>(token));
  steps.push_back(static_cast<int32_t>(step));
  excluded.push_back(0);
  ids.push_back(static_cast<int32_t>(id));
  log_likelihoods.push_back(log_prob);
}

void CandidateRecord::add_excluded(int64_t token, int64_t step, const std::vector<int64_t>& not_drawn,
                                   float log_mass) {
  BICRL_CHECK(!not_drawn.empty(), "a term that is 0");
  tokens.push_back(static_cast<int32_t>(token));
  steps.push_back(static_cast<int32_t>(step));
  excluded.push_back(static_cast<int32_t>(not_drawn.size()));
  for (const int64_t id : not_drawn) ids.push_back(static_cast<int32_t>(id));
  log_likelihoods.push_back(log_mass);
}

void check_record(const CandidateRecord& record, int64_t response_tokens, int64_t vocab_size) {
  const size_t terms = record.tokens.size();
  BICRL_CHECK(record.steps.size() == terms && record.excluded.size() == terms &&
                  record.log_likelihoods.size() == terms,
              "a record of ", terms, " terms has ", record.steps.size(), " steps, ", record.excluded.size(),
              " counts and ", record.log_likelihoods.size(), " log-likelihoods");
  int64_t ids = 0;
  for (size_t i = 0; i < terms; ++i) {
    BICRL_CHECK(record.tokens[i] >= 0 && record.tokens[i] < response_tokens && record.steps[i] > 0 &&
                    record.excluded[i] >= 0,
                "term ", i, " of a record is of token ", record.tokens[i], " of ", response_tokens, ", step ",
                record.steps[i], ", with ", record.excluded[i], " ids excluded");
    ids += std::max(record.excluded[i], 1);
  }
  BICRL_CHECK(ids == static_cast<int64_t>(record.ids.size()), "a record has ", record.ids.size(),
              " ids, its terms ask for ", ids);
  BICRL_CHECK(std::ranges::all_of(record.ids, [&](int32_t id) { return id >= 0 && id < vocab_size; }),
              "a record has an id outside the vocabulary of ", vocab_size);
}

}  // namespace bicrl
