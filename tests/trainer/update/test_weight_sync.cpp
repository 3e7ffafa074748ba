// How generating ranks get the weights: the checksum against plain integers, faults on the way, and the same
// over MPI, where the hidden case [.weights] runs.
#include "trainer/update/weight_sync.h"

#include "tests/trainer/ranks/mpi_ranks.h"
#include "tests/trainer/ranks/thread_ranks.h"
// Torch before Catch2.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <mutex>
#include <set>

#include "common/error.h"
#include "common/rng.h"
#include "trainer/ranks/mpi/mpi_control_plane.h"
#include "trainer/ranks/mpi/mpi_tensor_plane.h"
#include "trainer/ranks/tensor_checksum.h"

using namespace bicrl;
using namespace bicrl::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

uint64_t split_mix(uint64_t n) {
  uint64_t z = (n + 1) * 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

uint64_t plain_checksum(const at::Tensor& values, uint64_t bucket) {
  const auto* words = static_cast<const uint32_t*>(values.const_data_ptr());
  uint64_t sum = 0;
  for (uint64_t p = 0; p < values.nbytes() / 4; ++p) sum += words[p] * (split_mix((bucket << 40) + p) | 1);
  return sum;
}

uint64_t checksum(const at::Tensor& values, int64_t bucket = 0) {
  return static_cast<uint64_t>(tensor_checksum(values, bucket).item<int64_t>());
}

uint32_t* words_of(const at::Tensor& values) { return static_cast<uint32_t*>(values.mutable_data_ptr()); }

// All bits are random, signs as well.
at::Tensor random_words(int64_t count, uint64_t key) {
  at::Tensor words = at::empty({count}, at::kInt);
  auto* out = words.mutable_data_ptr<int32_t>();
  RandomStream random(key);
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<int32_t>(random.next());
  return words;
}

// What happens to a bucket on its way to one rank.
using Fault = std::function<void(const at::Tensor& values, const std::string& what)>;

class FaultyTensors : public TensorPlane {
 public:
  FaultyTensors(TensorPlane& plane, Fault fault) : plane_(plane), fault_(std::move(fault)) {}
  int rank() const override { return plane_.rank(); }
  int size() const override { return plane_.size(); }
  Transfer all_reduce(at::Tensor tensor, const std::string& what) override {
    return plane_.all_reduce(std::move(tensor), what);
  }
  Transfer reduce_scatter(at::Tensor whole, at::Tensor mine, const std::string& what) override {
    return plane_.reduce_scatter(std::move(whole), std::move(mine), what);
  }
  Transfer all_gather(at::Tensor mine, at::Tensor whole, const std::string& what) override {
    return plane_.all_gather(std::move(mine), std::move(whole), what);
  }
  Transfer broadcast(at::Tensor tensor, int root, const std::string& what) override {
    plane_.broadcast(tensor, root, what).wait();
    fault_(tensor, what);
    return {};
  }

 private:
  TensorPlane& plane_;
  Fault fault_;
};

constexpr int kSyncRanks = 4, kHolders = 2;

struct Setup {
  Fault fault = [](const at::Tensor&, const std::string&) {};  // on the victim
  int victim = 3;
  std::function<void(ParameterStore&, int rank)> before = [](ParameterStore&, int) {};
  std::function<int64_t(int rank)> version = [](int) { return int64_t{7}; };
};

// The messages of all ranks, which have to be the same; the values of all are compared if there is none.
std::string message_of_sync(const Setup& setup) {
  std::mutex mutex;
  std::set<std::string> messages, checksums;
  on_ranks(kSyncRanks, [&](ControlPlane& control, TensorPlane& plane) {
    const int rank = control.rank();
    // The generators have other values, and the trainers are divided as they are when they train.
    Transformer policy = tiny_policy(tiny_config(4), rank < kHolders ? 1 : 100 + rank, at::kFloat);
    if (rank < kHolders) policy.store().divide({rank, kHolders});
    setup.before(policy.store(), rank);
    FaultyTensors tensors(
        plane, rank == setup.victim ? setup.fault : [](const at::Tensor&, const std::string&) {});
    WeightSync weights(policy.store(), control, tensors, kHolders);
    std::string message;
    try {
      weights.synchronise(setup.version(rank));
    } catch (const SharedError& error) {
      message = error.what();
    }
    const std::lock_guard lock(mutex);
    messages.insert(message);
    checksums.insert(policy.store().checksum());
  });
  REQUIRE(messages.size() == 1);
  if (messages.begin()->empty()) CHECK(checksums.size() == 1);
  return *messages.begin();
}

}  // namespace

TEST_CASE("a tensor's checksum is that of plain unsigned arithmetic, of any type and size") {
  for (const int64_t count : {int64_t{1}, int64_t{7}, int64_t{4096}, (int64_t{1} << 20) + 3}) {
    const at::Tensor words = random_words(count, static_cast<uint64_t>(count));
    for (const int64_t bucket : {int64_t{0}, int64_t{1}, int64_t{36}})
      CHECK(checksum(words, bucket) == plain_checksum(words, static_cast<uint64_t>(bucket)));
    CHECK(checksum(words.view(at::kFloat)) == checksum(words));
    CHECK(checksum(words.view(at::kBFloat16)) == checksum(words));
  }
  const at::Tensor wide = random_words(64, 5).view(at::kDouble);
  CHECK(checksum(wide) == plain_checksum(wide, 0));
  CHECK(checksum(at::zeros({32})) == 0);
  CHECK_THROWS_AS(checksum(at::zeros({3}, at::kBFloat16)), Error);
}

