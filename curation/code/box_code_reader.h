// Reads tasks' code in boxes: warm interpreters that fork a confined child for each question.
#pragma once
#include <memory>
#include <string>

#include "common/config/config.h"
#include "curation/services.h"

namespace bicrl::curation {

struct BoxOptions {
  std::string python;  // interpreter with torch; empty: the program's own
  std::string bwrap;   // empty: on PATH
  int concurrent = 2;
  int cpu_s = 60;              // of one question
  uint64_t memory_mib = 4096;  // of one question

  static BoxOptions from_config(const ConfigSection& section);
};

// Thread-safe inside; used by one thread.
class BoxCodeReader : public CodeReader {
 public:
  // Throws Error (kUnavailable) if this machine can make no boxes.
  explicit BoxCodeReader(const BoxOptions& options);
  ~BoxCodeReader() override;

  // Of such boxes, without starting one. Throws Error (kUnavailable) if there is no such interpreter.
  static std::string basis_of(const BoxOptions& options);
  std::string basis() override;
  void submit(const void* asker, uint64_t number, const nlohmann::json& request) override;
  // Throws Error (kUnavailable) if boxes fail again and again.
  std::optional<CodeAnswer> next(const void* asker, Milliseconds patience) override;
  size_t capacity() const override;

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace bicrl::curation
