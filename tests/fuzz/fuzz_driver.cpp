// Runs a fuzz target without libFuzzer: over the seeds as they are, then over a number of mutations of them
// that is the same on every machine. Finds what lies near the seeds; libFuzzer (launch/fuzz) goes further.
//   fuzz_NAME SEEDS_FOLDER MUTATIONS      or  fuzz_NAME FILE  to repeat one input
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "common/files/files.h"
#include "common/rng.h"
#include "tests/fuzz/fuzz_target.h"

namespace bicrl::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxInputBytes = 1 << 16;
constexpr unsigned kSecondsForOne = 20;
constexpr rlim_t kMemoryBytes = rlim_t{2} << 30;

// What parsers trip over: structure, extreme numbers, half characters.
const std::vector<std::string> kWords = {"{",          "}",
                                         "[",          "]",
                                         "\"",         ":",
                                         ",",          "\n",
                                         " ",          "null",
                                         "true",       "-1",
                                         "0",          "1e999",
                                         "1e-999",     "nan",
                                         ".inf",       "9223372036854775807",
                                         "-0",         "1.5",
                                         "4294967296", "18446744073709551616",
                                         "\\u0000",    "\\ud800",
                                         "\xff",       "\xc3",
                                         "\xe2\x82",   "&a ",
                                         "*a",         "<<: ",
                                         "- ",         "? ",
                                         "!!str ",     "%%\n",
                                         "(a+)+$",     "\\\\K"};

class Mutator {
 public:
  Mutator(std::vector<std::string> seeds, uint64_t key) : seeds_(std::move(seeds)), random_(key) {}

  std::string next() {
    std::string bytes = any_seed();
    for (uint64_t rounds = 1 + random_.below(4); rounds > 0; --rounds) change(bytes);
    if (bytes.size() > kMaxInputBytes) bytes.resize(kMaxInputBytes);
    return bytes;
  }

 private:
  const std::string& any_seed() { return seeds_[random_.below(seeds_.size())]; }
  size_t place(const std::string& bytes) { return random_.below(bytes.size() + 1); }

  void change(std::string& bytes) {
    const size_t at = place(bytes), length = random_.below(32);
    switch (random_.below(9)) {
      case 0:
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random_.below(8)));
        return;
      case 1:
        if (at < bytes.size()) bytes[at] = static_cast<char>(random_.below(256));
        return;
      case 2:
        bytes.resize(at);
        return;
      case 3:
        bytes.erase(at, length);
        return;
      case 4: {  // the same piece again, sometimes very often
        const std::string piece = bytes.substr(at, random_.below(2) ? 1 : 1 + length);
        const uint64_t times = random_.below(30) == 0 ? kMaxInputBytes : 1 + random_.below(3);
        std::string pieces;
        for (uint64_t i = 0; i < times && pieces.size() < kMaxInputBytes; ++i) {
          if (piece.empty()) break;
          pieces += piece;
        }
        bytes.insert(at, pieces);
        return;
      }
      case 5: {  // the rest of another seed
        const std::string& other = any_seed();
        bytes = bytes.substr(0, at) + other.substr(place(other));
        return;
      }
      case 6:
        bytes.insert(at, kWords[random_.below(kWords.size())]);
        return;
      case 7:  // another number
        return replace_number(bytes, at);
      default: {  // two bytes change places
        const size_t other = place(bytes);
        if (at < bytes.size() && other < bytes.size()) std::swap(bytes[at], bytes[other]);
      }
    }
  }

  void replace_number(std::string& bytes, size_t from) {
    const size_t begin = bytes.find_first_of("0123456789", from);
    if (begin == bytes.npos) return;
    const size_t end = std::min(bytes.find_first_not_of("0123456789.", begin), bytes.size());
    bytes.replace(begin, end - begin, kWords[12 + random_.below(12)]);
  }

  std::vector<std::string> seeds_;
  RandomStream random_;
};

std::string current;  // what is being tried, for a report of a crash

void report(const char* reason) {
  const char* path = "fuzz_finding";
  if (FILE* file = fopen(path, "wb")) {
    fwrite(current.data(), 1, current.size(), file);
    fclose(file);
  }
  fprintf(stderr, "%s on the input of %zu bytes in ./%s\n", reason, current.size(), path);
}

void on_signal(int number) {
  report(number == SIGALRM ? "no answer in time" : "a crash");
  _Exit(1);
}

bool try_one(const std::string& bytes) {
  current = bytes;
  alarm(kSecondsForOne);
  try {
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    return true;
  } catch (const std::exception& error) {
    report(error.what());
    return false;
  }
}

std::vector<std::string> read_seeds(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> seeds;
  for (const auto& path : paths) seeds.push_back(read_file(path));
  return seeds;
}

void guard() {
  // A stack that overflows needs another one to report on.
  static char stack[1 << 16];
  const stack_t other{.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
  sigaltstack(&other, nullptr);
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK;
  for (const int number : {SIGALRM, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL})
    sigaction(number, &action, nullptr);
#ifndef __SANITIZE_ADDRESS__
  // Sanitizers reserve more than this.
  const rlimit memory{kMemoryBytes, kMemoryBytes};
  setrlimit(RLIMIT_DATA, &memory);
#endif
}

int run(const fs::path& path, uint64_t mutations) {
  guard();
  const auto seeds = fs::is_directory(path) ? read_seeds(path) : std::vector{read_file(path)};
  if (seeds.empty()) {
    fprintf(stderr, "no seeds in %s\n", path.c_str());
    return 2;
  }
  for (const auto& seed : seeds)
    if (!try_one(seed)) return 1;
  Mutator mutator(seeds, mix_key(1, path.filename().string()));
  for (uint64_t i = 0; i < mutations; ++i)
    if (!try_one(mutator.next())) return 1;
  printf("%zu seeds and %llu mutations\n", seeds.size(), static_cast<unsigned long long>(mutations));
  return 0;
}

}  // namespace
}  // namespace bicrl::fuzz

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fprintf(stderr, "usage: %s SEEDS_FOLDER MUTATIONS | FILE\n", argv[0]);
    return 2;
  }
  return bicrl::fuzz::run(argv[1], argc == 3 ? std::strtoull(argv[2], nullptr, 10) : 0);
}
