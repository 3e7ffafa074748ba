#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <map>

#include "common/files/files.h"
#include "tests/support/support.h"
#include "trainer/run/reports/machine_description.h"

namespace bicrl {
namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  write_file_atomically(file, text);
}

TEST_CASE("machine description names processor, GPUs by kind, memory and system") {
  const testing::TemporaryFolder root;
  write(root.path() / "proc/cpuinfo",
        "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nprocessor\t: 1\nmodel name\t: Some CPU @ 2 GHz\n");
  write(root.path() / "proc/meminfo", "MemTotal:       16000000 kB\nMemFree: 1 kB\n");
  write(root.path() / "etc/os-release", "NAME=\"X\"\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n");
  for (const char* gpu : {"0000:01:00.0", "0000:02:00.0"})
    write(root.path() / "proc/driver/nvidia/gpus" / gpu / "information", "Model: \t\t NVIDIA H100\nIRQ: 5\n");
  const auto listed = machine_description(root.path());
  std::map<std::string, std::string> facts(listed.begin(), listed.end());
  CHECK(facts.at("processor") == "Some CPU @ 2 GHz");
  CHECK(facts.at("GPUs") == "2 x NVIDIA H100");
  CHECK(facts.at("memory") == "16000000 kB");
  CHECK(facts.at("system") == "Debian GNU/Linux 12");
}

TEST_CASE("machine description of a machine that shows nothing leaves facts out") {
  const testing::TemporaryFolder root;
  const auto facts = machine_description(root.path());
  REQUIRE(facts.size() == 1);
  CHECK(facts[0].first == "usable CPUs");
}

}  // namespace
}  // namespace bicrl
