// Interfaces of the services outside of this room that curation steps need: a verifier, boxes that read a
// task's code, and Arrow's library. The command fills them in; tests put others in their place. Nothing here
// knows how they work.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "verdict/verdict.h"
#include "verdict/verification_request.h"

namespace bicrl::curation {

using Milliseconds = std::chrono::milliseconds;

// A verifier. Not thread-safe.
class Grader {
 public:
  virtual ~Grader() = default;
  // All that a verdict depends on beside task and program.
  virtual std::string basis() = 0;
  // `asker`: whose request it is; several steps of a pipeline share a verifier. Request ids are the asker's.
  virtual void submit(const void* asker, const VerificationRequest& request) = 0;
  // The asker's next verdict; nothing after `patience`.
  virtual std::optional<Verdict> next(const void* asker, Milliseconds patience) = 0;
  virtual size_t capacity() const = 0;
};

struct CodeAnswer {
  uint64_t number = 0;  // as submit() was given
  nlohmann::json value;
};

// Reads untrusted Python in boxes: what a task's code is like, and what it does. Not thread-safe.
class CodeReader {
 public:
  virtual ~CodeReader() = default;
  // Version of what answers, for keys.
  virtual std::string basis() = 0;
  // `request`: {"kind": "examine" | "tree" | "variants" ..., "code", ...}, see
  // curation/runtimes/task_reader.py. The answer is what the box said, or {"failed": why, "kind": word} if
  // the code took it down. `asker`: whose question it is; several steps of a pipeline share the boxes.
  // Numbers are the asker's.
  virtual void submit(const void* asker, uint64_t number, const nlohmann::json& request) = 0;
  // The asker's next answer; nothing after `patience`.
  virtual std::optional<CodeAnswer> next(const void* asker, Milliseconds patience) = 0;
  virtual size_t capacity() const = 0;
};

// Tables of Arrow and Parquet files, by Arrow's own library. Not thread-safe.
class TableConverter {
 public:
  virtual ~TableConverter() = default;
  // Calls `take` for each row, counted from 1. Throws InputError if the file is no such table, Error
  // (kUnavailable) if the library is not installed.
  virtual void read(const std::filesystem::path& table,
                    const std::function<void(size_t number, const nlohmann::json& row)>& take) = 0;
  // A table of JSON lines; a field that a line lacks is null in its row.
  virtual void write(const std::filesystem::path& lines, const std::filesystem::path& table) = 0;
};

// The program that samples a policy.
struct Generator {
  std::filesystem::path program;  // empty: the running one
  std::string version;            // of the running program and its libraries, for keys and data cards
};

// Each is started when it is first asked for. Throws InputError if the pipeline's file does not say how.
class Services {
 public:
  virtual ~Services() = default;
  virtual Grader& grader() = 0;
  virtual CodeReader& code_reader() = 0;
  virtual TableConverter& tables() = 0;
  virtual Generator generator() = 0;
  // What verdicts, and answers of boxes, depend on beside the pipeline's file, without starting a verifier or
  // a box. Verifiers that run already are asked.
  virtual std::string grader_basis() = 0;
  virtual std::string code_reader_basis() = 0;
  // Asked between two records: true ends the pipeline, which goes on there with the same command.
  virtual bool stop_requested() { return false; }
};

}  // namespace bicrl::curation
