#include "curation/inputs/answered_run.h"

#include "common/error.h"
#include "common/files/files.h"
#include "common/json.h"

namespace bicrl::curation {
namespace {

namespace fs = std::filesystem;

std::string text_in(const nlohmann::json& json, const char* field) {
  const auto found = json.find(field);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

fs::path run_file_of(const fs::path& answers) {
  const fs::path folder = fs::absolute(answers).lexically_normal().parent_path();
  for (const fs::path& run : {folder, folder.parent_path()})
    if (fs::is_regular_file(run / "run.json")) return run / "run.json";
  return {};
}

std::string verifier_of_run(const fs::path& run_file) {
  const auto json = try_parse_json(read_file(run_file));
  if (!json || !json.value().is_object()) return "";
  const auto program = json.value().find("program");
  const std::string protocol = text_in(json.value(), "protocol");
  if (program == json.value().end() || !program->is_object() || protocol.empty()) return "";
  std::string words = "bicrl " + text_in(*program, "version");
  if (const std::string commit = text_in(*program, "commit"); !commit.empty()) words += " " + commit;
  return concat(words, ", protocol ", protocol);
}

}  // namespace bicrl::curation
