// Step `cut_scaffold`: cuts programs without a scaffold into prefix, middle and suffix, around their CUDA
// source. Programs that cannot be cut stay whole. No parameters.
#include <nlohmann/json.hpp>

#include "curation/code/program_scaffold.h"
#include "curation/step.h"

namespace bicrl::curation {
namespace {

class CutScaffold : public Step {
 public:
  void take(Record record, Outlet& out) override {
    if (!record.answer.program.empty() && !record.answer.has_scaffold()) {
      if (auto cut = cut_program(record.answer.program)) {
        record.answer.prefix = std::move(cut->prefix);
        record.answer.middle = std::move(cut->middle);
        record.answer.suffix = std::move(cut->suffix);
        ++cut_;
      } else {
        ++whole_;
      }
    }
    out.pass(std::move(record));
  }

  nlohmann::ordered_json card() const override { return {{"cut", cut_}, {"not_cut", whole_}}; }

 private:
  int64_t cut_ = 0, whole_ = 0;
};

const StepRegistration kCutScaffoldRegistered("cut_scaffold",
                                              "cuts programs around their CUDA source, for infilling",
                                              [](const ConfigSection&, const StepEnvironment&) {
                                                return std::make_unique<CutScaffold>();
                                              });

}  // namespace
}  // namespace bicrl::curation
