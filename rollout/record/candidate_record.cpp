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

void CandidateRecord::add_kept(int64_t token, int64_t step, const std::vector<int64_t>& drawn_among) {
  BICRL_CHECK(!drawn_among.empty(), "a draw among no ids");
  kept_tokens.push_back(static_cast<int32_t>(token));
  kept_steps.push_back(static_cast<int32_t>(step));
  kept_counts.push_back(static_cast<int32_t>(drawn_among.size()));
  for (const int64_t id : drawn_among) kept_ids.push_back(static_cast<int32_t>(id));
}

namespace {

void check_ids(const std::vector<int32_t>& ids, int64_t asked_for, int64_t vocab_size) {
  BICRL_CHECK(asked_for == static_cast<int64_t>(ids.size()), "a record has ", ids.size(),
              " ids, its terms ask for ", asked_for);
  BICRL_CHECK(std::ranges::all_of(ids, [&](int32_t id) { return id >= 0 && id < vocab_size; }),
              "a record has an id outside the vocabulary of ", vocab_size);
}

void check_restricted_draws(const CandidateRecord& record, int64_t response_tokens, int64_t vocab_size) {
  const size_t draws = record.kept_tokens.size();
  BICRL_CHECK(record.kept_steps.size() == draws && record.kept_counts.size() == draws, "a record of ", draws,
              " restricted draws has ", record.kept_steps.size(), " steps and ", record.kept_counts.size(),
              " counts");
  int64_t ids = 0;
  for (size_t i = 0; i < draws; ++i) {
    BICRL_CHECK(record.kept_tokens[i] >= 0 && record.kept_tokens[i] < response_tokens &&
                    record.kept_steps[i] > 0 && record.kept_counts[i] > 0,
                "restricted draw ", i, " of a record is of token ", record.kept_tokens[i], " of ",
                response_tokens, ", step ", record.kept_steps[i], ", among ", record.kept_counts[i], " ids");
    ids += record.kept_counts[i];
  }
  check_ids(record.kept_ids, ids, vocab_size);
}

}  // namespace

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
  check_ids(record.ids, ids, vocab_size);
  check_restricted_draws(record, response_tokens, vocab_size);
}

}  // namespace bicrl
