// How chosen responses were denoised, token by token.
#include <algorithm>
#include <cmath>

#include "common/error.h"
#include "report/page/figure_text.h"
#include "report/page/sections.h"

namespace bicrl::report {
namespace {

constexpr size_t kMostDataBytes = 800'000;  // of all responses of a page
constexpr size_t kMostResponses = 60;
constexpr size_t kMostPictureTokens = 3000;

struct Recorded {
  const RunRecord* run;
  const ResponseEntry* entry;
  const KeptResponse* kept;
};

// Of the shown groups: each group's best and worst first, so that a limit leaves some of every group.
std::vector<Recorded> recorded_responses(const std::vector<RunRecord>& runs) {
  std::vector<std::vector<Recorded>> groups;
  for (const RunRecord& run : runs)
    for (const ChosenGroup& group : run.groups) {
      std::vector<Recorded> members;
      for (size_t i = group.range.begin; i < group.range.end; ++i) {
        const ResponseEntry& entry = run.responses.responses[i];
        const auto kept = run.kept.responses.find({group.row, group.group, entry.sample});
        if (kept == run.kept.responses.end() || !kept->second.denoising) continue;
        const bool is_known = std::ranges::any_of(
            members, [&](const Recorded& r) { return r.kept->text == kept->second.text; });
        if (!is_known) members.push_back({&run, &entry, &kept->second});
      }
      std::ranges::stable_sort(members, std::ranges::greater(),
                               [](const Recorded& r) { return r.entry->reward; });
      if (members.size() > 2) std::rotate(members.begin() + 1, members.end() - 1, members.end());
      groups.push_back(std::move(members));
    }
  std::vector<Recorded> all;
  for (size_t place = 0; all.size() < kMostResponses; ++place) {
    const size_t before = all.size();
    for (const auto& members : groups)
      if (place < members.size() && all.size() < kMostResponses) all.push_back(members[place]);
    if (all.size() == before) break;
  }
  return all;
}

// The index of the first token on the text's line `line` (1-based) and that behind its last one.
std::pair<size_t, size_t> tokens_of_line(const std::vector<std::string>& pieces, const std::string& response,
                                         const DenoisingRecord& record, int64_t line) {
  if (line <= 0) return {0, 0};
  int64_t at_line = 1 + std::count(response.begin(), response.begin() + record.text_begin, '\n');
  std::pair<size_t, size_t> range = {0, 0};
  for (size_t i = 0; i < pieces.size(); ++i) {
    const int64_t next = at_line + std::count(pieces[i].begin(), pieces[i].end(), '\n');
    if (at_line <= line && next >= line) {
      if (range.second == 0) range.first = i;
      range.second = i + 1;
    }
    at_line = next;
  }
  return range;
}

// How many bytes at the end of a text begin a character that the text does not complete.
size_t begun_bytes(const std::string& piece) {
  for (size_t back = 1; back <= std::min<size_t>(3, piece.size()); ++back) {
    const auto byte = static_cast<unsigned char>(piece[piece.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;  // within a character
    const size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

// A character that straddles tokens stands in the piece of the token that completes it.
std::vector<std::string> whole_characters(std::vector<std::string> pieces) {
  for (size_t i = 0; i + 1 < pieces.size(); ++i) {
    const size_t begun = begun_bytes(pieces[i]);
    pieces[i + 1].insert(0, pieces[i], pieces[i].size() - begun, begun);
    pieces[i].resize(pieces[i].size() - begun);
  }
  return pieces;
}

nlohmann::json record_json(const Recorded& each, const std::string& label,
                           const std::vector<std::string>& pieces, int64_t run) {
  const DenoisingRecord& record = *each.kept->denoising;
  nlohmann::json shown = nlohmann::json::array(), hundredths = nlohmann::json::array();
  for (const std::string& piece : pieces) shown.push_back(visible_text(piece));
  for (const float value : record.log_probs) hundredths.push_back(std::llround(100 * double{value}));
  const int64_t line = each.run->responses.verdict_of(*each.entry).is_correct
                           ? 0
                           : fault_line(each.kept->text, each.kept->diagnostics);
  const auto [begin, end] = tokens_of_line(pieces, each.kept->text, record, line);
  return {{"label", visible_text(label)},
          {"run", run},
          {"row", each.entry->row},
          {"group", each.entry->group},
          {"sample", each.entry->sample},
          {"advantage", each.entry->advantage},
          {"reward", each.entry->reward},
          {"pieces", shown},
          {"steps", record.steps},
          {"log_prob_hundredths", hundredths},
          {"block_tokens", record.block_tokens},
          {"offset_in_block", record.offset_in_block},
          {"fault", {begin, end}},
          {"diagnostics", visible_text(each.kept->diagnostics.substr(0, each.kept->diagnostics.find('\n')))}};
}

// The whole response as a picture for readers without a script: the later a token was accepted, the darker.
Html still_picture(const std::vector<std::string>& pieces, const DenoisingRecord& record) {
  constexpr int kShades = 8;
  int32_t last = 1;
  for (const int32_t step : record.steps) last = std::max(last, std::abs(step));
  Html tokens;
  for (size_t i = 0; i < std::min(pieces.size(), kMostPictureTokens); ++i) {
    const int64_t shade =
        record.steps[i] <= 0 ? 0 : 1 + (int64_t{record.steps[i]} - 1) * (kShades - 1) / last;
    tokens += element("span",
                      {{"class", concat("token t", shade)},
                       {"title", concat("step ", std::abs(record.steps[i]), ", probability ",
                                        figure_text(std::exp(record.log_probs[i]), Unit::kShare))}},
                      text(pieces[i]));
  }
  if (pieces.size() > kMostPictureTokens)
    tokens += text(concat("… ", pieces.size() - kMostPictureTokens, " more tokens"));
  return element("pre",
                 {{"class", "tokens"},
                  {"tabindex", "0"},
                  {"aria-label", "Tokens of the response, shaded by the denoise step of each"}},
                 tokens);
}

}  // namespace

SectionParts denoising_section(const std::vector<RunRecord>& runs) {
  SectionParts parts;
  parts.data["responses"] = nlohmann::json::array();
  size_t data_bytes = 0;
  Html picture;
  for (const Recorded& each : recorded_responses(runs)) {
    const std::vector<std::string> pieces =
        whole_characters(pieces_of(*each.kept->denoising, each.kept->text));
    if (pieces.empty()) continue;
    const VerdictFigures& verdict = each.run->responses.verdict_of(*each.entry);
    const std::string label =
        concat(runs.size() > 1 ? each.run->name + ", " : "", step_name(each.run->steps, each.entry->row),
               ", ", each.run->responses.task_of(*each.entry), ", sample ", each.entry->sample, ": ",
               verdict.outcome, verdict.speedup > 0 ? " " + figure_text(verdict.speedup, Unit::kFactor) : "");
    nlohmann::json record = record_json(each, label, pieces, each.run - runs.data());
    const size_t bytes = json_for_script(record.dump()).size();
    if (data_bytes + bytes > kMostDataBytes) continue;  // a shorter one may follow
    data_bytes += bytes;
    if (picture.empty())
      picture = element("p", {{"class", "lead"}}, text(label)) + still_picture(pieces, *each.kept->denoising);
    parts.data["responses"].push_back(std::move(record));
  }
  if (picture.empty()) {
    parts.markup = element(
        "p", {{"class", "empty"}},
        literal("No response was kept with its tokens. Runs of this version keep those of "
                "<code>samples.jsonl</code>, and of every response with <code>run.keep_texts=all</code>."));
    return parts;
  }
  parts.markup = element("p", {{"class", "lead"}},
                         literal("A block-diffusion policy writes a block of tokens at a time, the surest "
                                 "first. Play a response, or move through its steps.")) +
                 element("div", {{"id", "denoising-viewer"}}, picture);
  return parts;
}

}  // namespace bicrl::report
