// Step `count_tokens`: figures reasoning_tokens and program_tokens, of records that have such parts and no
// such figure yet.
//   tokenizer: a folder with its files; characters_per_token: without one, parts are estimated by their
//   length
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "curation/input_path.h"
#include "curation/step.h"
#include "policy/tokenizer/tokenizer.h"

namespace bicrl::curation {
namespace {

using Json = nlohmann::ordered_json;

class CountTokens : public Step {
 public:
  CountTokens(const ConfigSection& p, const StepEnvironment& environment) {
    const std::string folder = p.text("tokenizer", "");
    if (folder.empty()) {
      characters_per_token_ = p.real("characters_per_token", 4, 0.1, 1000);
    } else {
      p.refuse_without_effect("characters_per_token", "with a tokenizer");
      tokenizer_ = std::make_unique<Tokenizer>(
          Tokenizer::from_folder(input_path(p, "tokenizer", folder, environment.config_folder)));
    }
  }

  void take(Record record, Outlet& out) override {
    count(record.answer.reasoning, "reasoning_tokens", record);
    count(record.answer.program, "program_tokens", record);
    out.pass(std::move(record));
  }

  Json inputs() const override {
    return tokenizer_ ? Json{{"tokenizer", tokenizer_->hash()}} : Json::object();
  }
  Json card() const override {
    return {{"tokens_counted", tokenizer_ ? concat("by the tokenizer ", tokenizer_->hash())
                                          : concat("one for each ", characters_per_token_, " characters")}};
  }

 private:
  void count(const std::string& text, const char* figure, Record& record) const {
    if (text.empty() || record.figures.contains(figure)) return;
    record.figures[figure] = tokenizer_ ? static_cast<double>(tokenizer_->encode(text).size())
                                        : std::ceil(static_cast<double>(text.size()) / characters_per_token_);
  }

  std::unique_ptr<Tokenizer> tokenizer_;
  double characters_per_token_ = 4;
};

const StepRegistration kCountTokensRegistered("count_tokens",
                                              "how long reasoning and programs are, in tokens",
                                              [](const ConfigSection& p, const StepEnvironment& e) {
                                                return std::make_unique<CountTokens>(p, e);
                                              });

}  // namespace
}  // namespace bicrl::curation
