#include <ATen/ATen.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "common/error.h"
#include "common/files.h"
#include "policy/json_reader.h"
#include "policy/safetensors.h"
#include "policy/safetensors_format.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr uint64_t kPrefixBytes = 8;
// The format's own bound.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;

struct Entry {
  at::ScalarType type;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;  // bytes from the start of the data
};

class Mapping {
 public:
  explicit Mapping(const fs::path& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) throw InputError(concat("cannot read ", path.string(), ": ", strerror(errno)));
    struct stat status {};
    const bool regular = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    void* address = MAP_FAILED;
    if (regular && status.st_size > 0)
      address = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    const int code = errno;
    close(fd);
    if (!regular) throw InputError(concat("cannot read ", path.string(), ": not a regular file"));
    if (status.st_size == 0) throw InputError(concat(path.string(), ": the file is empty"));
    if (address == MAP_FAILED) throw InputError(concat("cannot map ", path.string(), ": ", strerror(code)));
    data_ = static_cast<const char*>(address);
    size_ = static_cast<uint64_t>(status.st_size);
  }
  ~Mapping() { munmap(const_cast<char*>(data_), size_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  const char* data() const { return data_; }
  uint64_t size() const { return size_; }

 private:
  const char* data_ = nullptr;
  uint64_t size_ = 0;
};

// A key that occurs twice would hide one of two tensors.
nlohmann::json parse_header(std::string_view text, const std::string& name) {
  std::vector<std::set<std::string>> open_objects;
  const auto watch = [&](int, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    if (event == nlohmann::json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == nlohmann::json::parse_event_t::object_end) open_objects.pop_back();
    if (event == nlohmann::json::parse_event_t::key &&
        !open_objects.back().insert(value.get<std::string>()).second)
      throw InputError(concat(name, ": header: ", value.get<std::string>(), " occurs twice"));
    return true;
  };
  try {
    return nlohmann::json::parse(text, watch);
  } catch (const nlohmann::json::exception& error) {
    throw InputError(concat(name, ": header is not valid JSON: ", error.what()));
  }
}

// Bytes of a tensor; throws where the product does not fit. Empty extents count as 1 in that check, as
// strides do.
uint64_t checked_bytes(const JsonReader& json, const Entry& entry) {
  uint64_t bytes = at::elementSize(entry.type);
  bool empty = false;
  for (const int64_t extent : entry.shape) {
    empty |= extent == 0;
    const uint64_t factor = extent == 0 ? 1 : static_cast<uint64_t>(extent);
    if (__builtin_mul_overflow(bytes, factor, &bytes) || bytes > INT64_MAX)
      json.reject("shape", "more bytes than a tensor can have");
  }
  return empty ? 0 : bytes;
}

Entry parse_entry(const JsonReader& json) {
  Entry entry;
  const auto type = safetensors_type(json.text("dtype"));
  if (!type) json.reject("dtype", "unknown element type");
  entry.type = *type;
  for (const auto& extent : json.list("shape")) {
    if (!extent.is_number_unsigned() || extent.get<uint64_t>() > INT64_MAX)
      json.reject("shape", "expected sizes of at least 0");
    entry.shape.push_back(extent.get<int64_t>());
  }
  const auto& offsets = json.list("data_offsets");
  if (offsets.size() != 2 || !offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned())
    json.reject("data_offsets", "expected [begin, end]");
  entry.begin = offsets[0].get<uint64_t>();
  entry.end = offsets[1].get<uint64_t>();
  if (entry.begin > entry.end || entry.end - entry.begin != checked_bytes(json, entry))
    json.reject("data_offsets", concat("the span does not hold ", checked_bytes(json, entry), " bytes"));
  return entry;
}

void check_coverage(const std::map<std::string, Entry>& entries, uint64_t data_bytes,
                    const std::string& name) {
  std::vector<std::pair<const Entry*, const std::string*>> order;
  for (const auto& [tensor, entry] : entries) order.emplace_back(&entry, &tensor);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first->begin, a.first->end) < std::pair(b.first->begin, b.first->end);
  });
  uint64_t reached = 0;
  for (const auto& [entry, tensor] : order) {
    if (entry->begin != reached)
      throw InputError(concat(name, ": ", *tensor, ": data_offsets: begins at ", entry->begin,
                              ", the tensor before ends at ", reached));
    reached = entry->end;
  }
  if (reached != data_bytes)
    throw InputError(
        concat(name, ": the header describes ", reached, " bytes of data, the file has ", data_bytes));
}

}  // namespace

