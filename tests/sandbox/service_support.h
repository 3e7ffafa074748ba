// What the tests of the verifier service share.
#pragma once
#include <string>

#include "sandbox/box/box_host.h"
#include "sandbox/pipeline.h"

namespace bicrl::testing {

// The box host of this test program. Skips the running test, with the reason, if no boxes can be made.
BoxHost& box_host();

// A pipeline made once, whose limits of time are far beyond what any program of these tests needs, however
// busy the machine is: what goes wrong in it has another cause. Skips like box_host().
Pipeline& pipeline();

// The same with limits of seconds, for programs that have no end. On a busy machine others meet them, too.
Pipeline& impatient_pipeline();

// A candidate of the hack corpus (tests/sandbox/candidates/NAME.py) as a request for its task.
struct CorpusEntry {
  std::string name;
  std::string classes;  // fault classes that it may end in, separated by '|'; "correct" for an honest one
  VerificationRequest request;
  bool expects(const std::string& fault_class) const;
  bool endless() const { return classes == "timeout"; }
};
CorpusEntry corpus_entry(const std::string& name);
std::vector<std::string> corpus_names();

}  // namespace bicrl::testing
