// Step `generate`: samples of a policy to every task that has no program yet, in place of the task's record.
//   configuration: of `bicrl generate`, with its policy and its sampling; overrides: of it, key=value
//   samples: to each task; seed; batch: tasks that one process is asked for
//   reasoning: true asks in a conversation and takes a part between <think> and </think> apart; false asks
//   for the program as in training; prompt_style
// A batch enters the ledger as a whole, so that a kill loses at most the one under way.
#include <map>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/files.h"
#include "common/hash.h"
#include "curation/form.h"
#include "curation/generation_process.h"
#include "curation/input_path.h"
#include "curation/step.h"
#include "curation/turns.h"

namespace bicrl::curation {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kKind = "samples";

class Generate : public Step {
 public:
  Generate(const ConfigSection& p, const StepEnvironment& environment) : environment_(environment) {
    configuration_ =
        input_path(p, "configuration", p.required_text("configuration"), environment.config_folder);
    overrides_ = p.texts("overrides");
    samples_ = p.integer("samples", 1, 1, 1 << 16);
    seed_ = static_cast<uint64_t>(p.integer("seed", 1, 0));
    most_tasks_ = static_cast<size_t>(p.integer("batch", 64, 1, 1 << 20));
    reasons_ = p.boolean("reasoning", false);
    style_ = p.choice("prompt_style", "published", prompt_style_names());
  }

  void take(Record record, Outlet& out) override {
    if (record.pytorch_code.empty()) return out.drop(record.id, "has no task's code");
    if (!record.answer.program.empty() && batch_.empty()) return out.pass(std::move(record));
    tasks_ += record.answer.program.empty();
    batch_.push_back(std::move(record));
    if (tasks_ >= most_tasks_) answer(out);
  }
  void finish(Outlet& out) override { answer(out); }

  Json inputs() const override { return {{"policy", basis()}, {"program", generator().version}}; }
  Json card() const override {
    return {{"samples", made_},
            {"without_program", without_program_},
            {"versions", {{"policy", basis()}, {"generate", generator().version}}}};
  }

 private:
  const std::string& basis() const {
    if (basis_.empty()) basis_ = generation_basis(configuration_, overrides_);
    return basis_;
  }

  Generator generator() const { return environment_.services->generator(); }

  // Records with a program keep their place among the others.
  void answer(Outlet& out) {
    std::vector<const Record*> asked;
    for (const Record& record : batch_)
      if (record.answer.program.empty()) asked.push_back(&record);
    const nlohmann::json responses = asked.empty() ? nlohmann::json::array() : responses_to(asked);
    size_t next = 0;
    for (Record& record : batch_) {
      if (!record.answer.program.empty()) {
        out.pass(std::move(record));
        continue;
      }
      const size_t first = next;
      next += static_cast<size_t>(samples_);
      if (responses.at(first).is_null()) {
        out.drop(record.id, "its prompt does not fit the policy");
        continue;
      }
      for (size_t sample = 0; first + sample < next; ++sample)
        out.pass(sample_of(record, static_cast<int64_t>(sample), responses.at(first + sample)));
    }
    batch_.clear();
    tasks_ = 0;
  }

  nlohmann::json responses_to(const std::vector<const Record*>& asked) {
    std::string prompts;
    for (const Record* record : asked)
      prompts += prompt_of(*record).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    const std::string key = hash_hex({basis(), generator().version, prompts, std::to_string(samples_),
                                      std::to_string(seed_), style_, reasons_ ? "reasoning" : ""});
    if (const auto known = environment_.ledger->find(kKind, key)) return *known;
    const nlohmann::json responses = in_order(asked, generated(prompts));
    fs::remove_all(folder());  // with the log, which a failure names
    environment_.ledger->keep(kKind, key, responses);
    return responses;
  }

  // What bicrl generate is asked for the record: a task as in training, or a conversation.
  Json prompt_of(const Record& record) const {
    if (!reasons_)
      return {{"idx", record.id}, {"level", record.level}, {"pytorch_code", record.pytorch_code}};
    Task task = record.task();
    task.id = record.id;
    const std::string text =
        make_prompt(task, Stage::kEndToEnd, parse_prompt_style(style_), Scaffold::kPrompt).text;
    return {{"id", record.id}, {"messages", turns_to_json(turns_of_prompt(text))}};
  }

