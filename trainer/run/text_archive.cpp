#include "trainer/run/text_archive.h"

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files.h"
#include "common/gzip.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

std::string file_name(const std::string& phase, int64_t step, int rank) {
  char digits[32];
  snprintf(digits, sizeof digits, "%06lld", static_cast<long long>(step));
  return concat(phase, "-", digits, "-rank-", rank, ".jsonl.gz");
}

}  // namespace

void TextArchive::write(const std::string& phase, int64_t step, const std::vector<SavedRollout>& rollouts,
                        const std::vector<ResponseEntry>& entries) const {
  std::map<int64_t, size_t> next;  // by group, the entry of its next sample
  for (size_t i = entries.size(); i-- > 0;) next[entries[i].group] = i;
  std::string lines;
  std::map<int64_t, int64_t> samples;
  for (const SavedRollout& saved : rollouts) {
    const auto entry = next.find(saved.group);
    BICRL_CHECK(entry != next.end() && entry->second < entries.size(), "group ", saved.group);
    const ResponseEntry& response = entries[entry->second++];
    const auto& tokens = saved.rollout.tokens;
    nlohmann::json line = to_json(response);
    line.update(
        {{"phase", phase},
         {"step", step},
         {"sample", samples[saved.group]++},
         {"prompt", tokenizer_.decode({tokens.begin(), tokens.begin() + saved.rollout.prompt_tokens})},
         {"text", saved.rollout.text},
         {"terms", nlohmann::json::object()},
         {"verdict_key", response.verdict_key},
         {"verdict", response.verdict ? to_json(*response.verdict) : nlohmann::json()}});
    for (const RewardTerm& term : response.terms) line["terms"][term.name] = term.value;
    lines += line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  std::error_code failure;
  fs::create_directories(folder_, failure);
  if (failure) throw Error(concat("cannot create ", folder_.string(), ": ", failure.message()));
  write_file_atomically(folder_ / file_name(phase, step, rank_), gzip(lines));
}

}  // namespace bicrl
