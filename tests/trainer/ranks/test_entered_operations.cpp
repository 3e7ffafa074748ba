// What ranks have entered, compared by its hash.
#include "tests/trainer/ranks/thread_ranks.h"
// Torch before Catch2.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/error.h"

using namespace bicrl;
using namespace bicrl::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

EnteredOperations after(const std::string& operation, const std::string& what, const at::Tensor& like) {
  EnteredOperations entered;
  entered.enter("all-reduce", "x", at::ones({2}));
  entered.enter(operation, what, like);
  return entered;
}

// The messages of all ranks, by rank; empty where nothing was thrown.
std::vector<std::string> messages_of(const std::function<void(ControlPlane&, TensorPlane&)>& work) {
  std::vector<std::string> messages(3);
  on_ranks(3, [&](ControlPlane& control, TensorPlane& tensors) {
    try {
      work(control, tensors);
      compare_entered(tensors, control);
    } catch (const Error& error) {
      messages[static_cast<size_t>(control.rank())] = error.what();
    }
  });
  return messages;
}

}  // namespace

TEST_CASE("a digest covers operation, buffer, size, type and order") {
  const at::Tensor like = at::ones({8});
  const std::string same = after("all-gather", "values", like).digest();
  CHECK(after("all-gather", "values", like).digest() == same);
  CHECK(after("all-reduce", "values", like).digest() != same);
  CHECK(after("all-gather", "gradient", like).digest() != same);
  CHECK(after("all-gather", "values", at::ones({9})).digest() != same);
  CHECK(after("all-gather", "values", like.to(at::kDouble)).digest() != same);
  EnteredOperations other_order;
  other_order.enter("all-gather", "values", like);
  other_order.enter("all-reduce", "x", at::ones({2}));
  CHECK(other_order.digest() != same);
  CHECK(after("all-gather", "values", like).text(1) == "all-gather of values (8 elements of Float)");
}

TEST_CASE("the first operation in which two ranks differ is named, as long as both know it") {
  EnteredOperations a, b;
  const at::Tensor like = at::ones({8});
  const auto both = [&](int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      for (EnteredOperations* each : {&a, &b}) each->enter("all-reduce", concat("x ", i), like);
  };
  both(300);
  CHECK(difference(0, a, 1, b).empty());
  a.enter("all-gather", "values of layer 1", like);
  CHECK(difference(0, a, 1, b).empty());  // the other may still come
  b.enter("all-reduce", "gradient of layer 1", like);
  both(100);
  const EnteredOperations sent = EnteredOperations::from_bytes(b.to_bytes());
  CHECK(sent.digest() == b.digest());
  CHECK(difference(0, a, 1, sent) ==
        "rank 0 is in all-gather of values of layer 1 (8 elements of Float), and rank 1 in all-reduce of "
        "gradient of layer 1 (8 elements of Float)");
  both(EnteredOperations::kRecent);
  CHECK_THAT(difference(1, b, 0, a), ContainsSubstring("rank 1 is in all-reduce of x 0"));
}

TEST_CASE("ranks compare what they have entered by one exchange") {
  at::Tensor like = at::ones({6});
  const auto work = [&](ControlPlane& control, TensorPlane& tensors) {
    at::Tensor x = at::ones({6});
    for (int i = 0; i < 300; ++i) tensors.all_reduce(x, concat("x ", i)).wait();
    compare_entered(tensors, control);
  };
  CHECK(on_ranks(3, work) == 1);
  CHECK(messages_of(work) == std::vector<std::string>(3));
}

TEST_CASE("ranks that entered other buffers or roots all throw, and name both operations") {
  const std::vector<std::string> buffers = messages_of([](ControlPlane& control, TensorPlane& tensors) {
    at::Tensor x = at::ones({6});
    tensors.all_reduce(x, control.rank() == 2 ? "gradient of layer 2" : "gradient of layer 1").wait();
    tensors.all_reduce(x, "gradient of layer 0").wait();
  });
  for (const size_t rank : {0, 1})
    CHECK_THAT(buffers[rank],
               ContainsSubstring(concat("rank ", rank, " is in all-reduce of gradient of layer 1 (")) &&
                   ContainsSubstring("rank 2 in all-reduce of gradient of layer 2 ("));
  CHECK_THAT(buffers[2], ContainsSubstring("rank 2 is in all-reduce of gradient of layer 2") &&
                             ContainsSubstring("rank 0 in all-reduce of gradient of layer 1"));
  const std::vector<std::string> roots = messages_of([](ControlPlane& control, TensorPlane& tensors) {
    tensors.broadcast(at::ones({6}), control.rank() == 1 ? 1 : 0, "values").wait();
  });
  for (const std::string& message : roots)
    CHECK_THAT(message,
               ContainsSubstring("broadcast from rank 0") && ContainsSubstring("broadcast from rank 1"));
}