struct SafetensorsFile::State {
  explicit State(const fs::path& path) : name(path.string()), mapping(path) {}
  const Entry& entry(const std::string& tensor) const {
    const auto found = entries.find(tensor);
    if (found == entries.end()) throw InputError(concat(name, ": tensor ", tensor, " is missing"));
    return found->second;
  }
  std::string name;
  Mapping mapping;
  uint64_t data_begin = 0;
  std::map<std::string, Entry> entries;
  std::map<std::string, std::string> metadata;
};

SafetensorsFile::SafetensorsFile(const fs::path& path) : state_(std::make_unique<State>(path)) {
  const std::string& name = state_->name;
  const Mapping& mapping = state_->mapping;
  if (mapping.size() < kPrefixBytes)
    throw InputError(concat(name, ": too short for a header: ", mapping.size(), " bytes"));
  uint64_t header_bytes = 0;
  for (int i = 7; i >= 0; --i)
    header_bytes = header_bytes << 8 | static_cast<unsigned char>(mapping.data()[i]);
  if (header_bytes > kMaxHeaderBytes || header_bytes > mapping.size() - kPrefixBytes)
    throw InputError(concat(name, ": header length ", header_bytes, " exceeds the file (", mapping.size(),
                            " bytes) or the format's bound (", kMaxHeaderBytes, ")"));
  const std::string_view text(mapping.data() + kPrefixBytes, header_bytes);
  if (text.empty() || text.front() != '{') throw InputError(concat(name, ": header does not begin with '{'"));
  const nlohmann::json header = parse_header(text, name);
  for (const auto& [tensor, value] : header.items()) {
    const JsonReader json(value, concat(name, ": ", tensor));
    if (tensor == "__metadata__") {
      for (const auto& item : value.items()) state_->metadata[item.key()] = json.text(item.key());
    } else {
      state_->entries[tensor] = parse_entry(json);
    }
  }
  state_->data_begin = kPrefixBytes + header_bytes;
  check_coverage(state_->entries, mapping.size() - state_->data_begin, name);
}

SafetensorsFile::~SafetensorsFile() = default;
SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;
SafetensorsFile& SafetensorsFile::operator=(SafetensorsFile&&) noexcept = default;

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : state_->entries) names.push_back(name);
  return names;
}

bool SafetensorsFile::contains(const std::string& name) const { return state_->entries.contains(name); }
at::ScalarType SafetensorsFile::dtype(const std::string& name) const { return state_->entry(name).type; }
std::vector<int64_t> SafetensorsFile::shape(const std::string& name) const {
  return state_->entry(name).shape;
}
const std::map<std::string, std::string>& SafetensorsFile::metadata() const { return state_->metadata; }

at::Tensor SafetensorsFile::load(const std::string& name) const {
  const Entry& entry = state_->entry(name);
  at::Tensor tensor = at::empty(entry.shape, entry.type);
  // The format aligns nothing, so bytes are copied rather than viewed.
  if (entry.end > entry.begin)
    std::memcpy(tensor.mutable_data_ptr(), state_->mapping.data() + state_->data_begin + entry.begin,
                entry.end - entry.begin);
  return tensor;
}

at::Tensor SafetensorsFile::load(const std::string& name, at::Device device, at::ScalarType dtype) const {
  return load(name).to(device, dtype);
}

std::map<std::string, at::Tensor> load_safetensors_folder(const fs::path& folder, at::Device device,
                                                          at::ScalarType dtype) {
  std::map<std::string, at::Tensor> tensors;
  const fs::path single = folder / "model.safetensors", index = folder / "model.safetensors.index.json";
  if (fs::exists(single)) {
    const SafetensorsFile file(single);
    for (const auto& name : file.names()) tensors[name] = file.load(name, device, dtype);
    return tensors;
  }
  if (!fs::exists(index))
    throw InputError(
        concat(folder.string(), ": has neither model.safetensors nor model.safetensors.index.json"));
  const nlohmann::json document = JsonReader::parse(read_file(index), index.string());
  const JsonReader json(document, index.string());
  const JsonReader weight_map = json.object("weight_map");
  std::map<std::string, SafetensorsFile> shards;
  for (const auto& item : json.at("weight_map").items()) {
    const std::string shard = weight_map.text(item.key());
    if (shard.empty() || shard == "." || shard == ".." || shard.find('/') != std::string::npos)
      weight_map.reject(item.key(), "expected the name of a file in the same folder");
    const auto file = shards.try_emplace(shard, folder / shard).first;
    tensors[item.key()] = file->second.load(item.key(), device, dtype);
  }
  return tensors;
}

}  // namespace bicrl
