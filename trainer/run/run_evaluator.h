// Evaluator of a run's policy on held-out tasks. It decides with which tasks and how often, and which
// responses are kept. Results go to the run's state. One object per rank; methods are collective unless they
// are const. Refers to what it is given.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "trainer/evaluation/evaluation.h"
#include "trainer/run/checkpoints/checkpoint_store.h"
#include "trainer/run/run_context.h"
#include "trainer/run/run_progress.h"

namespace bicrl {

class RunEvaluator {
 public:
  RunEvaluator(const RunContext& context, RunProgress& progress);

  bool evaluates() const;
  // Of a phase, of a step within it, or kStartEvaluation. False if a stop ended it.
  bool evaluate(const std::string& name);
  bool evaluate_apart(const std::string& name);  // outside phases; its seconds stand beside theirs
  bool has_result(const std::string& name) const;
  bool newest_is_best() const;  // of the results so far
  // On rank 0: the table, what has become of one program, and which checkpoint is the best.
  void print_end(const CheckpointStore& checkpoints) const;

 private:
  bool is_rewarded() const { return !context_.settings.stages.empty(); }
  const RewardFunction& reward() const;  // of the stage in progress, and before the first of that one
  void keep_what_fits();
  void open_folder();  // of what evaluations keep
  // Scores held-out tasks and keeps the responses as RUN/evaluations/FILE.jsonl.
  TaskScores score_and_keep(const std::string& file, const std::vector<Task>& tasks,
                            ScoringSettings settings);
  // Beside the figures of a name; false if a stop ended it.
  bool add_other_figures(EvaluationResult& result);
  bool measures_best_of(const std::string& name) const;
  std::optional<BestOf> best_of_samples(const std::string& name);  // none if a stop ended it
  // Whether the evaluation is the last one before an infilling stage, or within or after one.
  bool measures_infilling(const std::string& name) const;
  bool can_infill(const Task& task) const;
  std::optional<HeldOutFigures> infilling(const std::string& name);  // none if a stop ended it
  // Throws if too many held-out responses have no verdict.
  void require_verdicts(const std::string& name, const TaskScores& scores) const;
  void print_program_pair() const;
  std::string best_and_newest(const CheckpointStore& checkpoints) const;
  void leave_out_invalid(const TaskScores& scores);
  void leave_out_held_out();  // those that are known to be invalid

  const RunContext& context_;
  RunProgress& progress_;
};

}  // namespace bicrl
