#include "launch/curate/curate_command.h"
#include "launch/subcommands/subcommand.h"

#include <deque>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>

#include "common/config/config.h"
#include "common/files/files.h"
#include "common/log.h"
#include "common/program_version.h"
#include "curation/code/box_code_reader.h"
#include "curation/generation_process.h"
#include "curation/record_pipeline.h"
#include "curation/table_process.h"
#include "launch/embedded_verifier.h"
#include "launch/signals.h"
#include "reward/client/transport_probe.h"
#include "reward/client/verifier_client.h"
#include "sandbox/service/verifier_server.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr auto kDescriptionPatience = std::chrono::seconds(30);

// Of a verifier that was named and does not describe itself.
std::string advice_on(const std::string& address) {
  if (probe_transport(address) != Transport::kUnknown) return "";
  return ": is one started there (`bicrl verifier`)? Without 'verifier.addresses' this command starts one "
         "itself";
}

// The verifier service as a pipeline sees it.
class ServiceGrader : public curation::Grader {
 public:
  ServiceGrader(const VerifierClientOptions& options, bool is_embedded)
      : client_(options), capacity_(static_cast<size_t>(options.max_in_flight)) {
    VerificationProtocol wishes = options.protocol;
    const std::vector<Result<VerifierDescription>> answers = client_.describe(kDescriptionPatience);
    for (size_t i = 0; i < answers.size(); ++i) {
      const Result<VerifierDescription>& answer = answers[i];
      if (!answer)
        throw Error(concat("verifier cannot be used: ", answer.reason(),
                           is_embedded ? "" : advice_on(options.addresses[i])),
                    ExitCode::kUnavailable);
      wishes.measure_time =
          !answer.value().clock.empty();  // so that the clock is part of what verdicts depend on
      if (const std::string problem = verifier_problem(answer.value(), wishes); !problem.empty())
        throw InputError(concat("the verifier ", answer.value().address, " cannot be used: ", problem));
      const std::string basis = grading_basis(answer.value(), wishes);
      if (!basis_.empty() && basis != basis_)
        throw InputError("the verifiers differ in what their verdicts depend on: use those of one kind");
      basis_ = basis;
    }
  }

  std::string basis() override { return basis_; }
  void submit(const void* asker, const VerificationRequest& request) override {
    VerificationRequest sent = request;
    sent.request_id = std::to_string(next_++);
    asked_[sent.request_id] = {asker, request.request_id};
    client_.submit(sent);
  }
  std::optional<Verdict> next(const void* asker, curation::Milliseconds patience) override {
    std::deque<Verdict>& own = ready_[asker];
    if (own.empty()) {
      if (auto verdict = client_.next(patience)) sort_in(std::move(*verdict));
    }
    if (own.empty()) return std::nullopt;
    Verdict verdict = std::move(own.front());
    own.pop_front();
    return verdict;
  }
  size_t capacity() const override { return capacity_; }

 private:
  struct Asked {
    const void* asker = nullptr;
    std::string request_id;  // as the asker knows it
  };
  void sort_in(Verdict verdict) {
    const auto found = asked_.find(verdict.request_id);
    verdict.request_id = found->second.request_id;
    ready_[found->second.asker].push_back(std::move(verdict));
    asked_.erase(found);
  }

  VerifierClient client_;
  size_t capacity_;
  uint64_t next_ = 0;
  std::map<std::string, Asked> asked_;
  std::map<const void*, std::deque<Verdict>> ready_;
  std::string basis_;
};

// What the pipeline's file says of the world around it; each part is started when a step first asks for it.
class CommandServices : public curation::Services {
 public:
  CommandServices(const CurateCommand& command, const ConfigSection& root)
      : command_(command),
        boxes_(curation::BoxOptions::from_config(root.section("boxes"))),
        verifier_(VerifierClientOptions::from_config(root.section("verifier"))),
        tables_(boxes_.python) {
    VerifierOptions::from_config(
        root.section("verifier").section("server"));  // the embedded server reads its keys itself
  }

