#include "curation/entry_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "common/error.h"
#include "common/files/files.h"
#include "common/files/gzip.h"

namespace bicrl::curation {
namespace {

namespace fs = std::filesystem;

// The first character behind blanks and a byte order mark; '\0' if there is none.
char first_character(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw InputError(concat("cannot read ", file.string(), ": ", strerror(errno)));
  for (char c; in.get(c);)
    if (!strchr("\xEF\xBB\xBF \t\r\n", c)) return c;
  return '\0';
}

void read_lines(std::istream& in, const EntryTaker& taker) {
  size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    if (++number == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
    read_json_line(number, line, taker);
  }
}

std::string unpacked(const fs::path& file) try {
  return gunzip(read_file(file));
} catch (const InputError& error) {
  throw InputError(concat(file.string(), ": ", error.what()));
}

}  // namespace

bool is_table(const fs::path& file) {
  const std::string ending = file.extension().string();
  return ending == ".arrow" || ending == ".feather" || ending == ".parquet";
}

void read_entry_file(const fs::path& file, Services& services, const EntryTaker& taker) {
  if (is_table(file)) return services.tables().read(file, taker.take);
  if (file.extension() == ".gz") {  // JSON lines of a run: some megabytes
    std::istringstream lines(unpacked(file));
    return read_lines(lines, taker);
  }
  const char first = first_character(file);
  if (first == '{') {
    std::ifstream lines(file, std::ios::binary);
    return read_lines(lines, taker);
  }
  if (first != '[') throw InputError(concat(file.string(), ": is neither a JSON list nor JSON lines"));
  read_json_entries(read_file(file), file.string(), taker);
}

nlohmann::json without_empty_fields(nlohmann::json row) {
  if (row.is_object())
    for (auto field = row.begin(); field != row.end();)
      field = field->is_null() ? row.erase(field) : std::next(field);
  if (row.is_structured())
    for (nlohmann::json& part : row) part = without_empty_fields(std::move(part));
  return row;
}

}  // namespace bicrl::curation
