// Files of entries: a JSON list, or JSON lines. Pure functions.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace bicrl {

// What is done with each entry. Entries count from 1; in JSON lines the entry's number is its line.
struct EntryTaker {
  std::function<void(size_t number, const nlohmann::json& entry)> take;
  std::function<void(size_t number, const std::string& reason)> broken;  // a line that is not JSON
};

// Tells the two forms apart by their first character, after a byte order mark and blanks. Throws InputError,
// with `file` in front, if the text is neither, or a list that is not JSON; a text of blanks has no entry.
void read_json_entries(std::string_view text, const std::string& file, const EntryTaker& taker);

// One line of JSON lines, for whoever reads a file line by line. A line of blanks is no entry.
void read_json_line(size_t number, std::string_view line, const EntryTaker& taker);

// One message of the messages about a file's entries: the first ten, and how many more there are.
std::string joined_entry_errors(const std::vector<std::string>& messages);

}  // namespace bicrl
