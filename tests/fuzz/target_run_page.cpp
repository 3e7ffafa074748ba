// A run directory as `bicrl report` finds it: the parts of the input are its files. Whatever they hold, there
// is a page, and none of its elements comes from them.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "report/page/page.h"
#include "tests/fuzz/fuzz_target.h"

namespace bicrl::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFiles[] = {"run.json",        "metrics.jsonl",
                                  "responses.jsonl", "ledger/rank-0.jsonl",
                                  "samples.jsonl",   "evaluations/end_to_end.jsonl",
                                  "summary.json",    "config.yaml"};

// One for the process; its files are written anew for each input.
const fs::path& folder() {
  struct Folder {
    fs::path path = fs::temp_directory_path() / concat("bicrl_fuzz_run_page_", getpid());
    ~Folder() {
      std::error_code ignored;
      fs::remove_all(path, ignored);
    }
  };
  static const Folder made;
  return made.path;
}

size_t count_of(const std::string& page, std::string_view part) {
  size_t count = 0;
  for (size_t at = 0; (at = page.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

void check(const std::string& page) {
  BICRL_CHECK(count_of(page, "<script") == 2 && count_of(page, "</script") == 2);
  BICRL_CHECK(count_of(page, "<style") == 1 && count_of(page, "<body") == 1 && count_of(page, "</html") == 1);
  BICRL_CHECK(page.find('\0') == std::string::npos);
  constexpr std::string_view kData = "id=\"data\">";
  const size_t begin = page.find(kData) + kData.size();
  BICRL_CHECK(nlohmann::json::parse(page.substr(begin, page.find("</script", begin) - begin)).is_object());
}

}  // namespace
}  // namespace bicrl::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bicrl;
  namespace fs = std::filesystem;
  const std::vector<std::string> parts =
      fuzz::split_parts(fuzz::as_text(data, size), std::size(fuzz::kFiles));
  for (size_t i = 0; i < std::size(fuzz::kFiles); ++i) {
    const fs::path file = fuzz::folder() / fuzz::kFiles[i];
    fs::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << (i < parts.size() ? parts[i] : "");
  }
  fuzz::check(report::run_page({report::read_run(fuzz::folder())}));
  fuzz::check(
      report::evaluation_page(report::read_evaluation(fuzz::folder() / "evaluations/end_to_end.jsonl")));
  return 0;
}
