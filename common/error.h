// Errors. Exceptions are for set-up and programming faults; what happens in production (a busy verifier, a
// candidate that fails to compile) is a value, see Result.
#pragma once
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace bicrl {

// Exit codes of the program, as documented in docs/exit-codes.md.
enum class ExitCode : int {
  kOk = 0,
  kFailure = 1,       // the work itself failed (a lost peer, a full disk)
  kUsage = 2,         // bad flags, configuration or input files
  kUnavailable = 3,   // something the machine must offer is missing (sandbox feature, interpreter)
  kInterrupted = 130  // Ctrl-C or SIGTERM
};

// A fault with a message for a person. `what()` is the whole message.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, ExitCode code = ExitCode::kFailure)
      : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

// Bad input of the user: configuration, flags, task files, checkpoints.
class InputError : public Error {
 public:
  explicit InputError(const std::string& message) : Error(message, ExitCode::kUsage) {}
};

// Joins its arguments with operator<<. Used for messages throughout, so that no room needs a formatter.
template <class... Args>
std::string concat(const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  return out.str();
}

[[noreturn]] void throw_check_failure(const char* file, int line, const char* condition,
                                      const std::string& message);

// A value, or the reason why there is none.
template <class T>
class Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  static Result failure(std::string reason) { return Result(Failure{std::move(reason)}); }
  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() { return std::get<0>(state_); }
  const T& value() const { return std::get<0>(state_); }
  const std::string& reason() const { return std::get<1>(state_).text; }

 private:
  struct Failure {
    std::string text;
  };
  explicit Result(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}
  std::variant<T, Failure> state_;
};

}  // namespace bicrl

// Throws bicrl::Error with file, line and the given values unless `condition` holds. For invariants.
#define BICRL_CHECK(condition, ...)                                                 \
  do {                                                                              \
    if (!(condition))                                                               \
      ::bicrl::throw_check_failure(__FILE__, __LINE__, #condition,                  \
                                   ::bicrl::concat("" __VA_OPT__(, ) __VA_ARGS__)); \
  } while (0)