TEST_CASE("a checksum sees every flipped bit, exchanged elements and exchanged buckets") {
  const int64_t count = 300;
  const at::Tensor words = random_words(count, 11);
  const uint64_t right = checksum(words);
  std::set<uint64_t> seen = {right};
  for (const int64_t place : {int64_t{0}, int64_t{1}, int64_t{128}, count - 1})
    for (int bit = 0; bit < 32; ++bit) {
      const at::Tensor other = words.clone();
      words_of(other)[place] ^= uint32_t{1} << bit;
      seen.insert(checksum(other));
    }
  CHECK(seen.size() == 1 + 4 * 32);
  // Two signs at once, which a sum of odd multiples of whole 64-bit words does not see.
  for (int64_t first = 0; first < count - 1; ++first) {
    const at::Tensor signs = words.clone();
    for (const int64_t place : {first, count - 1}) words_of(signs)[place] ^= 0x80000000;
    CHECK(checksum(signs) != right);
    const at::Tensor swapped = words.clone();
    std::swap(words_of(swapped)[first], words_of(swapped)[first + 1]);
    CHECK(checksum(swapped) != right);
  }
  CHECK(checksum(words, 1) != right);
}

TEST_CASE("generating ranks get the trainers' weights, whatever they had and however those are divided") {
  CHECK(message_of_sync({}).empty());
}

TEST_CASE("weights that arrive otherwise than they were sent end the run on all ranks") {
  const auto at_bucket = [](const std::string& name, const std::function<void(const at::Tensor&)>& change) {
    return Setup{.fault = [=](const at::Tensor& values, const std::string& what) {
      if (what == "values of " + name) change(values);
    }};
  };
  const std::string flipped =
      message_of_sync(at_bucket("layer 1", [](const at::Tensor& values) { words_of(values)[5] ^= 1; }));
  CHECK_THAT(flipped, ContainsSubstring("rank 3: values of layer 1 are not rank 0's of version 7") &&
                          ContainsSubstring("their checksum is") && ContainsSubstring(", rank 0's "));
  Setup holder = at_bucket("layer 1", [](const at::Tensor& values) { words_of(values)[5] ^= 1; });
  holder.victim = 1;
  CHECK_THAT(message_of_sync(holder), ContainsSubstring("rank 1: values of layer 1 are not rank 0's"));
  const std::string swapped = message_of_sync(at_bucket("embedding", [](const at::Tensor& values) {
    uint32_t* words = words_of(values);
    BICRL_CHECK(words[0] != words[1]);
    std::swap(words[0], words[1]);
  }));
  CHECK_THAT(swapped, ContainsSubstring("rank 3: values of embedding"));
  // Layers have the same size: what one should have got, the other gets.
  at::Tensor kept;
  const std::string layers =
      message_of_sync({.fault = [&](const at::Tensor& values, const std::string& what) {
        if (what == "values of layer 0") kept = values;
        if (what != "values of layer 1") return;
        const at::Tensor other = kept.clone();
        kept.copy_(values);
        values.copy_(other);
      }});
  CHECK_THAT(layers, ContainsSubstring("rank 3: values of layer 0"));
}

TEST_CASE("ranks that are at different versions of a policy do not exchange its weights") {
  const auto old = [](int culprit) {
    return Setup{.version = [culprit](int rank) { return int64_t{rank == culprit ? 6 : 7}; }};
  };
  CHECK_THAT(
      message_of_sync(old(3)),
      ContainsSubstring("rank 3 is at version 6 of the policy, and rank 0 has the weights of version 7"));
  CHECK_THAT(message_of_sync(old(1)), ContainsSubstring("rank 1 is at version 6"));
  CHECK_THAT(message_of_sync(old(0)), ContainsSubstring("rank 1 is at version 7") &&
                                          ContainsSubstring("rank 0 has the weights of version 6"));
}

TEST_CASE("trainers whose weights have parted are found before one of them sends") {
  const std::string message = message_of_sync({.before = [](ParameterStore& store, int rank) {
    if (rank == 1) store.group_values(1).narrow(0, 3, 1).add_(1);
  }});
  CHECK_THAT(message, ContainsSubstring("rank 1: values of layer 0 are not rank 0's of version 7"));
}

TEST_CASE("a rank of the weights' test under mpirun", "[.weights]") {
  const MpiSession session;
  MpiControlPlane control(session);
  const int trainers = control.size() / 2;
  const bool trains = control.rank() < trainers;
  {
    MpiTensorPlane tensors(session);
    Transformer policy = tiny_policy(tiny_config(4), trains ? 1 : 100 + control.rank(),
                                     control.size() == 2 ? at::kBFloat16 : at::kFloat);
    WeightSync weights(policy.store(), control, tensors, trainers);
    weights.synchronise(3);
    CHECK(weights.bytes() > 0);
    const auto checksums = control.all_gather(policy.store().checksum());
    CHECK(std::set<std::string>(checksums.begin(), checksums.end()).size() == 1);
  }
  // Planes over a part of the ranks, beside those of all and while the others do something else.
  if (trains) {
    MpiControlPlane part(session, trainers);
    MpiTensorPlane tensors(session, trainers);
    CHECK(part.rank() == control.rank());
    CHECK(part.size() == trainers);
    CHECK(tensors.size() == trainers);
    std::vector<double> sum = {1};
    part.all_reduce(sum, Reduction::kSum);
    CHECK(sum[0] == trainers);
    at::Tensor x = at::full({64}, 1.0 + part.rank());
    tensors.all_reduce(x, "x").wait();
    CHECK(x[0].item<double>() == trainers * (trainers + 1) / 2.0);
  }
  control.barrier();
}

TEST_CASE("weights reach generating ranks over MPI, and trainers have planes of their own") {
  for (const int ranks : {2, 4}) {
    const RanksEnd end = run_on_mpi_ranks(ranks, "[.weights]");
    INFO(end.command << "\n" << end.output);
    CHECK(end.status == 0);
  }
}
