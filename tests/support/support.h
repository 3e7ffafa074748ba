// Functions that several test programs share: paths of published data, and running a Python oracle.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace bicrl::testing {

// Paths in the source tree and in the build that the tests belong to. Other files do not see these folders'
// names, so that a compiler's cache serves every clone.
std::filesystem::path source_path(const std::string& relative);
std::filesystem::path build_path(const std::string& relative);

// Folder of published tasks and SDAR files ($BICRL_DATA, else ../shared/data beside the source tree).
// Skips the running test, with the reason, if the file is absent.
std::filesystem::path published_file(const std::string& relative);

// What is in the published forms: always the small files of our own in tests/data, and the published ones if
// they are there. Task files by name; folders of tokenizers in SDAR's form.
std::vector<std::filesystem::path> task_files(const std::string& name);
std::vector<std::filesystem::path> sdar_tokenizers();

// The interpreter with torch that the tests were built with; $BICRL_TEST_PYTHON names another one, where they
// run on another machine.
std::string test_python();

// Runs `python script args...` with that interpreter; fails the test unless it exits 0. Exit code 77 (a
// module is missing) skips the test with the script's message.
void run_python(const std::filesystem::path& script, const std::vector<std::string>& args);

// Every `from` of the text as `to`. Fails the test if there is none.
std::string replaced(std::string text, const std::string& from, const std::string& to);

// A fresh folder that is removed with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace bicrl::testing
