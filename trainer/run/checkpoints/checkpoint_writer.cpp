#include "trainer/run/checkpoints/checkpoint_writer.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "policy/files/checkpoint_io.h"
#include "trainer/ranks/document_exchange.h"

namespace bicrl {
namespace fs = std::filesystem;

CheckpointWriter::CheckpointWriter(ControlPlane& control, CheckpointStore* store, const PolicyConfig& config,
                                   const Tokenizer& tokenizer, bool in_background, FileOperations& files)
    : control_(control),
      store_(store),
      config_(config),
      tokenizer_(tokenizer),
      in_background_(in_background),
      files_(files) {}

CheckpointWriter::~CheckpointWriter() {
  if (!under_way()) return;
  if (in_background_ && job_.valid()) job_.wait();
  if (store_) store_->discard(name_);
}

void CheckpointWriter::reserve(const CheckpointPart& live) {
  if (!in_background_) return;
  if (live.updater) updater_copy_.reserve(live.updater->tensors);
  weights_copy_.reserve(live.weights);
  if (live.adapters) adapters_copy_.reserve(live.adapters->tensors);
}

void CheckpointWriter::begin(const std::string& name, uint64_t expected_bytes, const CheckpointPart& live) {
  BICRL_CHECK(!under_way(), name_, " is under way");
  fs::path folder;
  on_rank_zero(control_, [&] {
    if (store_) folder = store_->begin(name, expected_bytes);
  });
  folder = control_.all_gather(folder.string()).front();
  CheckpointPart part = live;
  if (in_background_) {
    if (part.updater) part.updater->tensors = updater_copy_.take(live.updater->tensors);
    part.weights = weights_copy_.take(live.weights, live.written_as);
    part.written_as = {};
    if (part.adapters) part.adapters->tensors = adapters_copy_.take(live.adapters->tensors);
  }
  name_ = name;
  job_ = std::async(in_background_ ? std::launch::async : std::launch::deferred,
                    [this, folder, part = std::move(part)] { return write(folder, part); });
}

bool CheckpointWriter::written() const {
  return !under_way() || !in_background_ ||
         job_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

double CheckpointWriter::finish() {
  BICRL_CHECK(under_way(), "no checkpoint is under way");
  Written mine;
  const std::string error = error_of([&] { mine = job_.get(); });
  nlohmann::json record = {{"error", error}, {"seconds", mine.seconds}, {"files", nlohmann::json::object()}};
  for (const auto& [file, hash] : mine.files) record["files"][file] = {hash.bytes, hash.hex};
  const std::string name = std::exchange(name_, "");
  std::vector<std::string> errors;
  std::map<std::string, FileHash> files;
  double seconds = 0;
  for (const nlohmann::json& rank : exchange_documents(control_, record)) {
    errors.push_back(rank.at("error").get<std::string>());
    seconds = std::max(seconds, rank.at("seconds").get<double>());
    for (const auto& [file, hash] : rank.at("files").items())
      files[file] = {hash.at(0).get<uint64_t>(), hash.at(1).get<std::string>()};
  }
  try {
    throw_first_error(errors);
    on_rank_zero(control_, [&] {
      if (store_) store_->commit(name, files);
    });
  } catch (...) {
    if (store_) store_->discard(name);
    throw;
  }
  return seconds;
}

CheckpointWriter::Written CheckpointWriter::write(const fs::path& folder, const CheckpointPart& part) const {
  const Stopwatch watch;
  Written written;
  if (part.updater) {
    const fs::path file = folder / part.updater->name;
    written.files[part.updater->name] = write_updater(folder, *part.updater, files_);
    // On this rank's host: rank 0's does not know the names that another one has not given away yet.
    sync_path(file.parent_path(), files_);
  }
  if (control_.rank() == 0) {
    written.files.merge(save_policy(folder, config_, part.weights, part.written_as, tokenizer_, files_));
    if (part.adapters) save_adapters(adapter_folder(folder), *part.adapters, files_);
    write_run_state(folder, part.state, files_);
  }
  written.seconds = watch.seconds();
  return written;
}

}  // namespace bicrl
