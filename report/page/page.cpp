#include "report/page/page.h"

#include <nlohmann/json.hpp>

#include "common/error.h"
#include "report/page/embedded_files.h"
#include "report/page/sections.h"

namespace bicrl::report {
namespace {

std::string base64_of_hex(std::string_view hex) {
  constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto digit = [](char c) { return static_cast<uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10); };
  std::string encoded;
  for (size_t i = 0; i < hex.size(); i += 6) {
    uint32_t group = 0;
    const size_t digits = std::min<size_t>(6, hex.size() - i);
    for (size_t k = 0; k < 6; ++k) group = group << 4 | (k < digits ? digit(hex[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k)
      encoded += k <= digits * 4 / 6 ? kLetters[group >> (18 - 6 * k) & 63] : '=';
  }
  return encoded;
}

nlohmann::json phases_json(const RunRecord& run) {
  nlohmann::json phases = nlohmann::json::array();
  for (const PhaseSpan& phase : run.steps.phases)
    phases.push_back({{"name", visible_text(phase.name)},
                      {"begin", phase.begin},
                      {"end", phase.end},
                      {"steps", phase.steps},
                      {"first_step", run.steps.step[static_cast<size_t>(phase.begin)]}});
  return phases;
}

Html status_of(const RunRecord& run) {
  const bool has_begun = run.steps.rows() > 0;
  const char* state = run.has_finished ? "finished" : has_begun ? "not finished" : "not begun";
  // As on the terminal: "end_to_end 3/16".
  const std::string last =
      has_begun ? concat(": ", step_name(run.steps, run.steps.rows() - 1), "/", run.steps.phases.back().steps)
                : "";
  return element("span", {{"class", run.has_finished ? "badge good" : "badge"}}, text(concat(state, last))) +
         element("span", {{"class", "commit"}},
                 text(run.commit.empty() ? "commit not recorded" : concat("commit ", run.commit)));
}

}  // namespace

std::string content_security_policy(bool is_live) {
  return concat("default-src 'none'; script-src 'sha256-", base64_of_hex(kScript.sha256_hex),
                "'; style-src 'sha256-", base64_of_hex(kStyleSheet.sha256_hex),
                "'; base-uri 'none'; form-action 'none'; connect-src ", is_live ? "'self'" : "'none'");
}

std::string assemble_page(const PageContent& content, const PageOptions& options) {
  Html links, sections;
  for (const auto& section : content.sections) {
    links += element("a", {{"href", concat("#", section.id)}}, text(section.name));
    sections +=
        element("section", {{"id", section.id}, {"aria-labelledby", concat("h-", section.id)}},
                element("h2", {{"id", concat("h-", section.id)}}, text(section.name)) + section.content);
  }
  const Html head =
      element("meta", {{"charset", "utf-8"}}) +
      element("meta", {{"http-equiv", "Content-Security-Policy"},
                       {"content", content_security_policy(!options.live_path.empty())}}) +
      element("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}}) +
      element("meta", {{"name", "referrer"}, {"content", "no-referrer"}}) +
      element("meta", {{"name", "color-scheme"}, {"content", "light dark"}}) +
      element("title", text(content.title));
  const Html header = element("header", {{"class", "masthead"}},
                              element("p", {{"class", "product"}}, literal("BiC-RL report")) +
                                  element("h1", text(content.title)) + content.heading);
  nlohmann::json data = content.data;
  data["format"] = 1;
  if (!options.live_path.empty()) data["live"] = options.live_path;
  // Style sheet, script and data are no markup: they are the program's own, or escaped for their place.
  return concat("<!DOCTYPE html>\n<html lang=\"en\"><head>", head.markup(), "<style>", kStyleSheet.text,
                "</style></head><body><a class=\"skip\" href=\"#",
                content.sections.empty() ? "" : content.sections[0].id, "\">Skip to content</a>",
                header.markup(), element("nav", {{"aria-label", "Sections"}}, links).markup(), "<main>",
                sections.markup(),
                "</main><div id=\"tip\" role=\"status\" aria-live=\"polite\" hidden></div>",
                "<script type=\"application/json\" id=\"data\">",
                json_for_script(data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)),
                "</script><script>", kScript.text, "</script></body></html>\n");
}

std::string run_page(const std::vector<RunRecord>& runs, const PageOptions& options) {
  std::vector<const StepTable*> tables;
  nlohmann::json run_data = nlohmann::json::array();
  PageContent page{.title = "", .heading = {}, .sections = {}, .data = {}};
  for (const RunRecord& run : runs) {
    tables.push_back(&run.steps);
    page.title += concat(page.title.empty() ? "" : ", ", run.name);
    page.heading +=
        runs.size() > 1 ? element("p", text(run.name + " ") + status_of(run)) : element("p", status_of(run));
    nlohmann::json facts = nlohmann::json::object();
    for (const auto& [key, value] : run.facts) facts[visible_text(key)] = visible_text(value);
    run_data.push_back({{"name", visible_text(run.name)},
                        {"finished", run.has_finished},
                        {"steps", run.steps.rows()},
                        {"phases", phases_json(run)},
                        {"facts", facts}});
  }
  const RunAxis axis(tables);
  page.data = {{"kind", "runs"}, {"runs", run_data}, {"charts", nlohmann::json::object()}};
  const auto add = [&](const char* id, const char* name, SectionParts parts) {
    page.sections.push_back({id, name, parts.markup});
    page.data["charts"].update(parts.charts);
    page.data[id] = std::move(parts.data);
  };
  add("overview", "Overview", overview_section(runs, axis));
  add("rewards", "Rewards", reward_section(runs, axis));
  add("groups", "Groups", group_section(runs));
  add("denoising", "Denoising", denoising_section(runs));
  add("kernels", "Kernels", kernel_section(runs));
  return assemble_page(page, options);
}

}  // namespace bicrl::report
