// TensorBoard's event file, written by hand: records of length, checksums and one Event message each, for
// scalars, histograms and texts. No TensorFlow, no generated code.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bicrl {

// TensorBoard looks for files whose name has "tfevents" in it; one with a fixed name is found again on
// resume.
inline constexpr std::string_view kEventFileName = "events.out.tfevents.bicrl";

// Owns the open file. Every add_...() is one record and reaches the file (not yet the disk, see sync())
// before it returns, so TensorBoard and a later process see it even if this one is killed. Records of equal
// values have equal lengths and differ only in their wall-clock time. Not thread-safe.
class EventFile {
 public:
  // 0 begins a new file, whatever was there. Otherwise goes on with the file at `path` and cuts off
  // everything behind the first `resume_at_bytes` bytes, a position() of an earlier object: throws InputError
  // if the file is shorter or no record ends there.
  explicit EventFile(const std::filesystem::path& path, int64_t resume_at_bytes = 0);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  using Scalar = std::pair<std::string, double>;  // tag ("train/reward") and value; stored as fp32
  // These throw Error (for instance on a full disk) and leave the file as it was before the call.
  void add_scalars(int64_t step, const std::vector<Scalar>& scalars);
  // The distribution of a step's values, as bars between the smallest and the largest. Values that are not
  // finite do not count; without any, nothing is written.
  void add_histogram(int64_t step, const std::string& tag, const std::vector<double>& values);
  void add_text(int64_t step, const std::string& tag, const std::string& text);  // shown as Markdown

  // Bytes written so far: where the next record begins.
  int64_t position() const { return position_bytes_; }
  // Has the system put everything on the disk; call before position() becomes part of a checkpoint.
  void sync();

 private:
  void append(const std::string& message);
  [[noreturn]] void fail(const char* what, int code) const;

  std::filesystem::path path_;
  int fd_ = -1;
  int64_t position_bytes_ = 0;
};

}  // namespace bicrl
