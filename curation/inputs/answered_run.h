// A run of `bicrl train` whose answers are read. Pure functions but for the files that they read.
#pragma once
#include <filesystem>
#include <string>

namespace bicrl::curation {

// RUN/run.json of a run's samples.jsonl or texts/*.jsonl.gz; empty if the file is no run's.
std::filesystem::path run_file_of(const std::filesystem::path& answers);

// The program and the protocol that the run's verdicts were given under, as run.json names them; empty if it
// does not.
std::string verifier_of_run(const std::filesystem::path& run_file);

}  // namespace bicrl::curation
