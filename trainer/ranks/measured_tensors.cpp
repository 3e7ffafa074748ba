#include "trainer/ranks/measured_tensors.h"

#include <ATen/ATen.h>

#include "common/clock.h"

namespace bicrl {

CollectiveFigures& CollectiveFigures::operator+=(const CollectiveFigures& other) {
  calls += other.calls;
  bytes += other.bytes;
  waited_s += other.waited_s;
  under_way_s += other.under_way_s;
  return *this;
}

class MeasuredTensors::Measured : public Transfer::State {
 public:
  Measured(Transfer transfer, std::string kind, const Stopwatch& begun,
           std::shared_ptr<CollectiveAccount> account)
      : transfer_(std::move(transfer)), kind_(std::move(kind)), begun_(begun), account_(std::move(account)) {}

  void wait() override {
    const Stopwatch waiting;
    transfer_.wait();
    CollectiveFigures& figures = (*account_)[kind_];
    figures.waited_s += waiting.seconds();
    figures.under_way_s += begun_.seconds();
  }

 private:
  Transfer transfer_;
  const std::string kind_;
  const Stopwatch begun_;
  const std::shared_ptr<CollectiveAccount> account_;
};

template <class Start>
Transfer MeasuredTensors::measure(const char* kind, const at::Tensor& whole, Start&& start) {
  if (size() == 1) return start();
  const Stopwatch begun;
  CollectiveFigures& figures = (*account_)[kind];
  ++figures.calls;
  figures.bytes += static_cast<int64_t>(whole.nbytes());
  return Transfer(std::make_shared<Measured>(start(), kind, begun, account_));
}

CollectiveAccount MeasuredTensors::take() { return std::exchange(*account_, {}); }

Transfer MeasuredTensors::all_reduce(at::Tensor tensor, const std::string& what) {
  return measure("all_reduce", tensor, [&] { return plane_.all_reduce(tensor, what); });
}

Transfer MeasuredTensors::reduce_scatter(at::Tensor whole, at::Tensor mine, const std::string& what) {
  return measure("reduce_scatter", whole, [&] { return plane_.reduce_scatter(whole, mine, what); });
}

Transfer MeasuredTensors::all_gather(at::Tensor mine, at::Tensor whole, const std::string& what) {
  return measure("all_gather", whole, [&] { return plane_.all_gather(mine, whole, what); });
}

Transfer MeasuredTensors::broadcast(at::Tensor tensor, int root, const std::string& what) {
  return measure("broadcast", tensor, [&] { return plane_.broadcast(tensor, root, what); });
}

}  // namespace bicrl
