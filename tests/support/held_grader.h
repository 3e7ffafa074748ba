// A verifier that grades by the program's text alone, and never answers the questions that a test chooses
// while it holds them. For programs with torch, whose headers bring another version of gRPC's
// (fake_verifier.h is for others).
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "verdict/verdict.h"

namespace bicrl::testing {

class HeldGrader {
 public:
  struct Question {
    std::string program;
    bool fresh = false;  // a second verification
  };

  HeldGrader();
  ~HeldGrader();
  HeldGrader(const HeldGrader&) = delete;
  HeldGrader& operator=(const HeldGrader&) = delete;

  std::atomic<bool> holds{false};
  // Both to be set while nothing is asked.
  std::function<bool(const Question&)> is_held = [](const Question&) { return false; };
  std::function<bool(const Question&)> is_refused = [](const Question&) { return false; };  // for good
  // In the place of the grade, if there is one.
  std::function<std::optional<Outcome>(const Question&)> other_outcome = [](const Question&) {
    return std::nullopt;
  };

  std::string address() const;
  int calls() const;
  int calls_for(const std::string& program) const;

 private:
  struct Server;
  std::unique_ptr<Server> server_;
};

}  // namespace bicrl::testing
