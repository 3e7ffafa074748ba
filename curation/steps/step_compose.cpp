// Step `compose`: adds tasks of composed operators of PyTorch, without programs. Records of an earlier step
// come before them.
//   tasks: how many are drawn; seed; source; lengths: [{name: number of operators, share}]
//   catalogue: a file of operators (the program's own)
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/files.h"
#include "common/hash.h"
#include "common/rng.h"
#include "curation/code/code_questions.h"
#include "curation/code/operator_catalogue.h"
#include "curation/input_path.h"
#include "curation/selection/shares.h"

namespace bicrl::curation {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr size_t kMostOperators = 5;
constexpr size_t kChoices = 24;  // of each place: one of them will take the value so far
constexpr const char* kOwnLicence = "that of this program";

class Compose : public Step {
 public:
  Compose(const ConfigSection& p, const StepEnvironment& environment) : questions_(environment) {
    tasks_ = p.integer("tasks", 64, 1, 1 << 20);
    seed_ = static_cast<uint64_t>(p.integer("seed", 1, 0));
    source_ = p.text("source", "composed");
    lengths_ = shares_from_config(p, "lengths");
    // CUDA Agent's, of its tasks that are composed of torch's operators.
    if (lengths_.empty())
      lengths_ = {{"1", 0.0344}, {"2", 0.8477}, {"3", 0.0771}, {"4", 0.0283}, {"5", 0.0125}};
    for (const Share& length : lengths_)
      if (length.name.size() != 1 || length.name[0] < '1' ||
          length.name[0] > static_cast<char>('0' + kMostOperators))
        p.reject("lengths",
                 concat("'", length.name, "' is no number of operators from 1 to ", kMostOperators));
    const std::string file = p.text("catalogue", "");
    file_ = file.empty() ? share_folder() / "curation" / "operator_catalogue.txt"
                         : input_path(p, "catalogue", file, environment.config_folder);
    catalogue_ = read_catalogue(file_);
  }

  void take(Record record, Outlet& out) override { out.pass(std::move(record)); }

  void finish(Outlet& out) override {
    for (int64_t i = 0; i < tasks_; ++i) {
      ask(i);
      while (questions_.waiting() > questions_.most_waiting()) receive(out);
    }
    while (questions_.waiting() > 0) receive(out);
  }

  Json inputs() const override {
    Json inputs = questions_.inputs();
    inputs["catalogue"] = hash_file(file_).hex;
    return inputs;
  }
  Json card() const override {
    const Json entry = {
        {"source", source_}, {"form", "composed"}, {"licence", kOwnLicence}, {"entries", made_}};
    return {{"sources", Json::array({entry})}, {"catalogue", catalogue_.size()}};
  }

 private:
  void ask(int64_t number) {
    const uint64_t key = mix_key({seed_, static_cast<uint64_t>(number)});
    RandomStream random(key);
    Record record;
    char name[24];
    snprintf(name, sizeof name, "%06lld", static_cast<long long>(number + 1));
    record.id = record.task_id = concat(source_, ":", name);
    record.provenance.source = source_;
    record.provenance.form = "composed";
    record.provenance.licence = kOwnLicence;
    record.provenance.seeds = {seed_};
    nlohmann::json places = nlohmann::json::array();
    for (size_t place = 0, length = length_at(random.uniform()); place < length; ++place) {
      nlohmann::json choices = nlohmann::json::array();
      for (size_t i = 0; i < kChoices; ++i)
        choices.push_back(to_json(catalogue_[random.below(catalogue_.size())]));
      places.push_back(std::move(choices));
    }
    questions_.ask(std::move(record), {{{"kind", "compose"}, {"places", places}, {"seed", key}}});
  }

  size_t length_at(double place) const {
    for (const Share& length : lengths_) {
      if (place < length.share) return static_cast<size_t>(length.name[0] - '0');
      place -= length.share;
    }
    return static_cast<size_t>(lengths_.back().name[0] - '0');
  }

  void receive(Outlet& out) {
    questions_.advance(Milliseconds(200), [&](Record record, const std::vector<nlohmann::json>& answers) {
      const nlohmann::json& answer = answers.front();
      if (!answer.is_object() || !answer.contains("code"))
        return out.drop(record.id, "operators do not fit together", answer.dump());
      record.pytorch_code = answer.at("code").get<std::string>();
      record.operators = answer.at("operators").get<std::vector<std::string>>();
      record.level = static_cast<int>(record.operators.size());
      ++made_;
      out.pass(std::move(record));
    });
  }

  int64_t tasks_ = 0, made_ = 0;
  uint64_t seed_ = 1;
  std::string source_;
  std::vector<Share> lengths_;
  fs::path file_;
  std::vector<CatalogueOperator> catalogue_;
  CodeQuestions questions_;
};

const StepRegistration kComposeRegistered("compose",
                                          "tasks of composed operators of PyTorch, without programs",
                                          [](const ConfigSection& p, const StepEnvironment& e) {
                                            return std::make_unique<Compose>(p, e);
                                          });

}  // namespace
}  // namespace bicrl::curation
