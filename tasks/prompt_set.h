// Files of plain prompts, a JSON list or JSON lines. An entry has either
//   prompt     text that the response continues, as it is
//   messages   a conversation, a list of {role: system | user | assistant, content: text} that ends with a
//              user's turn: the response is the next one
// and an `id` (an integer or a text, unique in the file; the entry's number if there is none). Other fields
// are ignored.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/prompt.h"

namespace bicrl {

// Prompt::task_id is the entry's id; answer_end tells prompts of the two kinds apart, as turns alone end.
// Throws InputError that names every broken entry (the first ten of them in full), or that there is none.
std::vector<Prompt> load_prompts(const std::filesystem::path& path);
std::vector<Prompt> parse_prompts(std::string_view text, const std::string& file);

// Of all that the prompts say, in their order.
std::string hash_of(const std::vector<Prompt>& prompts);

}  // namespace bicrl
