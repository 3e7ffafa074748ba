#include "episode/episode_fields.h"

#include <nlohmann/json.hpp>
#include <type_traits>

#include "common/error.h"
#include "common/field_count.h"

namespace bicrl {
namespace {

using nlohmann::json;

constexpr unsigned kLog = 1, kSample = 2, kSaved = 4, kRanks = 8;
constexpr unsigned kShown = kLog | kSample, kWhole = kSaved | kRanks, kAll = kShown | kWhole;

// A log says of a rollout's end only whether it is truncated; whole forms hold what that follows from.
template <class RolloutType>
struct Truncation {
  RolloutType& rollout;
};

template <class EpisodeType, class Visit>
void for_each_field(EpisodeType& e, const Visit& visit) {
  visit("phase", kSample | kWhole, e.key.place.phase);
  visit("step", kSample | kWhole, e.key.place.step);
  visit("group", kAll, e.key.group);
  visit("sample", kAll, e.key.sample);
  visit("task", kAll, e.task_id);
  visit("repair", kSample | kWhole, e.repair);
  visit("reward", kShown | kRanks, e.reward.value);
  visit("masked", kShown | kRanks, e.reward.masked);
  visit("mask_reason", kRanks, e.reward.mask_reason);
  visit("terms", kSample | kRanks, e.reward.terms);
  visit("advantage", kShown | kRanks, e.advantage);
  visit("is_trained", kRanks, e.is_trained);
}

template <class TurnType, class Visit>
void for_each_turn_field(TurnType& t, const Visit& visit) {
  visit("text", kSample | kWhole, t.rollout.text);
  visit("truncated", kShown, Truncation{t.rollout});
  visit("tokens_left", kAll, t.rollout.tokens_left);
  visit("verdict_key", kShown | kRanks, t.verdict_key);
  visit("verdict", kSample | kRanks, t.verdict);
  visit("straggled", kRanks, t.straggled);
  visit("program", kRanks, t.program);
  visit("policy_version", kWhole, t.rollout.policy_version);
  visit("prompt_tokens", kWhole, t.rollout.prompt_tokens);
  visit("finish", kWhole, t.rollout.finish);
  visit("clamped", kWhole, t.rollout.clamped);
  visit("denoise_steps", kWhole, t.rollout.denoise_steps);
  visit("tokens", kRanks, t.rollout.tokens);
  visit("step_map", kRanks, t.rollout.step_map);
  visit("log_probs", kRanks, t.rollout.log_probs);
  visit("candidates", kRanks, t.rollout.candidates);
}

// A new member is visited above, or left out with a reason: it may be forgotten in a file and between ranks
// otherwise. `counted_key` of a turn is left out, as it is of the process that scores.
static_assert(field_count<Episode>() == 8 && field_count<Turn>() == 6 && field_count<Reward>() == 4);
static_assert(field_count<Rollout>() == 12 && field_count<CandidateRecord>() == 10);

// ---- Values.

template <class T>
void write(json& out, const T& value) {
  out = value;
}
void write(json& out, const FinishReason& finish) { out = static_cast<int>(finish); }
void write(json& out, const Truncation<const Rollout>& value) { out = value.rollout.truncated(); }
void write(json& out, const CandidateRecord& record) {
  if (record.kind == CandidateTerms::kNone) return;
  out = {{"kind", static_cast<int>(record.kind)},
         {"tokens", record.tokens},
         {"steps", record.steps},
         {"excluded", record.excluded},
         {"ids", record.ids},
         {"log_likelihoods", record.log_likelihoods},
         {"kept_tokens", record.kept_tokens},
         {"kept_steps", record.kept_steps},
         {"kept_counts", record.kept_counts},
         {"kept_ids", record.kept_ids}};
}
void write(json& out, const std::optional<Verdict>& verdict) { out = verdict ? to_json(*verdict) : json(); }
void write(json& out, const std::vector<RewardTerm>& terms) {
  out = json::object();
  for (const RewardTerm& term : terms) out[term.name] = term.value;
}

template <class T>
void read(const json& in, T& value) {
  in.get_to(value);
}
void read(const json& in, FinishReason& finish) {
  const int number = in.get<int>();
  if (number < 0 || number > static_cast<int>(FinishReason::kTokenLimit))
    throw InputError("finish: a value is out of range");
  finish = static_cast<FinishReason>(number);
}
void read(const json& in, CandidateRecord& record) {
  if (in.is_null()) return;
  record.kind = candidate_terms_of(in.at("kind").get<int64_t>());
  in.at("tokens").get_to(record.tokens);
  in.at("steps").get_to(record.steps);
  in.at("excluded").get_to(record.excluded);
  in.at("ids").get_to(record.ids);
  in.at("log_likelihoods").get_to(record.log_likelihoods);
  in.at("kept_tokens").get_to(record.kept_tokens);
  in.at("kept_steps").get_to(record.kept_steps);
  in.at("kept_counts").get_to(record.kept_counts);
  in.at("kept_ids").get_to(record.kept_ids);
}
void read(const json& in, Truncation<Rollout>& value) {
  value.rollout.finish = in.get<bool>() ? FinishReason::kTokenLimit : FinishReason::kEndToken;
}
void read(const json& in, std::optional<Verdict>& verdict) {
  if (!in.is_null()) verdict = verdict_from_json(in);
}
void read(const json& in, std::vector<RewardTerm>& terms) {
  if (!in.is_object()) throw InputError("terms: no object");
  for (const auto& [name, value] : in.items()) terms.push_back({name, value.get<double>()});
}

struct Writer {
  unsigned form;
  json& out;
  template <class T>
  void operator()(const char* name, unsigned forms, const T& value) const {
    if (forms & form) write(out[name], value);
  }
};

struct Reader {
  unsigned form;
  const json& in;
  template <class T>
  void operator()(const char* name, unsigned forms, T&& value) const {
    if (!(forms & form)) return;
    const auto found = in.find(name);
    if (found == in.end()) throw InputError(concat("an episode lacks its field '", name, "'"));
    try {
      read(*found, value);
    } catch (const json::exception& error) {
      throw InputError(concat("an episode's field '", name, "': ", error.what()));
    }
  }
};

}  // namespace

json to_json(const Episode& episode, EpisodeForm form) {
  const auto bit = static_cast<unsigned>(form);
  json out = json::object();
  for_each_field(episode, Writer{bit, out});
  if (bit & kWhole) {
    json& turns = out["turns"] = json::array();
    for (const Turn& turn : episode.turns)
      for_each_turn_field(turn, Writer{bit, turns.emplace_back(json::object())});
  } else {
    for_each_turn_field(episode.last(), Writer{bit, out});
  }
  return out;
}

Episode episode_from_json(const json& document, EpisodeForm form) {
  const auto bit = static_cast<unsigned>(form);
  if (!document.is_object()) throw InputError("an episode is no JSON object");
  Episode episode;
  for_each_field(episode, Reader{bit, document});
  if (!(bit & kWhole)) {
    for_each_turn_field(episode.last(), Reader{bit, document});
  } else {
    const auto turns = document.find("turns");
    if (turns == document.end() || !turns->is_array() || turns->empty())
      throw InputError("an episode lacks its list of turns");
    episode.turns.resize(turns->size());
    for (size_t i = 0; i < turns->size(); ++i) {
      if (!(*turns)[i].is_object()) throw InputError("a turn of an episode is no JSON object");
      for_each_turn_field(episode.turns[i], Reader{bit, (*turns)[i]});
    }
  }
  for (Turn& turn : episode.turns) turn.rollout.task_id = episode.task_id;
  return episode;
}

}  // namespace bicrl
