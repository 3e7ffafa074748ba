// Catch2's assertions belong to one thread: two at a time end a test program once in some hundred runs, with
// an assertion of Catch2's own. Here every assertion of another thread than the test's ends it, every time.
// (INFO and CAPTURE of other threads are as wrong, and are not seen here.)
#include <catch2/catch_test_case_info.hpp>
#include <catch2/interfaces/catch_interfaces_reporter.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace bicrl::testing {
namespace {

class OneThread : public Catch::EventListenerBase {
 public:
  using EventListenerBase::EventListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo&) override { test_ = std::this_thread::get_id(); }

  void assertionStarting(const Catch::AssertionInfo& assertion) override {
    if (std::this_thread::get_id() == test_) return;
    std::fprintf(stderr, "%s:%zu: an assertion outside the test's own thread\n", assertion.lineInfo.file,
                 assertion.lineInfo.line);
    std::abort();
  }

 private:
  std::thread::id test_;
};

CATCH_REGISTER_LISTENER(OneThread)

}  // namespace
}  // namespace bicrl::testing
