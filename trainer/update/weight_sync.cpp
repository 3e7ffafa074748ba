#include "trainer/update/weight_sync.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cstdio>
#include <deque>

#include "common/error.h"
#include "trainer/ranks/entered_operations.h"

namespace bicrl {
namespace {

// Buckets on their way at a time: the next one travels while the one before is waited for. A plane that
// stages has so many in host memory.
constexpr size_t kUnderWay = 2;

std::string hex(int64_t sum) {
  char text[20];
  snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(sum));
  return text;
}

}  // namespace

WeightSync::WeightSync(ParameterStore& store, ControlPlane& control, TensorPlane& tensors, int holders)
    : store_(store), control_(control), tensors_(tensors), holders_(holders) {
  BICRL_CHECK(holders > 0 && holders <= control.size(), holders, " of ", control.size(), " ranks");
}

void WeightSync::synchronise(int64_t version) {
  const at::NoGradGuard guard;
  std::vector<int64_t> mine = {version};
  if (holds()) {
    const std::vector<int64_t> own = sums();
    mine.insert(mine.end(), own.begin(), own.end());
  }
  // Every rank sees all records, and throws the same.
  std::vector<std::vector<int64_t>> records = all_gather_lists(control_, mine);
  const int64_t sent = records.front().front();
  for (size_t rank = 1; rank < records.size(); ++rank)
    if (records[rank].front() != sent)
      throw SharedError(concat("rank ", rank, " is at version ", records[rank].front(),
                               " of the policy, and rank 0 has the weights of version ", sent));
  for (auto& record : records) record.erase(record.begin());
  const std::vector<int64_t>& expected = records.front();
  std::vector<std::string> errors(records.size());
  for (size_t rank = 1; rank < static_cast<size_t>(holders_); ++rank)
    errors[rank] = error_of([&] { compare(records[rank], expected, version); });
  throw_first_error(errors);
  transfer();
  on_all_ranks(control_, [&] {
    // Those who hold the values have received them as well.
    if (control_.rank() != 0) compare(sums(), expected, version);
  });
}

void WeightSync::transfer() {
  bytes_ = 0;
  std::deque<Transfer> under_way;
  for (int64_t b = 0; b < bucket_count(); ++b) {
    if (under_way.size() == kUnderWay) {
      under_way.front().wait();
      under_way.pop_front();
    }
    const at::Tensor values = bucket(b);
    bytes_ += static_cast<int64_t>(values.nbytes());
    under_way.push_back(tensors_.broadcast(values, 0, name_of(b)));
  }
  for (Transfer& transfer : under_way) transfer.wait();
  compare_entered(tensors_, control_);
}

at::Tensor WeightSync::bucket(int64_t index) const {
  return store_.group_values(index).narrow(0, 0, store_.layout().group(index).size);
}

std::string WeightSync::name_of(int64_t index) const {
  return "values of " + store_.layout().group(index).name;
}

std::vector<int64_t> WeightSync::sums() const {
  std::vector<at::Tensor> sums;
  for (int64_t b = 0; b < bucket_count(); ++b) sums.push_back(tensors_.checksum(bucket(b), b));
  const at::Tensor all = at::stack(sums).to(at::kCPU);
  const int64_t* values = all.const_data_ptr<int64_t>();
  return {values, values + all.numel()};
}

void WeightSync::compare(const std::vector<int64_t>& found, const std::vector<int64_t>& expected,
                         int64_t version) const {
  BICRL_CHECK(found.size() == expected.size(), found.size(), " buckets, rank 0 has ", expected.size());
  for (size_t b = 0; b < found.size(); ++b)
    if (found[b] != expected[b])
      throw Error(concat(name_of(static_cast<int64_t>(b)), " are not rank 0's of version ", version,
                         " of the policy: their checksum is ", hex(found[b]), ", rank 0's ",
                         hex(expected[b])));
}

}  // namespace bicrl
