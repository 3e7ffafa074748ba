// A world for pipelines whose questions about code real boxes answer.
#pragma once
#include "curation/code/box_code_reader.h"
#include "tests/curation/fake_services.h"

namespace bicrl::curation {

struct BoxServices : FakeServices {
  BoxCodeReader boxes{BoxOptions{}};
  CodeReader& code_reader() override { return boxes; }
};

}  // namespace bicrl::curation
