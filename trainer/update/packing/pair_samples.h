// Supervised samples of pairs, tokenised once for a whole run, and the order in which they are drawn: each
// file is gone through again and again, every time in another order, as often as its weight says. A function
// of the key and a sample's number alone, so that ranks agree and runs go on where they ended. Not
// thread-safe.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

#include "policy/policy_config.h"
#include "policy/tokenizer/tokenizer.h"
#include "trainer/inputs/pair_source.h"
#include "trainer/update/packing/sft.h"

namespace bicrl {

class PairSamples {
 public:
  PairSamples() = default;
  // Pairs with more tokens than the settings and the policy allow are left out. Throws InputError if a file
  // has none left.
  PairSamples(const std::vector<PairSet>& sets, const PairSettings& settings, const Tokenizer& tokenizer,
              const PolicyConfig& policy);

  bool empty() const { return files_.empty(); }
  int64_t size() const;  // of all files
  int64_t left_out() const { return left_out_; }
  // How often each pair of a file is drawn among as many samples as there are pairs: 1 with equal weights.
  struct FileRate {
    std::filesystem::path file;
    int64_t pairs = 0;
    double draws = 0;
  };
  std::vector<FileRate> rates() const;
  // Decides the orders and the noise. Of all samples that follow.
  void shuffle_by(uint64_t key);
  // The number-th sample of the phase, counted from 0. Cheap in the order of numbers.
  SftSample sample(int64_t number);

 private:
  struct File {
    std::filesystem::path path;
    std::vector<SftSample> samples{};
    double share = 0;               // of all draws
    int64_t drawn = 0;              // before next_
    int64_t round = -1;             // that `order` is of
    std::vector<uint32_t> order{};  // of the samples in this round
  };
  // The file with the largest arrears in its share.
  size_t next_file() const;

  uint64_t key_ = 0;
  int64_t left_out_ = 0;
  std::vector<File> files_;
  int64_t next_ = 0;  // number that the files' `drawn` is before
};

}  // namespace bicrl
