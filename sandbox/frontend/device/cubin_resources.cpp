#include "sandbox/frontend/device/cubin_resources.h"

#include <cstring>
#include <stdexcept>
#include <vector>

namespace bicrl {
namespace {

constexpr uint16_t kCudaMachine = 190;
constexpr uint32_t kNvInfo = 0x70000000;
constexpr uint8_t kSizedFormat = 4, kMinStackSize = 0x12, kRegisterCount = 0x2f;
constexpr uint64_t kMostSections = 1 << 16;

struct Section {
  uint32_t type = 0, link = 0;
  uint64_t offset = 0, bytes = 0;
};

// Throws InputError beyond the end.
class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}
  template <class T>
  T at(uint64_t offset) const {
    T value;
    memcpy(&value, part(offset, sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view part(uint64_t offset, uint64_t bytes) const {
    if (offset > file_.size() || bytes > file_.size() - offset) throw InputError("the cubin is cut off");
    return file_.substr(offset, bytes);
  }
  std::string text(const Section& section, uint64_t offset) const {
    const std::string_view strings = part(section.offset, section.bytes);
    if (offset >= strings.size()) throw InputError("a name lies outside of its table");
    return std::string(strings.substr(offset, strings.find('\0', offset) - offset));
  }

 private:
  std::string_view file_;
};

class CubinReader {
 public:
  explicit CubinReader(std::string_view cubin) : read_(cubin) {
    if (read_.part(0, 5) != std::string_view("\x7f"
                                             "ELF\x02") ||
        read_.at<uint16_t>(18) != kCudaMachine)
      throw InputError("this is no cubin");
    const auto table = read_.at<uint64_t>(40);
    const uint64_t size = read_.at<uint16_t>(58), count = read_.at<uint16_t>(60);
    for (uint64_t i = 0; i < count && i < kMostSections; ++i) {
      const uint64_t at = table + i * size;
      sections_.push_back({read_.at<uint32_t>(at + 4), read_.at<uint32_t>(at + 40),
                           read_.at<uint64_t>(at + 24), read_.at<uint64_t>(at + 32)});
    }
  }

  std::map<std::string, KernelResources> resources() const {
    std::map<std::string, KernelResources> found;
    for (const Section& section : sections_)
      if (section.type == kNvInfo) add_records(section, found);
    return found;
  }

 private:
  void add_records(const Section& section, std::map<std::string, KernelResources>& found) const {
    constexpr uint64_t kSymbolBytes = 24;
    for (uint64_t at = section.offset, end = at + section.bytes; at + 4 <= end;) {
      const auto format = read_.at<uint8_t>(at), attribute = read_.at<uint8_t>(at + 1);
      const uint64_t bytes = format == kSizedFormat ? read_.at<uint16_t>(at + 2) : 0;
      if (bytes == 8 && (attribute == kRegisterCount || attribute == kMinStackSize)) {
        const Section symbols = sections_.at(section.link);
        const uint64_t symbol = symbols.offset + kSymbolBytes * read_.at<uint32_t>(at + 4);
        const std::string name = read_.text(sections_.at(symbols.link), read_.at<uint32_t>(symbol));
        KernelResources& kernel = found[name];
        (attribute == kRegisterCount ? kernel.registers : kernel.stack_bytes) = read_.at<uint32_t>(at + 8);
      }
      at += 4 + bytes;
    }
  }

  Reader read_;
  std::vector<Section> sections_;
};

}  // namespace

Result<std::map<std::string, KernelResources>> read_cubin_resources(std::string_view cubin) {
  using Reply = Result<std::map<std::string, KernelResources>>;
  try {
    return Reply(CubinReader(cubin).resources());
  } catch (const InputError& error) {
    return Reply::failure(error.what());
  } catch (const std::out_of_range&) {
    return Reply::failure("a section names another that is not there");
  }
}

}  // namespace bicrl
