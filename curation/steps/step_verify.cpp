// Step `verify`: asks the verifier what it says of every record's program. Records without a program are
// passed on.
//   measure_time: whether programs are also timed
//   unverified: stop | drop, for a verdict that only the verifier's own parts are to blame for. It is none:
//   the pipeline stops, and goes on there; or the record leaves, and nothing enters the ledger.
#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include "common/error.h"
#include "common/hash.h"
#include "curation/step.h"

namespace bicrl::curation {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kKind = "verdict";
// So many programs in a row without a verdict are the verifier's fault, not theirs.
constexpr size_t kMostUnverifiedInARow = 32;
// The same of the last ones: behind them a verifier that has died gives no further verdict.
constexpr size_t kMostUnverifiedAtTheEnd = 3;
constexpr size_t kMostReasonBytes = 300;

class Verify : public Step {
 public:
  Verify(const ConfigSection& p, const StepEnvironment& environment) : environment_(environment) {
    measure_time_ = p.boolean("measure_time", true);
    drops_unverified_ = p.choice("unverified", "stop", {"stop", "drop"}) == "drop";
  }

  void take(Record record, Outlet&) override {
    const bool asks = !record.answer.program.empty() && !record.pytorch_code.empty();
    waiting_.push_back({.record = std::move(record), .key = "", .is_ready = !asks, .why_unverified = ""});
    if (!asks) return;
    Waiting& asked = waiting_.back();
    asked.key =
        hash_hex({grader().basis(), environment_.verifier_settings, asked.record.pytorch_code,
                  asked.record.reduced_sizes, asked.record.answer.program, measure_time_ ? "timed" : ""});
    if (const auto known = environment_.ledger->find(kKind, asked.key)) {
      asked.record.verdict = verdict_from_json(*known);
      asked.is_ready = true;
      return;
    }
    const uint64_t number = first_ + waiting_.size() - 1;
    std::vector<uint64_t>& numbers = asking_[asked.key];
    numbers.push_back(number);
    ++in_work_;
    if (numbers.size() > 1) return;  // the same is asked already
    VerificationRequest request{.request_id = std::to_string(number),
                                .task_id = asked.record.task_id,
                                .pytorch_code = asked.record.pytorch_code,
                                .program = asked.record.answer.program,
                                .reduced_sizes = asked.record.reduced_sizes};
    request.protocol.measure_time = measure_time_;
    grader().submit(this, request);
  }
  size_t waiting() const override { return waiting_.size(); }
  size_t most_waiting() const override { return environment_.services->grader().capacity(); }

  void advance(Outlet& out, Milliseconds patience) override {
    if (in_work_ > 0) receive(waiting_.front().is_ready ? Milliseconds(0) : patience);
    for (; !waiting_.empty() && waiting_.front().is_ready; ++first_) {
      Record record = std::move(waiting_.front().record);
      const std::string why_unverified = std::move(waiting_.front().why_unverified);
      waiting_.pop_front();
      if (!why_unverified.empty()) {
        out.drop(record.id, "no verdict", why_unverified);
        continue;
      }
      if (record.verdict) {
        record.provenance.verifier = grader().basis();
        ++outcomes_[record.verdict->correct ? "correct" : outcome_of(*record.verdict)];
      }
      out.pass(std::move(record));
    }
  }

  void finish(Outlet& /*out*/) override {
    if (unverified_in_a_row_ > kMostUnverifiedAtTheEnd) stop(last_unverified_.first, last_unverified_.second);
  }

  Json inputs() const override { return {{"verifier", environment_.services->grader_basis()}}; }
  Json card() const override {
    Json card = {{"outcomes", outcomes_}};
    if (grader_) card["versions"] = {{"verifier", grader_->basis()}};
    return card;
  }

 private:
  struct Waiting {
    Record record;
    std::string key;
    bool is_ready = false;
    std::string why_unverified;  // the record is dropped
  };

  static std::string outcome_of(const Verdict& verdict) {
    return verdict.fault_class.empty() ? to_string(verdict.outcome) : verdict.fault_class;
  }

  Grader& grader() {
    if (!grader_) grader_ = &environment_.services->grader();
    return *grader_;
  }

  void receive(Milliseconds patience) {
    auto verdict = grader().next(this, patience);
    for (; verdict; verdict = grader().next(this, Milliseconds(0))) {
      const Waiting& first = waiting_.at(std::stoull(verdict->request_id) - first_);
      const std::string key = first.key;
      std::string why_unverified;
      if (verdict->outcome == Outcome::kInfrastructure) {
        why_unverified = concat("the verifier: ", verdict->diagnostics.substr(0, kMostReasonBytes));
        ++unverified_in_a_row_;
        last_unverified_ = {first.record.id, why_unverified};
        if (!drops_unverified_ || unverified_in_a_row_ > kMostUnverifiedInARow)
          stop(first.record.id, why_unverified);
      } else {
        unverified_in_a_row_ = 0;
        *verdict = settled(std::move(*verdict));
        environment_.ledger->keep(kKind, key, to_json(*verdict));
        // Another step may have asked the same meanwhile: records have what the ledger keeps.
        *verdict = verdict_from_json(*environment_.ledger->find(kKind, key));
      }
      for (const uint64_t number : asking_.at(key)) {
        Waiting& asked = waiting_.at(number - first_);
        --in_work_;
        asked.is_ready = true;
        asked.why_unverified = why_unverified;
        if (why_unverified.empty()) asked.record.verdict = *verdict;
      }
      asking_.erase(key);
    }
  }

  [[noreturn]] void stop(const std::string& id, const std::string& why) const {
    throw Error(
        concat("the verifier gave no verdict on ",
               drops_unverified_ ? concat(unverified_in_a_row_, " programs in a row; on the last, ") : "",
               "record ", id, " (", why, "); what it said until then is kept, and the same command goes on",
               drops_unverified_ ? "" : "; with 'unverified: drop' such a record leaves"),
        ExitCode::kUnavailable);
  }

  const StepEnvironment& environment_;
  bool measure_time_ = true, drops_unverified_ = false;
  size_t unverified_in_a_row_ = 0;
  std::pair<std::string, std::string> last_unverified_;  // record and reason
  Grader* grader_ = nullptr;
  std::deque<Waiting> waiting_;
  uint64_t first_ = 0;                                             // number of the head
  size_t in_work_ = 0;                                             // records
  std::unordered_map<std::string, std::vector<uint64_t>> asking_;  // records that wait, by key
  std::map<std::string, int64_t> outcomes_;
};

const StepRegistration kVerifyRegistered("verify", "the verifier's verdict on each program",
                                         [](const ConfigSection& p, const StepEnvironment& e) {
                                           return std::make_unique<Verify>(p, e);
                                         });

}  // namespace
}  // namespace bicrl::curation
