#include "curation/code/operator_catalogue.h"

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "common/error.h"
#include "common/files/files.h"

namespace bicrl::curation {
namespace {

constexpr size_t kColumns = 4;

std::vector<std::string> columns_of(const std::string& line) {
  std::vector<std::string> columns;
  for (size_t begin = 0; begin <= line.size();) {
    const size_t end = std::min(line.find('|', begin), line.size());
    const size_t first = line.find_first_not_of(' ', begin);
    const size_t last = line.find_last_not_of(' ', end == 0 ? 0 : end - 1);
    columns.push_back(first < end && last != line.npos && last >= first ? line.substr(first, last - first + 1)
                                                                        : "");
    begin = end + 1;
  }
  return columns;
}

bool is_ranks(const std::string& text) {
  const auto digit = [&](size_t i) { return text[i] >= '1' && text[i] <= '5'; };
  return (text.size() == 1 && digit(0)) || (text.size() == 3 && digit(0) && text[1] == '-' && digit(2));
}

}  // namespace

std::vector<CatalogueOperator> read_catalogue(const std::filesystem::path& file) {
  std::istringstream lines(read_file(file));
  std::vector<CatalogueOperator> rows;
  std::set<std::string> names;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty() || line.front() == '#') continue;
    std::vector<std::string> columns = columns_of(line);
    const auto refuse = [&](const std::string& why) {
      throw InputError(concat(file.string(), ":", number, ": ", why));
    };
    if (columns.size() < 2 || columns.size() > kColumns)
      refuse("needs a name and ranks, and at most four columns");
    columns.resize(kColumns);
    if (columns[0].find('.') == std::string::npos) refuse("the name begins with its module, as in torch.abs");
    if (!is_ranks(columns[1])) refuse(concat("'", columns[1], "' are no ranks from 1 to 5"));
    if (!names.insert(columns[0]).second) refuse(concat("'", columns[0], "' is there already"));
    rows.push_back({columns[0], columns[1], columns[2], columns[3]});
  }
  if (rows.empty()) throw InputError(concat(file.string(), ": names no operator"));
  return rows;
}

nlohmann::json to_json(const CatalogueOperator& row) {
  return {{"name", row.name}, {"ranks", row.ranks}, {"arguments", row.arguments}, {"call", row.call}};
}

}  // namespace bicrl::curation
