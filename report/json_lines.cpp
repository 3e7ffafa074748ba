#include "report/json_lines.h"

#include <zlib.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "common/error.h"
#include "common/files/files.h"
#include "common/json.h"

namespace bicrl::report {
namespace {

constexpr unsigned kBufferBytes = 1 << 18;
constexpr size_t kLongestLine = size_t{64} << 20;
constexpr int64_t kMostDecompressedBytes = int64_t{256} << 20;
constexpr size_t kLongestObject = size_t{16} << 20;

struct GzCloser {
  void operator()(gzFile file) const { gzclose(file); }
};

// zlib reads plain files as they are.
using GzFile = std::unique_ptr<gzFile_s, GzCloser>;

}  // namespace

void LineCounts::add(const LineCounts& other) {
  entries += other.entries;
  broken += other.broken;
  is_cut_off = is_cut_off || other.is_cut_off;
  is_too_large = is_too_large || other.is_too_large;
}

LineCounts for_each_object(const std::filesystem::path& file,
                           const std::function<void(const nlohmann::json&)>& visit) {
  LineCounts counts;
  std::error_code failure;
  if (!std::filesystem::is_regular_file(file, failure)) return counts;
  const GzFile in(gzopen(file.c_str(), "rb"));
  if (!in) return counts;
  gzbuffer(in.get(), kBufferBytes);
  std::string line, buffer(kBufferBytes, '\0');
  bool too_long = false;
  const auto take = [&] {
    const bool is_blank = line.find_first_not_of(" \t\r") == std::string::npos;
    if (!is_blank || too_long) {
      const auto parsed = too_long ? Result<nlohmann::json>::failure("too long") : try_parse_json(line);
      if (parsed && parsed.value().is_object()) {
        ++counts.entries;
        visit(parsed.value());
      } else {
        ++counts.broken;
      }
    }
    line.clear();
    too_long = false;
  };
  int bytes = 0;
  int64_t total = 0;
  while ((bytes = gzread(in.get(), buffer.data(), kBufferBytes)) > 0) {
    total += bytes;
    if (total > kMostDecompressedBytes && gzdirect(in.get()) == 0) {
      counts.is_too_large = true;
      return counts;
    }
    std::string_view rest(buffer.data(), static_cast<size_t>(bytes));
    for (size_t end; (end = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(end + 1)) {
      line += rest.substr(0, end);
      take();
    }
    if (line.size() + rest.size() > kLongestLine) {
      too_long = true;
      line.clear();
    } else {
      line += rest;
    }
  }
  int problem = Z_OK;
  gzerror(in.get(), &problem);
  counts.is_cut_off = bytes < 0 || problem != Z_OK || !line.empty() || too_long;
  return counts;
}

nlohmann::json object_of(const std::filesystem::path& file) try {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(file, failure)) return nullptr;
  const auto parsed = try_parse_json(read_file(file, kLongestObject));
  return parsed && parsed.value().is_object() ? parsed.value() : nlohmann::json();
} catch (const Error&) {
  return nullptr;
}

double number_or(const nlohmann::json& object, const char* key, double otherwise) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_number() ? found->get<double>() : otherwise;
}

std::string text_or(const nlohmann::json& object, const char* key, const std::string& otherwise) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

bool flag_or(const nlohmann::json& object, const char* key, bool otherwise) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

}  // namespace bicrl::report
