#include "curation/step_output.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace bicrl::curation {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBufferBytes = 256 << 10;
constexpr std::string_view kOwnFiles[] = {"state.json", "pipeline.yaml", "card.md",
                                          "card.json",  "ledger.jsonl",  "verifier.log"};
constexpr std::string_view kOwnFolders[] = {"records", "audit", "generation"};

}  // namespace

LineFile::LineFile(const fs::path& path) : file_((remove_unfinished(path), path)) {}

void LineFile::add(const std::string& line) {
  buffer_ += line;
  buffer_ += '\n';
  if (buffer_.size() < kBufferBytes) return;
  file_.write(buffer_);
  buffer_.clear();
}

FileHash LineFile::commit() {
  file_.write(buffer_);
  buffer_.clear();
  return file_.commit();
}

std::string audit_line(const std::string& id, const std::string& step, const std::string& reason,
                       const std::string& detail) {
  nlohmann::ordered_json json = {{"id", id}, {"step", step}, {"reason", reason}};
  if (!detail.empty()) json["detail"] = detail;
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

bool is_own_file(const fs::path& file, const fs::path& directory) {
  const fs::path relative = fs::weakly_canonical(file).lexically_relative(fs::weakly_canonical(directory));
  if (relative.empty()) return false;
  const std::string first = relative.begin()->string();
  const bool is_below = std::next(relative.begin()) != relative.end();
  return is_below ? std::ranges::count(kOwnFolders, first) > 0 : std::ranges::count(kOwnFiles, first) > 0;
}

void remove_unfinished(const fs::path& path) {
  const std::string beginning = path.filename().string() + ".tmp.";
  std::error_code none;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (entry.path().filename().string().starts_with(beginning)) found.push_back(entry.path());
  for (const fs::path& file : found) fs::remove(file, none);
}

}  // namespace bicrl::curation
