// Chosen groups: all answers to one prompt beside each other.
#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <ranges>

#include "common/error.h"
#include "report/line_diff.h"
#include "report/page/figure_text.h"
#include "report/page/program_listing.h"
#include "report/page/sections.h"
#include "report/page/text_budget.h"

namespace bicrl::report {
namespace {

constexpr size_t kMostCards = 4;              // distinct programs of a group that are shown whole
constexpr size_t kMostTextBytes = 1'300'000;  // of all programs, diagnostics and prompts, as markup

std::string signed_text(double value) {
  return concat(value > 0 ? "+" : "", figure_text(value, Unit::kNumber));
}

// A response with the text that was kept of it, if one was.
struct Member {
  const ResponseEntry* entry = nullptr;
  const KeptResponse* kept = nullptr;
  size_t same_as = 0;  // index of the first member with the same text
};

std::vector<Member> members_of(const RunRecord& run, const ChosenGroup& group) {
  std::vector<Member> members;
  for (size_t i = group.range.begin; i < group.range.end; ++i) {
    Member member{.entry = &run.responses.responses[i], .same_as = members.size()};
    const auto found = run.kept.responses.find({group.row, group.group, member.entry->sample});
    if (found != run.kept.responses.end()) member.kept = &found->second;
    for (size_t before = 0; member.kept && before < members.size(); ++before)
      if (members[before].kept && members[before].kept->text == member.kept->text) {
        member.same_as = before;
        break;
      }
    members.push_back(member);
  }
  return members;
}

Html time_cell(const VerdictFigures& verdict) {
  if (verdict.candidate_ms <= 0 || !verdict.is_correct) return literal("–");
  return element("span", {{"class", "main"}}, text(figure_text(verdict.speedup, Unit::kFactor))) +
         element("span", {{"class", "interval"}},
                 text(concat(figure_text(verdict.candidate_ms, Unit::kMilliseconds), ", eager ",
                             figure_text(verdict.eager_ms, Unit::kMilliseconds))));
}

Html response_table(const RunRecord& run, const std::vector<Member>& members) {
  std::vector<std::vector<TableCell>> rows;
  for (const Member& member : members) {
    const VerdictFigures& verdict = run.responses.verdict_of(*member.entry);
    Html terms;
    if (member.kept)
      for (const auto& [name, value] : member.kept->terms)
        terms += element("span", {{"class", "term"}},
                         text(concat(readable_name(name), " ", figure_text(value, Unit::kNumber))));
    Html sample = text(std::to_string(member.entry->sample));
    if (member.same_as != static_cast<size_t>(&member - members.data()))
      sample += element("span", {{"class", "interval"}},
                        text(concat("same text as ", members[member.same_as].entry->sample)));
    rows.push_back(
        {{sample},
         {outcome_badge(verdict.outcome)},
         number_cell(member.entry->is_masked ? "masked" : figure_text(member.entry->reward, Unit::kNumber)),
         number_cell(signed_text(member.entry->advantage)),
         {time_cell(verdict), true},
         cell(verdict.bound_by.empty() ? "–" : verdict.bound_by),
         {terms.empty() ? text("–") : terms}});
  }
  return table("Responses of the group",
               {"sample", "verdict", "reward", "advantage", "speed-up, time", "bound by", "terms"}, rows);
}

Html counter_table(const std::vector<KernelCounters>& kernels) {
  if (kernels.empty()) return {};
  std::vector<std::vector<TableCell>> rows;
  for (const KernelCounters& k : kernels)
    rows.push_back({cell(k.name),
                    number_cell(concat(figure_text(k.blocks, Unit::kCount), " × ", k.threads_per_block)),
                    number_cell(figure_text(k.registers_per_thread, Unit::kNumber)),
                    number_cell(figure_text(k.shared_bytes_per_block, Unit::kBytes)),
                    number_cell(figure_text(k.loaded_bytes, Unit::kBytes)),
                    number_cell(figure_text(k.stored_bytes, Unit::kBytes)),
                    number_cell(figure_text(k.instructions, Unit::kCount))});
  return element("details", element("summary", literal("Counters of its kernels")) +
                                table("Counters",
                                      {"kernel", "blocks × threads", "registers", "shared", "loaded",
                                       "stored", "instructions"},
                                      rows));
}

// Lines that the policy wrote: by its tokens where they were kept, else what the group does not share.
std::vector<bool> written_lines(const Member& member, const std::vector<std::string>& lines,
                                const SharedLines& shared) {
  std::vector<bool> written(lines.size(), false);
  if (const auto& denoising = member.kept->denoising) {
    // Without a scaffold all of it is the policy's, which needs no marks.
    if (denoising->text_begin == 0 && std::ssize(member.kept->text) - denoising->text_bytes < 2) return {};
    const int64_t begin = denoising->text_begin, end = begin + denoising->text_bytes;
    int64_t at = 0;
    for (size_t i = 0; i < lines.size(); ++i) {
      const int64_t next = at + std::ssize(lines[i]) + 1;
      written[i] = at < end && next > begin;
      at = next;
    }
    return written;
  }
  if (shared.head + shared.tail == 0) return {};
  for (size_t i = shared.head; i + shared.tail < lines.size(); ++i) written[i] = true;
  return written;
}

class Cards {
 public:
  Cards(const RunRecord& run, const std::vector<Member>& members) : run_(run), members_(members) {
    for (const Member& member : members)
      if (member.kept && member.same_as == static_cast<size_t>(&member - members.data()))
        distinct_.push_back(&member);
    // The best first, the fastest of those.
    std::ranges::stable_sort(distinct_, std::ranges::greater(), [&](const Member* m) {
      return std::pair(m->entry->reward, run_.responses.verdict_of(*m->entry).speedup);
    });
    std::vector<std::vector<std::string>> texts;
    for (const Member* member : distinct_) texts.push_back(lines_of(member->kept->text));
    shared_ = shared_lines(texts);
    programs_ = distinct_.size();
    keep_few();
  }

