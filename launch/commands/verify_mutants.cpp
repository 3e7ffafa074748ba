#include "launch/commands/verify_mutants.h"

#include <cstdio>
#include <iostream>
#include <map>
#include <utility>

#include "episode/episode_pipeline.h"
#include "sandbox/mutation/mutant.h"

namespace bicrl {
namespace {

// How the mutants of one kind ended.
struct Tally {
  int made = 0, no_program = 0, killed = 0, survived = 0, without_verdict = 0;
  std::map<std::string, int> classes;  // of the killed
};

// An episode's key numbers its mutant.
struct MutantBatch {
  std::vector<Mutant> mutants;  // their programs are in the episodes
  std::vector<Episode> episodes;

  explicit MutantBatch(const std::vector<SoundProgram>& programs) {
    for (const SoundProgram& sound : programs)
      for (Mutant& mutant : mutants_of(sound.program)) {
        const auto number = static_cast<int64_t>(mutants.size());
        episodes.push_back(candidate_episode(*sound.task, std::move(mutant.program), {.group = number}));
        mutants.push_back(std::move(mutant));
      }
  }
  const Mutant& of(const Episode& episode) const { return mutants[static_cast<size_t>(episode.key.group)]; }
};

std::string end_of(const Verdict& verdict) {
  if (verdict.correct) return "survived";
  if (!judges_program(verdict.outcome)) return "no_verdict";
  return verdict.fault_class == "compile" ? "no_program" : "killed";
}

void count(const Verdict& verdict, Tally& tally) {
  const std::string end = end_of(verdict);
  ++tally.made;
  if (end == "no_program") ++tally.no_program;
  if (end == "survived") ++tally.survived;
  if (end == "no_verdict") ++tally.without_verdict;
  if (end != "killed") return;
  ++tally.killed;
  ++tally.classes[verdict.fault_class.empty() ? "incorrect" : verdict.fault_class];
}

void print_survivor(const std::string& task_id, const Mutant& mutant) {
  std::cout << "  survives: " << task_id << " line " << mutant.line << ", " << mutant.kind << ": "
            << mutant.before << (mutant.after.empty() ? " is gone" : " -> ") << mutant.after << std::endl;
}

void print_table(const std::map<std::string, Tally>& tallies) {
  char line[160];
  snprintf(line, sizeof line, "\n%-20s %6s %10s %7s %9s  %s\n", "mutants", "made", "no program", "killed",
           "survived", "killed by");
  std::cout << line;
  for (const Mutation& mutation : mutations()) {
    const auto found = tallies.find(mutation.kind);
    if (found == tallies.end()) continue;
    const Tally& tally = found->second;
    std::string classes;
    for (const auto& [name, number] : tally.classes)
      classes += concat(classes.empty() ? "" : ", ", number, " ", name);
    snprintf(line, sizeof line, "%-20s %6d %10d %7d %9d  ", mutation.kind, tally.made, tally.no_program,
             tally.killed, tally.survived);
    std::cout << line << classes << "\n";
  }
  std::cout << std::flush;
}

}  // namespace

nlohmann::json verify_mutants(VerifierClient& client, const std::vector<SoundProgram>& programs) {
  MutantBatch batch(programs);
  std::cout << "\n"
            << batch.mutants.size() << " mutants of " << programs.size() << " correct programs" << std::endl;
  const auto print_if_correct = [&](const Episode& episode) {
    if (episode.last().is_correct()) print_survivor(episode.task_id, batch.of(episode));
  };
  EpisodeVerifier verifier(&client, /*store=*/nullptr, {});
  const std::vector<Episode> verified =
      run_pipeline(std::move(batch.episodes), {.verifier = &verifier, .on_verdict = print_if_correct})
          .episodes;
  nlohmann::json report(nlohmann::json::value_t::array);
  std::map<std::string, Tally> tallies;
  for (const Episode& episode : verified) {
    const Mutant& mutant = batch.of(episode);
    const Verdict& verdict = *episode.last().verdict;
    count(verdict, tallies[mutant.kind]);
    report.push_back({{"task_id", episode.task_id},
                      {"kind", mutant.kind},
                      {"line", mutant.line},
                      {"before", mutant.before},
                      {"after", mutant.after},
                      {"end", end_of(verdict)},
                      {"fault_class", verdict.fault_class},
                      {"diagnostics", verdict.diagnostics}});
  }
  print_table(tallies);
  return report;
}

}  // namespace bicrl
