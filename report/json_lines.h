// Files of JSON lines as a reader finds them while, or after, something wrote them: a half-written last line,
// a damaged line or a file that ends early is counted and never an error. Free functions without state.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>

namespace bicrl::report {

struct LineCounts {
  int64_t entries = 0;        // objects
  int64_t broken = 0;         // lines that are no JSON object, the last one left out if it is half written
  bool is_cut_off = false;    // the last line lacks its end, or compressed bytes end early
  bool is_too_large = false;  // compressed bytes hold more than a reader takes; the rest is left out
  void add(const LineCounts& other);
};

// Every object of the file, plain or compressed (".gz"), in order. A file that is absent, or
// is no regular file (a pipe has no end), has none. Of a compressed file, at most 256 MiB are read.
LineCounts for_each_object(const std::filesystem::path& file,
                           const std::function<void(const nlohmann::json&)>& visit);

// A JSON file's object; null if it is absent, no JSON, or something else.
nlohmann::json object_of(const std::filesystem::path& file);

// The member as a number or text, whatever stands there; the default if it is of another kind.
double number_or(const nlohmann::json& object, const char* key, double otherwise);
std::string text_or(const nlohmann::json& object, const char* key, const std::string& otherwise = {});
bool flag_or(const nlohmann::json& object, const char* key, bool otherwise);

}  // namespace bicrl::report
