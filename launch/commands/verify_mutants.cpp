#include "launch/commands/verify_mutants.h"

#include <cstdio>
#include <iostream>
#include <map>
#include <optional>

#include "sandbox/mutation/mutant.h"

namespace bicrl {
namespace {

struct Entry {
  const Task* task;
  Mutant mutant;
};

// How the mutants of one kind ended.
struct Tally {
  int made = 0, no_program = 0, killed = 0, survived = 0, without_verdict = 0;
  std::map<std::string, int> classes;  // of the killed
};

std::vector<Entry> all_mutants(const std::vector<SoundProgram>& programs) {
  std::vector<Entry> entries;
  for (const SoundProgram& sound : programs)
    for (Mutant& mutant : mutants_of(sound.program)) entries.push_back({sound.task, std::move(mutant)});
  return entries;
}

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
  ++tally.classes[verdict.fault_class.empty() ? "wrong" : verdict.fault_class];
}

void print_survivor(const Entry& entry) {
  std::cout << "  survives: " << entry.task->id << " line " << entry.mutant.line << ", " << entry.mutant.kind
            << ": " << entry.mutant.before << (entry.mutant.after.empty() ? " is gone" : " -> ")
            << entry.mutant.after << std::endl;
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
  const std::vector<Entry> entries = all_mutants(programs);
  std::cout << "\n"
            << entries.size() << " mutants of " << programs.size() << " correct programs" << std::endl;
  for (size_t i = 0; i < entries.size(); ++i)
    client.submit({.request_id = std::to_string(i),
                   .task_id = entries[i].task->id,
                   .pytorch_code = entries[i].task->pytorch_code,
                   .program = entries[i].mutant.program,
                   .reduced_sizes = entries[i].task->reduced_sizes});
  nlohmann::json report(nlohmann::json::value_t::array);
  std::map<std::string, Tally> tallies;
  while (client.pending() > 0) {
    const std::optional<Verdict> verdict = client.next(std::chrono::seconds(5));
    if (!verdict) continue;
    const Entry& entry = entries[std::stoul(verdict->request_id)];
    count(*verdict, tallies[entry.mutant.kind]);
    if (verdict->correct) print_survivor(entry);
    report.push_back({{"task_id", entry.task->id},
                      {"kind", entry.mutant.kind},
                      {"line", entry.mutant.line},
                      {"before", entry.mutant.before},
                      {"after", entry.mutant.after},
                      {"end", end_of(*verdict)},
                      {"fault_class", verdict->fault_class},
                      {"diagnostics", verdict->diagnostics}});
  }
  print_table(tallies);
  return report;
}

}  // namespace bicrl
