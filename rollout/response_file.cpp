#include "rollout/response_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <utility>

#include "common/config/config_diff.h"
#include "common/error.h"
#include "common/files/atomic_file.h"
#include "common/files/files.h"
#include "common/json.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr const char* kSampleKey = "sample";

fs::path origin_path(const fs::path& file) { return file.string() + ".origin.yaml"; }

// Whether the name still leads to the file that is open.
bool same_file(int open_file, const fs::path& path) {
  struct stat ours {
  }, named{};
  return fstat(open_file, &ours) == 0 && stat(path.c_str(), &named) == 0 && ours.st_ino == named.st_ino &&
         ours.st_dev == named.st_dev;
}

}  // namespace

ResponseFile::ResponseFile(const fs::path& path, std::string id_key, std::vector<ResponseName> asked,
                           const ResponseOrigin& origin)
    : path_(path), id_key_(std::move(id_key)), asked_(std::move(asked)), places_(asked_.size()) {
  if (is_stream(path_)) {
    stream_ = std::make_unique<OutputStream>(path_);
    return;
  }
  take_lock();
  try {
    adopt(origin);
    log_ = std::make_unique<LineLog>(path_, /*keep_bytes=*/-1);
    read_lines();
  } catch (...) {
    close(lock_);
    throw;
  }
}

ResponseFile::~ResponseFile() {
  if (lock_ >= 0) close(lock_);
}

// The file itself is locked: there is nothing that a killed process could leave behind.
void ResponseFile::take_lock() {
  do {
    if (lock_ >= 0) close(lock_);
    lock_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (lock_ < 0) throw Error(concat("cannot write ", path_.string(), ": ", strerror(errno)));
    if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
      close(lock_);
      throw InputError(concat(path_.string(), " is being written by another process"));
    }
  } while (!same_file(lock_, path_));  // whoever had it has put another file in its place
}

void ResponseFile::adopt(const ResponseOrigin& origin) {
  const fs::path beside = origin_path(path_);
  const bool empty = fs::file_size(path_) == 0;  // nothing that another origin could spoil
  if (!empty && !fs::exists(beside))
    throw InputError(concat(path_.string(), " exists, and there is no ", beside.filename().string(),
                            " that says what it was made of: remove it, or name another output"));
  if (!empty) {
    std::string differences;
    for (const ConfigChange& change : config_changes(read_file(beside), origin.yaml, origin.free_keys))
      differences += concat("\n  ", change.key, ": ", change.before, " -> ", change.after);
    if (!differences.empty())
      throw InputError(concat(path_.string(), " holds responses that were made otherwise:", differences,
                              "\nremove it, or name another output"));
  }
  write_file_atomically(beside, origin.yaml);
}

void ResponseFile::read_lines() {
  std::map<std::pair<std::string, int64_t>, size_t> index_of;
  for (size_t i = 0; i < asked_.size(); ++i) index_of[{asked_[i].id, asked_[i].sample}] = i;
  std::ifstream file(path_, std::ios::binary);
  int64_t begin = 0, number = 0;
  for (std::string line; std::getline(file, line); begin += static_cast<int64_t>(line.size()) + 1) {
    const auto where = concat(path_.string(), ":", ++number, ": ");
    const auto entry = try_parse_json(line);
    const auto* named = entry.ok() && entry.value().is_object() ? &entry.value() : nullptr;
    if (!named || !named->value(id_key_, nlohmann::json()).is_string() ||
        !named->value(kSampleKey, nlohmann::json()).is_number_integer())
      throw InputError(concat(where, "is no response; remove the line"));
    const auto id = named->at(id_key_).get<std::string>();
    const auto sample = named->at(kSampleKey).get<int64_t>();
    const auto found = index_of.find({id, sample});
    if (found == index_of.end())
      throw InputError(concat(where, "holds sample ", sample, " of ", id, ", which is not asked for"));
    if (has(found->second)) throw InputError(concat(where, "holds sample ", sample, " of ", id, " again"));
    places_[found->second] = {begin, static_cast<int64_t>(line.size()) + 1};
    ++count_;
  }
  if (begin != log_->size_bytes()) throw Error(concat("cannot read ", path_.string()));
}

void ResponseFile::add(size_t index, const nlohmann::ordered_json& entry) {
  BICRL_CHECK(!has(index), "response ", index, " is there");
  nlohmann::ordered_json line = {{id_key_, asked_[index].id}, {kSampleKey, asked_[index].sample}};
  line.update(entry);
  const std::string text = line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  const int64_t begin = log_ ? log_->size_bytes() : 0;
  if (stream_)
    stream_->write(text + "\n");
  else
    log_->append(text);
  places_[index] = {begin, std::ssize(text) + 1};
  ++count_;
}

void ResponseFile::sync() {
  if (log_) log_->sync();
}

void ResponseFile::finish() {
  BICRL_CHECK(count_ == asked_.size(), count_, " of ", asked_.size(), " responses");
  if (stream_) return;
  int64_t end = 0;
  bool in_order = true;
  for (const Place& place : places_) {
    in_order = in_order && place.begin == end;
    end = place.begin + place.bytes;
  }
  if (in_order) return sync();
  std::ifstream file(path_, std::ios::binary);
  AtomicFile ordered(follow_links(path_));
  for (const Place& place : places_) {
    std::string line(static_cast<size_t>(place.bytes), '\0');
    if (!file.seekg(place.begin).read(line.data(), place.bytes))
      throw Error(concat("cannot read ", path_.string()));
    ordered.write(line);
  }
  ordered.commit();
  sync_path(fs::absolute(follow_links(path_)).parent_path(), system_files());
}

}  // namespace bicrl
