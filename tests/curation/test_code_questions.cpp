#include <catch2/catch_test_macros.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "curation/code/code_questions.h"
#include "tests/curation/fake_services.h"
#include "tests/support/support.h"

namespace bicrl::curation {
namespace {

// Numbers its answers, so that two to one question differ.
struct CountingServices : FakeServices {
  CountingServices() {
    codes = FakeCodeReader([this](const nlohmann::json&) { return nlohmann::json{{"number", asked++}}; });
  }
  int asked = 0;
};

struct Questions {
  explicit Questions(const StepEnvironment& environment) : questions(environment) {}
  void ask(const std::string& id, std::vector<nlohmann::json> requests) {
    Record record;
    record.id = id;
    questions.ask(std::move(record), std::move(requests));
  }
  // The numbers of its answers, by record.
  std::map<std::string, std::vector<int>> answers() {
    std::map<std::string, std::vector<int>> found;
    while (questions.waiting() > 0)
      questions.advance(Milliseconds(0), [&](Record record, const std::vector<nlohmann::json>& answers) {
        for (const nlohmann::json& answer : answers) found[record.id].push_back(answer.at("number"));
      });
    return found;
  }
  CodeQuestions questions;
};

TEST_CASE("equal questions in flight are asked once and have the answer that the ledger keeps") {
  const testing::TemporaryFolder folder;
  Ledger ledger(folder.path() / "ledger.jsonl");
  CountingServices services;
  StepEnvironment environment;
  environment.ledger = &ledger;
  environment.services = &services;
  const nlohmann::json tree = {{"kind", "tree"}}, function = {{"kind", "function"}};
  Questions one(environment), other(environment);
  one.ask("a", {tree, function});
  one.ask("b", {function, tree});
  one.ask("c", {tree, tree});
  CHECK(services.asked == 2);
  // Another step asks the same before the first has its answer.
  other.ask("d", {tree});
  CHECK(services.asked == 3);
  const auto answers = one.answers();
  CHECK(answers.at("a") == std::vector<int>{0, 1});
  CHECK(answers.at("b") == std::vector<int>{1, 0});
  CHECK(answers.at("c") == std::vector<int>{0, 0});
  CHECK(other.answers().at("d") == std::vector<int>{0});
  one.ask("e", {tree});
  CHECK(one.answers().at("e") == std::vector<int>{0});
  CHECK(services.asked == 3);
}

}  // namespace
}  // namespace bicrl::curation