  // Each text has `most_bytes` or fewer.
  Html markup(size_t most_bytes) const {
    Html cards;
    for (size_t i = 0; i < distinct_.size(); ++i) cards += card(i, most_bytes);
    Html hint;
    if (distinct_.size() < programs_)
      hint = element("p", {{"class", "hint"}},
                     text(concat(distinct_.size(), " of ", programs_,
                                 " different programs: the best, and others with each verdict.")));
    return hint + element("div", {{"class", "cards"}}, cards);
  }
  size_t count() const { return distinct_.size(); }
  // Of programs and diagnostics as they would be shown without a limit.
  std::vector<size_t> text_bytes() const {
    std::vector<size_t> sizes;
    for (size_t i = 0; i < distinct_.size(); ++i) {
      sizes.push_back(listing(i, std::numeric_limits<size_t>::max()).markup().size());
      sizes.push_back(text(distinct_[i]->kept->diagnostics).markup().size());
    }
    return sizes;
  }

 private:
  // The best, and others with each outcome once where possible.
  void keep_few() {
    std::vector<const Member*> kept, later;
    std::map<std::string, int> seen;
    for (const Member* member : distinct_)
      (seen[run_.responses.verdict_of(*member->entry).outcome]++ == 0 ? kept : later).push_back(member);
    kept.resize(std::min(kept.size(), kMostCards));
    for (const Member* member : later)
      if (kept.size() < kMostCards) kept.push_back(member);
    std::erase_if(distinct_,
                  [&](const Member* member) { return std::ranges::find(kept, member) == kept.end(); });
  }

  // The best one whole, any other shortened to what differs from it.
  Html listing(size_t number, size_t most_bytes) const {
    const Member& member = *distinct_[number];
    const VerdictFigures& verdict = run_.responses.verdict_of(*member.entry);
    ProgramLines program{.lines = lines_of(member.kept->text), .is_generated = {}, .differs = {}};
    program.is_generated = written_lines(member, program.lines, shared_);
    if (number > 0) program.differs = differing_lines(program.lines, lines_of(distinct_[0]->kept->text));
    program.fault_line = verdict.is_correct ? 0 : fault_line(member.kept->text, member.kept->diagnostics);
    return program_listing(program, concat("Program of sample ", member.entry->sample), number > 0,
                           most_bytes);
  }

  Html card(size_t number, size_t most_bytes) const {
    const Member& member = *distinct_[number];
    const VerdictFigures& verdict = run_.responses.verdict_of(*member.entry);
    const auto copies =
        std::ranges::count(members_, static_cast<size_t>(&member - members_.data()), &Member::same_as);
    Html head = element("span", {{"class", "sample"}},
                        text(concat("sample ", member.entry->sample,
                                    copies > 1 ? concat(", ", copies - 1, " more alike") : ""))) +
                outcome_badge(verdict.outcome);
    if (verdict.speedup > 0)
      head += element("span", {{"class", "speedup"}}, text(figure_text(verdict.speedup, Unit::kFactor)));
    head += element("span", {{"class", "advantage"}},
                    text(concat("advantage ", signed_text(member.entry->advantage))));
    Html card = element("header", head) + listing(number, most_bytes);
    if (number > 0)
      card += element("p", {{"class", "hint"}}, literal("Shortened to what differs from the group's best."));
    if (!member.kept->diagnostics.empty())
      card += element("pre", {{"class", "diagnostics"}, {"tabindex", "0"}, {"aria-label", "Diagnostics"}},
                      text(cut_text(member.kept->diagnostics, most_bytes)));
    card += counter_table(member.kept->kernels);
    return element("article", {{"class", "card"}}, card);
  }

