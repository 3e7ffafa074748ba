// Log of a run's steps: the line on the terminal and the append-only files of the run directory.
//   metrics.jsonl    an entry per step; keys that end with _seconds, _per_second, _peak_bytes, _mfu or _queue
//                    are times and loads and differ between equal runs, all others do not
//   responses.jsonl  an entry per stage step with every response's task, verdict key, reward and advantage
//   samples.jsonl    some responses of each stage step with prompt, text and verdict, for a person to read
//                    (sample_choice.h)
//   events.out.tfevents.bicrl  the same figures and samples, and those of evaluations, for TensorBoard
// Used by rank 0 only. Not thread-safe.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/files/line_log.h"
#include "common/progress_bar.h"
#include "episode/episode.h"
#include "trainer/evaluation/evaluation.h"
#include "trainer/run/reports/event_file.h"
#include "trainer/run/reports/step_metrics.h"
#include "trainer/run/reports/text_archive.h"
#include "trainer/run/run_directory.h"

namespace bicrl {

class RunLog {
 public:
  // `log_bytes`: lengths of the files at the checkpoint from which the run goes on; empty at the start.
  RunLog(const RunDirectory& directory, const std::map<std::string, int64_t>& log_bytes,
         int64_t samples_per_step);

  // `run_step`: the step's number over all phases, TensorBoard's axis. `run_seconds_left`: none where nobody
  // knows.
  void step(const StepMetrics& metrics, int64_t run_step, double seconds_in_phase,
            std::optional<double> run_seconds_left = std::nullopt);
  void responses(const StepMetrics& metrics, int64_t run_step, const std::vector<Episode>& episodes,
                 const std::map<EpisodeKey, TokenTexts>& tokens);
  // Figures of an evaluation, on the same axis, for TensorBoard.
  void evaluation(const EvaluationResult& result, int64_t run_step);
  void sync();  // all files, to the disk
  std::map<std::string, int64_t> log_bytes() const;

 private:
  LineLog metrics_;
  LineLog responses_;
  LineLog samples_;
  EventFile events_;
  int64_t samples_per_step_;
  std::unique_ptr<ProgressBar> warm_up_bar_;  // while steps come without lines of their own
};

}  // namespace bicrl
