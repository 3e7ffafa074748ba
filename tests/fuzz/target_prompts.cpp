// A file of plain prompts: a JSON list or JSON lines.
#include "tasks/prompt_set.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bicrl;
  std::vector<Prompt> prompts;
  if (!fuzz::accepts([&] { prompts = parse_prompts(fuzz::as_text(data, size), "fuzz.json"); })) return 0;
  BICRL_CHECK(!prompts.empty());
  for (const Prompt& prompt : prompts)
    BICRL_CHECK(!prompt.task_id.empty() && !prompt.text.empty(), prompt.task_id);
  return 0;
}