  const RunRecord& run_;
  const std::vector<Member>& members_;
  std::vector<const Member*> distinct_;  // those that are shown
  size_t programs_ = 0;                  // how many there are
  SharedLines shared_;
};

nlohmann::json response_json(const RunRecord& run, const Member& member) {
  const VerdictFigures& verdict = run.responses.verdict_of(*member.entry);
  nlohmann::json json = {{"sample", member.entry->sample},
                         {"outcome", visible_text(verdict.outcome)},
                         {"reward", member.entry->reward},
                         {"advantage", member.entry->advantage},
                         {"masked", member.entry->is_masked},
                         {"truncated", member.entry->is_truncated},
                         {"has_text", member.kept != nullptr},
                         {"speedup", verdict.speedup},
                         {"candidate_ms", verdict.candidate_ms},
                         {"eager_ms", verdict.eager_ms},
                         {"bound_by", visible_text(verdict.bound_by)},
                         {"terms", nlohmann::json::object()}};
  if (member.kept) {
    for (const auto& [name, value] : member.kept->terms) json["terms"][visible_text(name)] = value;
    json["fault_line"] = fault_line(member.kept->text, member.kept->diagnostics);
  }
  return json;
}

struct ShownGroup {
  ShownGroup(const RunRecord& its_run, const ChosenGroup& choice)
      : run(its_run), group(choice), members(members_of(run, group)), cards(run, members) {
    const auto prompted =
        std::ranges::find_if(members, [](const Member& m) { return m.kept && !m.kept->prompt.empty(); });
    if (prompted != members.end()) prompt = prompted->kept->prompt;
  }
  const RunRecord& run;
  const ChosenGroup& group;
  std::vector<Member> members;
  Cards cards;  // of `members`
  std::string prompt{};
};

Html group_markup(const ShownGroup& shown, const std::string& id, size_t most_bytes, bool is_open) {
  const auto& [run, group, members, cards, prompt] = shown;
  Html chips;
  for (const std::string& reason : group.reasons) chips += element("span", {{"class", "chip"}}, text(reason));
  const bool is_repair =
      std::ranges::any_of(members, [](const Member& m) { return m.kept && m.kept->is_repair; });
  if (is_repair) chips += element("span", {{"class", "chip"}}, literal("repair"));
  Html content = response_table(run, members);
  if (!prompt.empty())
    content += element(
        "details", element("summary", literal("Prompt")) +
                       element("pre", {{"class", "code plain"}, {"tabindex", "0"}, {"aria-label", "Prompt"}},
                               text(cut_text(prompt, most_bytes))));
  content += cards.count() > 0 ? cards.markup(most_bytes)
                               : element("p", {{"class", "empty"}},
                                         literal("No text of these responses was kept. Train with "
                                                 "<code>run.keep_texts=all</code> to keep them."));
  const std::string name = concat(step_name(run.steps, group.row), ", group ", group.group);
  Attributes attributes = {{"class", "group"}, {"id", id}, {"data-row", std::to_string(group.row)}};
  if (is_open) attributes.emplace_back("open", "");
  return element("details", attributes,
                 element("summary", element("span", {{"class", "name"}}, text(name)) +
                                        element("span", {{"class", "task"}},
                                                text(run.responses.task_of(*members[0].entry))) +
                                        chips) +
                     content);
}

}  // namespace

SectionParts group_section(const std::vector<RunRecord>& runs) {
  SectionParts parts;
  std::deque<ShownGroup> shown;
  std::vector<size_t> sizes;
  for (const RunRecord& run : runs)
    for (const ChosenGroup& group : std::views::reverse(run.groups)) {  // the newest first
      const ShownGroup& added = shown.emplace_back(run, group);
      for (const size_t bytes : added.cards.text_bytes()) sizes.push_back(bytes);
      sizes.push_back(text(added.prompt).markup().size());
    }
  const size_t most_bytes = common_limit(std::move(sizes), kMostTextBytes);
  for (const RunRecord& run : runs) {
    nlohmann::json groups = nlohmann::json::array();
    Html list;
    for (const ShownGroup& each : shown) {
      if (&each.run != &run) continue;
      const std::string id = concat("group-", &run - runs.data(), "-", each.group.row, "-", each.group.group);
      nlohmann::json responses = nlohmann::json::array();
      for (const Member& member : each.members) responses.push_back(response_json(run, member));
      groups.push_back({{"id", id},
                        {"row", each.group.row},
                        {"group", each.group.group},
                        {"task", visible_text(run.responses.task_of(*each.members[0].entry))},
                        {"reasons", each.group.reasons},
                        {"responses", responses}});
      list += group_markup(each, id, most_bytes, parts.markup.empty() && list.empty());
    }
    parts.data["groups"].push_back(std::move(groups));
    if (list.empty()) continue;
    if (runs.size() > 1) parts.markup += element("h3", text(run.name));
    parts.markup += element(
        "p", {{"class", "lead"}},
        text(concat(
            run.groups.size(), " of ", groups_of(run.responses).size(),
            " groups, chosen: the newest, the best, some of each fault, and both ends of what moved most.")));
    parts.markup += list;
  }
  if (parts.markup.empty())
    parts.markup = element("p", {{"class", "empty"}}, literal("No group has been recorded."));
  return parts;
}

}  // namespace bicrl::report
