#include "curation/record_spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "common/error.h"

namespace bicrl::curation {
namespace {

constexpr size_t kBufferBytes = 1 << 20;

}  // namespace

// Not every file system makes files without a name.
void RecordSpool::open() {
  file_ = UniqueFd(::open(directory_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file_) return;
  std::string name = (directory_ / ".spool.XXXXXX").string();
  file_ = UniqueFd(mkostemp(name.data(), O_CLOEXEC));
  if (!file_) throw Error(concat("cannot keep records below ", directory_.string(), ": ", strerror(errno)));
  unlink(name.c_str());
}

void RecordSpool::add(const Record& record) {
  begins_.push_back(written_ + static_cast<int64_t>(buffer_.size()));
  buffer_ += to_line(record);
  if (buffer_.size() >= kBufferBytes) flush();
}

void RecordSpool::flush() {
  if (!file_) open();
  for (size_t done = 0; done < buffer_.size();) {
    const ssize_t put = pwrite(file_.get(), buffer_.data() + done, buffer_.size() - done,
                               written_ + static_cast<int64_t>(done));
    if (put < 0)
      throw Error(concat("cannot keep records below ", directory_.string(), ": ", strerror(errno)));
    done += static_cast<size_t>(put);
  }
  written_ += static_cast<int64_t>(buffer_.size());
  buffer_.clear();
}

Record RecordSpool::at(size_t number) {
  if (!buffer_.empty()) flush();
  const int64_t begin = begins_.at(number);
  const int64_t end = number + 1 < begins_.size() ? begins_[number + 1] : written_;
  std::string line(static_cast<size_t>(end - begin), '\0');
  for (size_t done = 0; done < line.size();) {
    const ssize_t got =
        pread(file_.get(), line.data() + done, line.size() - done, begin + static_cast<int64_t>(done));
    if (got <= 0)
      throw Error(concat("cannot read records below ", directory_.string(), " again: ", strerror(errno)));
    done += static_cast<size_t>(got);
  }
  return record_from_line(line);
}

}  // namespace bicrl::curation
