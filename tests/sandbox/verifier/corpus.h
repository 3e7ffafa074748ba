// Candidate programs in files: FOLDER/NAME.py, which name their task (FOLDER/tasks/TASK.py) and what they may
// end in, in comments on top. Their texts are those that tests/corpora/expand.py makes of the files.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "sandbox/verifier/pipeline.h"
#include "verdict/verification_request.h"

namespace bicrl::testing {

struct CorpusEntry {
  std::string name;
  std::string classes;  // fault classes that it may end in, separated by '|'; "correct" for an honest one
  VerificationRequest request;
  bool expects(const std::string& fault_class) const;  // "correct" if there is none
  bool endless() const { return expects("timeout"); }
};

// `folder`: below tests/, "hacks" or "honest" or "sandbox/candidates". Not thread-safe: the first call for a
// folder reads all of it.
CorpusEntry corpus_entry(const std::string& folder, const std::string& name);
std::vector<CorpusEntry> corpus(const std::string& folder);  // by name

// Calls visit(number of the entry, the pipeline for it), so many entries at a time.
void for_each_entry(const std::vector<CorpusEntry>& entries, int at_a_time,
                    const std::function<void(size_t, Pipeline&)>& visit);

}  // namespace bicrl::testing
