// What the tests of the verifier service share.
#pragma once
#include <string>

#include "sandbox/box/box_host.h"
#include "sandbox/pipeline.h"

namespace bicrl::testing {

// The box host of this test program. Skips the running test, with the reason, where no boxes can be made.
BoxHost& box_host();

// A pipeline with limits of seconds, made once. Skips like box_host().
Pipeline& pipeline();

// A candidate of the hack corpus (tests/sandbox/candidates/NAME.py) as a request for its task.
struct CorpusEntry {
  std::string name;
  std::string classes;  // fault classes that it may end in, separated by '|'; "correct" for an honest one
  VerificationRequest request;
  bool expects(const std::string& fault_class) const;
};
CorpusEntry corpus_entry(const std::string& name);
std::vector<std::string> corpus_names();

}  // namespace bicrl::testing