  curation::Grader& grader() override {
    if (grader_) return *grader_;
    if (verifier_.addresses.empty()) {
      server_ = std::make_unique<EmbeddedVerifier>(command_.config_path, command_.overrides, log_path_);
      verifier_.addresses = {server_->address()};
    }
    grader_ = std::make_unique<ServiceGrader>(verifier_, /*is_embedded=*/server_ != nullptr);
    return *grader_;
  }
  curation::CodeReader& code_reader() override {
    if (!reader_) reader_ = std::make_unique<curation::BoxCodeReader>(boxes_);
    return *reader_;
  }
  curation::TableConverter& tables() override { return tables_; }
  curation::Generator generator() override {
    if (generator_version_.empty())
      generator_version_ = concat("bicrl ", kProgramVersion.version, " ",
                                  curation::program_hash(fs::read_symlink("/proc/self/exe")));
    return {.program = {}, .version = generator_version_};
  }
  // The embedded verifier is this program.
  std::string grader_basis() override {
    const bool is_embedded = verifier_.addresses.empty() || server_;
    return is_embedded ? generator().version : grader().basis();
  }
  std::string code_reader_basis() override {
    if (code_basis_.empty()) code_basis_ = curation::BoxCodeReader::basis_of(boxes_);
    return code_basis_;
  }
  bool stop_requested() override { return bicrl::stop_requested(); }

  void write_logs_to(const fs::path& directory) { log_path_ = (directory / "verifier.log").string(); }

 private:
  const CurateCommand& command_;
  curation::BoxOptions boxes_;
  VerifierClientOptions verifier_;
  curation::TableProcess tables_;
  std::string log_path_;
  std::string generator_version_;  // of a program between two releases, too
  std::string code_basis_;
  std::unique_ptr<EmbeddedVerifier> server_;
  std::unique_ptr<ServiceGrader> grader_;
  std::unique_ptr<curation::BoxCodeReader> reader_;
};

void print_steps() {
  for (const curation::StepKind& kind : curation::step_kinds())
    std::cout << kind.name << "\n    " << kind.summary << "\n";
}

}  // namespace

int run_curate_command(const CurateCommand& command) {
  if (command.list_steps) {
    print_steps();
    return static_cast<int>(ExitCode::kOk);
  }
  if (command.config_path.empty()) throw InputError("bicrl curate needs a pipeline's file");
  const ConfigDocument document = ConfigDocument::from_file(command.config_path, command.overrides);
  CommandServices services(command, document.root());
  curation::Pipeline pipeline(document.root(), fs::path(command.config_path).parent_path(), services);
  document.finish();
  for (const std::string& note : document.notes()) log_info(note);
  if (command.dry_run) {
    std::cout << document.resolved_yaml() << std::flush;
    return static_cast<int>(ExitCode::kOk);
  }
  make_folders(pipeline.directory(), system_files());
  services.write_logs_to(pipeline.directory());
  install_stop_handler("bicrl curate: stopping; the same command goes on");
  pipeline.run(document.resolved_yaml(), command.only);
  std::cout << pipeline.table() << "\n" << pipeline.result().string() << "\n" << std::flush;
  return static_cast<int>(ExitCode::kOk);
}

namespace {

class CurateSubcommand : public Subcommand {
 public:
  void add_flags(CLI::App& app) override {
    words_.add_to(app);
    app.add_option("--step", command_.only,
                   "take this step alone (name or number), on the output of the one before");
    app.add_flag("--dry-run", command_.dry_run, "print the resolved pipeline, and stop");
    app.add_flag("--list-steps", command_.list_steps, "print the kinds of steps, and stop");
  }
  int run(const CommandLine&) override {
    words_.take(command_);
    return run_curate_command(command_);
  }

 private:
  ConfigArguments words_;
  CurateCommand command_;
};

const SubcommandRegistration kCurateRegistered(
    70, "curate", "make training data: load, check, verify, filter, decontaminate, write",
    std::make_unique<CurateSubcommand>());

}  // namespace
}  // namespace bicrl
