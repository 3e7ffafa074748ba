#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <random>

#include "common/error.h"
#include "common/files.h"
#include "report/page/page.h"
#include "tests/report/hostile_texts.h"
#include "tests/report/run_writer.h"
#include "tests/support/support.h"

namespace bicrl::report {
namespace {

using Catch::Matchers::ContainsSubstring;

size_t count_of(const std::string& page, const std::string& part) {
  size_t count = 0;
  for (size_t at = 0; (at = page.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

nlohmann::json data_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const size_t at = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(at, page.find("</script>", at) - at));
}

// Every place where a run's text can come to.
void write_hostile_run(const std::filesystem::path& folder, const std::string& hostile) {
  RunWriter run(folder);
  const std::string readable = visible_text(hostile);  // JSON holds no other
  run.add_step("end_to_end", 1, 2,
               {{{.task = hostile,
                  .reward = 2,
                  .advantage = 1,
                  .speedup = 1.5,
                  .text = hostile + "\nline\n" + hostile},
                 {.task = hostile, .outcome = hostile, .text = "other " + hostile, .diagnostics = hostile}}},
               {{"reward_rule", hostile}, {readable, 1.5}, {"reward_terms", {{readable, 1}}}});
  run.add_step(hostile + "phase", 1, 2, {{{.task = "b", .reward = 1}}});
  run.append("config.yaml", hostile);
  run.append("reward.yaml", hostile);
  run.append("checkpoints/latest", hostile);
  run.append("evaluations/end_to_end.jsonl",
             nlohmann::json({{"task_id", hostile},
                             {"verdict", hostile},
                             {"technique", hostile},
                             {"correct", true},
                             {"speedup", 2},
                             {"program", hostile}})
                     .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
                 "\n");
}

TEST_CASE("pages of hostile runs have the elements of pages of harmless ones") {
  const testing::TemporaryFolder folder;
  write_hostile_run(folder.path() / "harmless", "harmless");
  const std::string harmless = run_page({read_run(folder.path() / "harmless")});
  CHECK(count_of(harmless, "<script") == 2);
  int number = 0;
  for (const std::string& hostile : hostile_texts()) {
    CAPTURE(hostile);
    const auto run = folder.path() / std::to_string(number++);
    write_hostile_run(run, hostile);
    const std::string page = run_page({read_run(run)});
    for (const char* tag : {"<script", "</script", "<style", "<svg", "<img", "<iframe", "<base", "<link",
                            "<meta", "<a ", "<details", "<pre", "</html"})
      CHECK(count_of(page, tag) == count_of(harmless, tag));
    CHECK(page.find('\0') == std::string::npos);
    CHECK(data_of(page).at("kind") == "runs");
    const std::string evaluated = evaluation_page(read_evaluation(run / "evaluations/end_to_end.jsonl"));
    CHECK(count_of(evaluated, "<script") == 2);
    CHECK(count_of(evaluated, "<img") + count_of(evaluated, "<iframe") == 0);
  }
}

TEST_CASE("policy of a page permits its own style sheet and script alone") {
  const std::string page = run_page({});
  CHECK_THAT(page, ContainsSubstring("default-src &#39;none&#39;"));
  CHECK_THAT(content_security_policy(false), ContainsSubstring("connect-src 'none'"));
  CHECK_THAT(content_security_policy(true), ContainsSubstring("connect-src 'self'"));
  CHECK(content_security_policy(false).find("unsafe") == std::string::npos);
  CHECK(count_of(page, "http://") + count_of(page, "https://") ==
        count_of(page, "http://www.w3.org/2000/svg"));
  CHECK(page.find(" style=\"") == std::string::npos);
  CHECK(page.find(" onclick=\"") == std::string::npos);
}

TEST_CASE("curves of the page's data are entries of metrics.jsonl") {
  const testing::TemporaryFolder folder;
  RunWriter run(folder.path());
  std::mt19937 draw(3);
  std::vector<double> losses;
  for (int64_t step = 1; step <= 3000; ++step) {
    losses.push_back(std::uniform_real_distribution<double>(0, 9)(draw));
    run.add_warm_up(step, 3000, losses.back());
  }
  const nlohmann::json series = data_of(run_page({read_run(folder.path())}))["charts"]["loss"]["series"][0];
  REQUIRE(series["rows"].size() > 400);
  for (size_t i = 0; i < series["rows"].size(); ++i)
    CHECK(series["values"][i] == losses[series["rows"][i].get<size_t>()]);
}

TEST_CASE("page of ten thousand steps is smaller than 5 MB") {
  const testing::TemporaryFolder folder;
  RunWriter run(folder.path());
  std::mt19937 draw(5);
  const auto number = [&] { return std::normal_distribution<double>(1, 0.3)(draw); };
  std::string program;
  for (int line = 0; line < 90; ++line)
    program += "    float value_" + std::to_string(line) + " = x[i] * " + std::to_string(line) + ".5f;\n";
  for (int64_t step = 1; step <= 10'000; ++step) {
    nlohmann::json figures;
    for (const char* key : {"geomean_speedup",
                            "fast_1",
                            "compile_rate",
                            "entropy",
                            "kl",
                            "loss",
                            "grad_norm",
                            "tokens_per_second",
                            "memory_peak_bytes",
                            "clip_share",
                            "learning_rate",
                            "log_prob_gap",
                            "log_prob_gap_mean",
                            "trained_tokens",
                            "generated_tokens",
                            "tokens_per_forward",
                            "unique_programs",
                            "unique_correct",
                            "novel_rate",
                            "reward_spread",
                            "truncated_rate",
                            "rows_per_second",
                            "imitation_loss",
                            "verifier_queue",
                            "rank_trained_tokens_per_second",
                            "rank_generated_tokens_per_second",
                            "imitation_grad_norm",
                            "checkpoint_write_seconds"})
      figures[key] = number();
    figures["reward_terms"] = {{"correct", number()}, {"modelled_speedup", number()}, {"length", number()}};
    std::vector<RunWriter::Response> group;
    for (int sample = 0; sample < 4; ++sample)
      group.push_back({.task = "task_" + std::to_string(step % 700),
                       .reward = number(),
                       .advantage = number(),
                       .outcome = sample == 3 ? "race" : "correct",
                       .speedup = sample == 3 ? 0 : number() + 3,
                       .text = step % 25 == 0 ? program + std::to_string(step * 10 + sample) : ""});
    run.add_step("end_to_end", step, 10'000, {group}, figures);
  }
  const std::string page = run_page({read_run(folder.path())});
  CHECK(page.size() > 500'000);
  CHECK(page.size() <= 5'000'000);
}

TEST_CASE("curated set needs a data card") {
  const testing::TemporaryFolder folder;
  CHECK_THROWS_AS(curated_page(folder.path()), InputError);
  write_file_atomically(
      folder.path() / "card.json",
      R"({"records":2,"steps":[{"step":"<b>load","in":0,"out":2,"dropped":{"<i>":1}}],"classes":{"source":{"<u>":2}}})");
  std::filesystem::create_directories(folder.path() / "records");
  write_file_atomically(
      folder.path() / "records/01-load.jsonl",
      "{\"id\":\"<b>\",\"pytorch_code\":\"</pre>\",\"answer\":{\"program\":\"<script>\"}}\nbroken\n");
  const std::string page = curated_page(folder.path());
  CHECK(count_of(page, "<script") == 2);
  CHECK(count_of(page, "<b>") + count_of(page, "<i>") + count_of(page, "<u>") == 0);
  CHECK_THAT(page, ContainsSubstring("2 records"));
}

}  // namespace
}  // namespace bicrl::report
