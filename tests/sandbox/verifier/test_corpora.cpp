// The corpora through the whole pipeline: no hostile program is accepted, no honest one refused.
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "tests/sandbox/verifier/corpus.h"

namespace bicrl {
namespace {

using testing::CorpusEntry;

std::vector<Verdict> verify_all(const std::vector<CorpusEntry>& entries) {
  std::vector<Verdict> verdicts(entries.size());
  testing::for_each_entry(
      entries, 3, [&](size_t k, Pipeline& pipeline) { verdicts[k] = pipeline.verify(entries[k].request); });
  return verdicts;
}

std::string end_of(const Verdict& verdict) {
  if (!judges_program(verdict.outcome)) return to_string(verdict.outcome);
  return verdict.correct ? "correct" : verdict.fault_class;
}

// Every program's end on one line, for whoever looks for what changed.
void print(const std::vector<CorpusEntry>& entries, const std::vector<Verdict>& verdicts) {
  if (!getenv("BICRL_PRINT_CORPUS")) return;
  for (size_t i = 0; i < entries.size(); ++i)
    printf("%s %s %s | %s | %.0f ms (compile %.0f, record %.0f, run %.0f)\n",
           entries[i].expects(end_of(verdicts[i])) ? "ok  " : "BAD ", entries[i].name.c_str(),
           end_of(verdicts[i]).c_str(), verdicts[i].diagnostics.substr(0, 300).c_str(), verdicts[i].total_ms,
           verdicts[i].compile_ms, verdicts[i].record_ms, verdicts[i].run_ms);
}

void check_corpus(const std::string& folder, size_t least) {
  auto entries = testing::corpus(folder);
  CHECK(entries.size() >= least);
  if (const char* only = getenv("BICRL_CORPUS"))  // programs whose names hold this
    std::erase_if(entries,
                  [&](const CorpusEntry& entry) { return entry.name.find(only) == std::string::npos; });
  const auto verdicts = verify_all(entries);
  print(entries, verdicts);
  for (size_t i = 0; i < entries.size(); ++i) {
    INFO(entries[i].name << ": expected " << entries[i].classes << ", got " << end_of(verdicts[i])
                         << ", reached " << verdicts[i].reached << ": " << verdicts[i].diagnostics);
    CHECK(entries[i].expects(end_of(verdicts[i])));
  }
}

}  // namespace

TEST_CASE("honest programs are graded correct") { check_corpus("honest", 100); }
TEST_CASE("hostile and incorrect programs end in a class of theirs") { check_corpus("hacks", 150); }

}  // namespace bicrl
