// Tiny tensors gain nothing from threads, and spinning threads on a busy machine cost minutes.
#include <ATen/Parallel.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>

namespace {

class OneThread : public Catch::EventListenerBase {
 public:
  using EventListenerBase::EventListenerBase;
  void testRunStarting(const Catch::TestRunInfo&) override { at::set_num_threads(1); }
};

}  // namespace

CATCH_REGISTER_LISTENER(OneThread)
