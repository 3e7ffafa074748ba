#include "curation/ledger.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/json.h"

namespace bicrl::curation {
namespace {

constexpr size_t kReadBytes = 1 << 20;

std::string name_of(std::string_view kind, const std::string& key) { return concat(kind, ' ', key); }

}  // namespace

Ledger::Ledger(const std::filesystem::path& file) : path_(file) {
  file_ = UniqueFd(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file_) throw Error(concat("cannot write ", file.string(), ": ", strerror(errno)));
  if (flock(file_.get(), LOCK_EX | LOCK_NB) != 0)
    throw InputError(concat(file.string(), " is in use: another process runs this pipeline"));
  log_ = std::make_unique<LineLog>(file, read_places());
}

Ledger::~Ledger() = default;

// In pieces, as the file may be larger than memory. Returns the bytes of its whole lines.
int64_t Ledger::read_places() {
  std::string rest;
  std::string piece(kReadBytes, '\0');
  int64_t line_begin = 0, number = 0;
  for (int64_t at = 0;;) {
    const ssize_t got = pread(file_.get(), piece.data(), piece.size(), at);
    if (got < 0) throw Error(concat("cannot read ", path_.string(), ": ", strerror(errno)));
    if (got == 0) break;
    at += got;
    rest.append(piece, 0, static_cast<size_t>(got));
    size_t begin = 0;
    for (size_t end; (end = rest.find('\n', begin)) != rest.npos; begin = end + 1) {
      ++number;
      const auto bytes = static_cast<int64_t>(end - begin);
      const auto entry = try_parse_json(std::string_view(rest).substr(begin, end - begin));
      if (!entry || !entry.value().is_object() || !entry.value().contains("value"))
        throw InputError(concat(path_.string(), ":", number, ": is no entry of a ledger"));
      places_.emplace(name_of(entry.value().value("kind", ""), entry.value().value("key", "")),
                      Place{line_begin, bytes});
      line_begin += bytes + 1;
    }
    rest.erase(0, begin);
  }
  return line_begin;
}

std::optional<nlohmann::json> Ledger::find(std::string_view kind, const std::string& key) const {
  const auto found = places_.find(name_of(kind, key));
  if (found == places_.end()) return std::nullopt;
  std::string line(static_cast<size_t>(found->second.bytes), '\0');
  for (size_t done = 0; done < line.size();) {
    const ssize_t got = pread(file_.get(), line.data() + done, line.size() - done,
                              found->second.begin + static_cast<int64_t>(done));
    if (got <= 0) throw Error(concat("cannot read ", path_.string(), " again: ", strerror(errno)));
    done += static_cast<size_t>(got);
  }
  return parse_json(line, path_.string())["value"];
}

void Ledger::keep(std::string_view kind, const std::string& key, const nlohmann::json& value) {
  const std::string name = name_of(kind, key);
  if (places_.contains(name)) return;
  const nlohmann::ordered_json entry = {{"kind", kind}, {"key", key}, {"value", value}};
  const std::string line = entry.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  const int64_t begin = log_->size_bytes();
  log_->append(line);
  places_.emplace(name, Place{begin, static_cast<int64_t>(line.size())});
}

void Ledger::sync() { log_->sync(); }

}  // namespace bicrl::curation
