// Arrow and Parquet tables by Arrow's own library, in a Python process (curation/runtimes/convert_table.py).
#pragma once
#include <string>

#include "curation/services.h"

namespace bicrl::curation {

// Starts a process for each table.
class TableProcess : public TableConverter {
 public:
  // `python`: interpreter; empty: the program's own.
  explicit TableProcess(std::string python) : python_(std::move(python)) {}
  void read(const std::filesystem::path& table,
            const std::function<void(size_t number, const nlohmann::json& row)>& take) override;
  void write(const std::filesystem::path& lines, const std::filesystem::path& table) override;

 private:
  void run(const std::string& what, const std::vector<std::filesystem::path>& files,
           const std::function<void(const nlohmann::json& row)>& take);
  std::string python_;
};

}  // namespace bicrl::curation
