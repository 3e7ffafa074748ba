// Files of entries in whatever container: a JSON list, JSON lines, an Arrow stream or file, Parquet.
#pragma once
#include <filesystem>

#include "common/json_entries.h"
#include "curation/services.h"

namespace bicrl::curation {

// By the name's ending: .arrow, .feather and .parquet.
bool is_table(const std::filesystem::path& file);

// Each entry of the file, with its number. JSON lines are read one by one. Throws InputError if the file as a
// whole is none; broken lines go to `taker.broken`.
void read_entry_file(const std::filesystem::path& file, Services& services, const EntryTaker& taker);

// A table's row without its empty fields, nested ones as well: in a table each row has every column, and the
// entry that was written had some of them alone. Objects in lists keep their places.
nlohmann::json without_empty_fields(nlohmann::json row);

}  // namespace bicrl::curation