  fs::path folder() const { return environment_.directory / "generation"; }

  // A batch begins anew after a kill: its responses depend on what is generated beside them, to rounding.
  std::vector<nlohmann::json> generated(const std::string& prompts) {
    fs::remove_all(folder());
    make_folders(folder(), system_files());
    const fs::path asked = folder() / "asked.jsonl";
    write_file_atomically(asked, prompts);
    GenerationJob job{generator().program, configuration_, overrides_, folder() / "responses.jsonl",
                      folder() / "generate.log"};
    job.overrides.push_back(concat(reasons_ ? "prompts=" : "tasks=", asked.string()));
    if (!reasons_) {
      job.overrides.push_back("stage=end_to_end");
      job.overrides.push_back("prompt_style=" + style_);
    }
    job.overrides.push_back(concat("samples_per_task=", samples_));
    job.overrides.push_back("least_prompts=0");  // other batches may have some that fit
    job.overrides.push_back(concat("seed=", seed_));
    return generate_responses(job, [this] { return environment_.services->stop_requested(); });
  }

  // What is kept of the responses, in the order of tasks and samples. The program leaves out prompts that do
  // not fit the policy: null stands for the samples of such a task.
  nlohmann::json in_order(const std::vector<const Record*>& asked,
                          const std::vector<nlohmann::json>& given) const {
    std::map<std::pair<std::string, int64_t>, const nlohmann::json*> by_name;
    for (const nlohmann::json& response : given)
      by_name[{response.at(reasons_ ? "id" : "task_id").get<std::string>(),
               response.at("sample").get<int64_t>()}] = &response;
    nlohmann::json ordered = nlohmann::json::array();
    int64_t found = 0;
    bool is_whole = true;
    for (const Record* record : asked) {
      const int64_t before = found;
      for (int64_t sample = 0; sample < samples_; ++sample) {
        const auto response = by_name.find({record->id, sample});
        found += response != by_name.end();
        ordered.push_back(response == by_name.end() ? nlohmann::json() : kept(*response->second));
      }
      is_whole = is_whole && (found == before || found == before + samples_);
    }
    if (!is_whole || static_cast<size_t>(found) != given.size())
      throw Error(concat("bicrl generate gave ", given.size(), " responses, which are not ", samples_,
                         " to each task that fits, of ", asked.size(), " (",
                         (folder() / "generate.log").string(), ")"));
    return ordered;
  }

  static nlohmann::json kept(const nlohmann::json& response) {
    return {{"text", response.at("text")},
            {"program", response.value("program", "")},
            {"finish", response.value("finish", "")},
            {"tokens", response.at("tokens").size()}};
  }

  Record sample_of(const Record& task, int64_t sample, const nlohmann::json& response) {
    Record record = task;
    record.parent = task.id;
    record.id = concat(task.id, "#", sample + 1);
    record.provenance.seeds.push_back(seed_);
    record.verdict.reset();  // it was of no sample
    record.provenance.verifier.clear();
    record.answer.messages.clear();  // the question, and what is no sample's
    record.answer.prompt.clear();
    record.answer.reasoning.clear();
    const std::string text = response.at("text").get<std::string>();
    if (reasons_)
      read_response(text, record.answer);
    else
      record.answer.program = response.at("program").get<std::string>();
    if (record.answer.program.empty()) {
      record.answer.response = text;
      ++without_program_;
    } else {
      record.answer.response.clear();
    }
    record.labels["finish"] = response.at("finish").get<std::string>();
    record.figures["response_tokens"] = response.at("tokens").get<double>();
    ++made_;
    return record;
  }

  const StepEnvironment& environment_;
  fs::path configuration_;
  std::vector<std::string> overrides_;
  int64_t samples_ = 1;
  uint64_t seed_ = 1;
  size_t most_tasks_ = 64;
  bool reasons_ = false;
  std::string style_;
  mutable std::string basis_;
  std::vector<Record> batch_;
  size_t tasks_ = 0;  // of the batch, without a program
  int64_t made_ = 0, without_program_ = 0;
};

const StepRegistration kGenerateRegistered("generate", "samples of a policy to tasks without a program",
                                           [](const ConfigSection& p, const StepEnvironment& e) {
                                             return std::make_unique<Generate>(p, e);
                                           });

}  // namespace
}  // namespace bicrl::curation
