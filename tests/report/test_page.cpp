#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <random>

#include "common/error.h"
#include "common/files/files.h"
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
  run.add_step("end_to_end", 1, 1,
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
  const testing::TemporaryFolder folder;
  write_hostile_run(folder.path(), "harmless");
  const std::string page = run_page({read_run(folder.path())});
  CHECK(count_of(page, "<svg") > 3);
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

RunWriter::Response response_of(int64_t step, int64_t sample, std::mt19937& draw) {
  const auto number = [&] { return std::normal_distribution<double>(1, 0.3)(draw); };
  const bool is_correct = sample % 4 != 3;
  return {.task = "task_" + std::to_string(step % 700),
          .reward = number(),
          .advantage = number(),
          .outcome = is_correct        ? "correct"
                     : sample % 8 == 3 ? "race"
                                       : "compile",
          .speedup = is_correct ? number() + 3 : 0};
}

// A program, prompt, diagnostics and tokens of the lengths that real ones have.
void add_texts(RunWriter::Response& response, std::mt19937& draw) {
  constexpr int kLines = 90, kTokensOfLine = 12;
  nlohmann::json bytes = nlohmann::json::array(), changes = nlohmann::json::array(),
                 log_probs = nlohmann::json::array();
  for (int line = 0; line < kLines; ++line) {
    const std::string text = "    float value_" + std::to_string(line) + " = x[i] * " +
                             std::to_string(draw() % 1000) + ".5f + y[j];\n";
    for (int token = 0; token < kTokensOfLine; ++token) {
      const size_t whole = text.size() / kTokensOfLine;
      bytes.push_back(token + 1 < kTokensOfLine ? whole : text.size() - whole * (kTokensOfLine - 1));
      changes.push_back(static_cast<int64_t>(draw() % 5) - 1);
      log_probs.push_back(-static_cast<int64_t>(draw() % 300));
    }
    response.text += text;
  }
  response.denoising = {{"block_tokens", 4},
                        {"offset_in_block", 0},
                        {"text_begin", 0},
                        {"text_bytes", response.text.size()},
                        {"tail", ""},
                        {"bytes", bytes},
                        {"scored_tokens", bytes.size()},
                        {"step_changes", changes},
                        {"log_prob_hundredths", log_probs}};
  while (response.prompt.size() < 4096)
    response.prompt += "Line " + std::to_string(draw() % 1000) + " of the task's module in PyTorch.\n";
  while (response.outcome != "correct" && response.diagnostics.size() < 2048)
    response.diagnostics += "cuda_sources:" + std::to_string(draw() % 90) + ": error: no such <name>\n";
}

// Of four tasks; the rates of all are different from each other's neighbours.
void add_evaluation(const RunWriter& run, int64_t step, std::mt19937& draw) {
  char name[60];
  snprintf(name, sizeof name, "evaluations/end_to_end-%06lld.jsonl", static_cast<long long>(step));
  std::string lines;
  for (int task = 0; task < 4; ++task) {
    const bool is_correct = draw() % 2 == 0;
    nlohmann::json line = {{"task_id", "held_out_" + std::to_string(task)},
                           {"sample", 0},
                           {"verdict", is_correct ? "correct" : "race"},
                           {"compiled", is_correct || draw() % 2 == 0},
                           {"correct", is_correct},
                           {"program", std::string(2000, 'x')}};
    if (is_correct) line["speedup"] = 1 + static_cast<double>(draw() % 1000) / 1000;
    lines += line.dump() + "\n";
  }
  run.append(name, lines);
}

// Groups of 16; every text of one step in 100, an evaluation behind one step in ten.
void write_long_run(const std::filesystem::path& folder, int64_t steps) {
  RunWriter run(folder);
  std::mt19937 draw(5);
  const auto number = [&] { return std::normal_distribution<double>(1, 0.3)(draw); };
  for (int64_t step = 1; step <= steps; ++step) {
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
    for (int64_t sample = 0; sample < 16; ++sample) {
      group.push_back(response_of(step, sample, draw));
      RunWriter::Response with_texts = group.back();
      if (step % 100 != 0) continue;
      add_texts(with_texts, draw);
      if (sample < 2) run.add_sample("end_to_end", step, 0, sample, with_texts);
      group.back() = std::move(with_texts);
    }
    run.add_step("end_to_end", step, steps, {group}, figures);
    if (step % 10 == 0) add_evaluation(run, step, draw);
  }
}

TEST_CASE("page of ten thousand steps with long texts is smaller than 5 MB") {
  const testing::TemporaryFolder folder;
  write_long_run(folder.path(), 10'000);
  const RunRecord run = read_run(folder.path());
  const ReportSize size;
  CHECK(run.kept.responses.size() > 300);
  CHECK(run.kept.responses.size() <= size.responses + size.kernels);
  REQUIRE(run.evaluations.size() == 1000);
  for (const EvaluationEntry& evaluation : run.evaluations) CHECK(evaluation.programs.empty());
  const std::string page = run_page({run});
  const nlohmann::json data = data_of(page);
  size_t drawn = 0;
  for (const char* chart : {"correct_rate", "geomean_speedup", "fast_1", "compile_rate"}) {
    const nlohmann::json& marks = data["charts"][chart]["marks"];
    CHECK(marks.size() > 40);
    CHECK(marks.size() <= 82);
    drawn += marks.size();
  }
  CHECK(count_of(page, "<g class=\"mark") == drawn);
  const nlohmann::json& evaluations = data["overview"]["evaluations"][0];
  CHECK(evaluations.front()["name"] == "end_to_end-000010");
  CHECK(evaluations.back()["name"] == "end_to_end-010000");
  CHECK(evaluations.size() < 400);
  CHECK(data["denoising"]["responses"].size() >= 30);
  CHECK(data["groups"]["groups"][0].size() >= 25);
  CHECK(page.size() > 2'000'000);
  CHECK(page.size() <= 5'000'000);
}

TEST_CASE("axis of shares ends at none and at all") {
  const testing::TemporaryFolder folder;
  RunWriter run(folder.path());
  for (int64_t step = 1; step <= 3; ++step)
    run.add_step("end_to_end", step, 3,
                 {{{.task = "a"}, {.task = "a"}, {.task = "a"}, {.task = "a", .outcome = "race"}}},
                 {{"compile_rate", 1.0}, {"truncated_rate", 0.01 * static_cast<double>(step)}});
  const std::string page = run_page({read_run(folder.path())});
  for (const char* chart : {"correct_rate", "compile_rate", "truncated_rate"}) {
    const size_t at = page.find(std::string("data-chart=\"") + chart);
    REQUIRE(at != std::string::npos);
    const std::string picture = page.substr(at, page.find("</svg>", at) - at);
    CHECK(picture.find(">120 %<") == std::string::npos);
    CHECK(picture.find(">−") == std::string::npos);
    CHECK(count_of(picture, " %<") >= 2);
  }
}

TEST_CASE("curves of runs with different phases run from left to right") {
  const testing::TemporaryFolder folder;
  RunWriter stage_alone(folder.path() / "a"), whole(folder.path() / "b");
  whole.add_warm_up(1, 1, 5);
  for (const char* phase : {"infilling", "end_to_end", "last"})
    for (int64_t step = 1; step <= 3; ++step) {
      if (phase == std::string("end_to_end")) stage_alone.add_step(phase, step, 3, {{{.task = "a"}}});
      whole.add_step(phase, step, 3, {{{.task = "a", .reward = 1}}});
    }
  const nlohmann::json data =
      data_of(run_page(read_runs({(folder.path() / "a").string(), (folder.path() / "b").string()})));
  std::vector<std::vector<double>> x;
  for (const auto& series : data["charts"]["reward_mean"]["series"]) x.push_back(series["x"]);
  REQUIRE(x.size() == 2);
  REQUIRE(x[0].size() == 3);
  REQUIRE(x[1].size() == 9);
  for (const auto& places : x) CHECK(std::ranges::is_sorted(places));
  for (size_t i = 0; i < 3; ++i) CHECK(x[0][i] == x[1][3 + i]);
}

TEST_CASE("group of many programs says how many of them are shown") {
  const testing::TemporaryFolder folder;
  RunWriter run(folder.path());
  const auto group_of = [](int programs) {
    std::vector<RunWriter::Response> group;
    for (int i = 0; i < 8; ++i)
      group.push_back({.task = "a", .reward = 1.0 * i, .text = "program " + std::to_string(i % programs)});
    return group;
  };
  run.add_step("end_to_end", 1, 1, {group_of(4), group_of(6)});
  const std::string page = run_page({read_run(folder.path())});
  CHECK(count_of(page, "<article class=\"card\"") == 8);
  CHECK(count_of(page, "4 of 6 different programs") == 1);
  CHECK(count_of(page, "different programs") == 1);
}

TEST_CASE("groups of steps without rewards lie beside each other") {
  const testing::TemporaryFolder folder;
  RunWriter run(folder.path());
  for (int step = 1; step <= 3; ++step)
    run.append("metrics.jsonl", nlohmann::json({{"phase", "end_to_end"},
                                                {"step", step},
                                                {"steps", 3},
                                                {"responses", 8},
                                                {"groups", 2},
                                                {"zero_variance_groups", 1},
                                                {"too_few_groups", 0}})
                                        .dump() +
                                    "\n");
  const std::string page = run_page({read_run(folder.path())});
  const std::vector<double> x = data_of(page)["charts"]["groups-0"]["series"][0]["x"];
  REQUIRE(x.size() == 3);
  CHECK(x[0] < x[1]);
  CHECK(x[1] < x[2]);
}

TEST_CASE("axis of bytes has round numbers of their unit") {
  const testing::TemporaryFolder folder;
  RunWriter run(folder.path());
  run.add_step("end_to_end", 1, 1, {{{.task = "a"}}}, {{"memory_peak_bytes", 779.0 * 1024 * 1024}});
  const std::string page = run_page({read_run(folder.path())});
  const size_t at = page.find("data-chart=\"memory_peak_bytes");
  REQUIRE(at != std::string::npos);
  const std::string picture = page.substr(at, page.find("</svg>", at) - at);
  for (const char* tick : {">200 MiB<", ">600 MiB<", ">800 MiB<"})
    CHECK_THAT(picture, ContainsSubstring(tick));
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
