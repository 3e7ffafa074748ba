// A world for pipelines without boxes and verifiers: answers follow from the code's text.
#pragma once
#include <deque>
#include <functional>
#include <map>

#include "common/error.h"
#include "curation/services.h"
#include "curation/table_process.h"

namespace bicrl::curation {

// Answers in another order than it was asked.
class FakeCodeReader : public CodeReader {
 public:
  using Answer = std::function<nlohmann::json(const nlohmann::json& request)>;
  explicit FakeCodeReader(Answer answer) : answer_(std::move(answer)) {}
  std::string basis() override { return version; }
  void submit(const void* asker, uint64_t number, const nlohmann::json& request) override {
    asked_[asker].push_back({number, answer_(request)});
  }
  std::optional<CodeAnswer> next(const void* asker, Milliseconds) override {
    std::deque<CodeAnswer>& asked = asked_[asker];
    if (asked.empty()) return std::nullopt;
    CodeAnswer answer = std::move(asked.back());
    asked.pop_back();
    ++answered;
    return answer;
  }
  size_t capacity() const override { return 8; }
  int answered = 0;
  std::string version = "fake";

 private:
  Answer answer_;
  std::map<const void*, std::deque<CodeAnswer>> asked_;
};

// Verdicts that a function of the request gives, the last one asked first.
class FakeGrader : public Grader {
 public:
  using Answer = std::function<Verdict(const VerificationRequest& request)>;
  explicit FakeGrader(Answer answer) : answer_(std::move(answer)) {}
  std::string basis() override { return version; }
  void submit(const void* asker, const VerificationRequest& request) override {
    asked_[asker].push_back(request);
  }
  std::optional<Verdict> next(const void* asker, Milliseconds) override {
    std::deque<VerificationRequest>& asked = asked_[asker];
    if (asked.empty()) return std::nullopt;
    const VerificationRequest request = std::move(asked.back());
    asked.pop_back();
    ++answered;
    Verdict verdict = answer_(request);
    verdict.request_id = request.request_id;
    return verdict;
  }
  size_t capacity() const override { return 8; }
  int answered = 0;
  std::string version = "fake verifier";

 private:
  Answer answer_;
  std::map<const void*, std::deque<VerificationRequest>> asked_;
};

class FakeServices : public Services {
 public:
  FakeCodeReader codes{[](const nlohmann::json&) {
    return nlohmann::json{{"defects", nlohmann::json::array()},
                          {"unchecked", nlohmann::json::array()},
                          {"fingerprints", nlohmann::json::array()}};
  }};
  FakeGrader verdicts{[](const VerificationRequest&) {
    Verdict verdict;
    verdict.outcome = Outcome::kGraded;
    verdict.correct = verdict.compiled = true;
    verdict.trials = verdict.trials_passed = 4;
    return verdict;
  }};
  TableProcess arrow{""};
  Generator policy;
  std::function<bool()> stop = [] { return false; };

  Grader& grader() override { return verdicts; }
  CodeReader& code_reader() override { return codes; }
  TableConverter& tables() override { return arrow; }
  Generator generator() override { return policy; }
  std::string grader_basis() override { return verdicts.basis(); }
  std::string code_reader_basis() override { return codes.basis(); }
  bool stop_requested() override { return stop(); }
};

}  // namespace bicrl::curation
