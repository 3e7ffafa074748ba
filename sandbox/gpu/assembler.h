// Machine code of PTX for one architecture, by nvJitLink from torch's wheels: no GPU and no driver are
// needed. The text is a candidate's as far as its inline assembly goes, so each is read in a confined child
// of its own, of a process that holds the library warm. Equal texts are assembled once. Thread-safe.
#pragma once
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>

#include "common/lru_cache.h"
#include "sandbox/box/box_host.h"
#include "sandbox/box/zygote.h"
#include "verdict/fault/fault.h"

namespace bicrl {

struct MachineCode {
  std::shared_ptr<const std::string> code;  // null on failure
  Fault fault;
};

class Assembler {
 public:
  // `libraries`: DeviceToolchain::libraries. Throws Error(kUnavailable), with the remedy, without nvJitLink.
  Assembler(BoxHost& host, const PythonInstall& python, const std::filesystem::path& libraries,
            const std::string& architecture);
  MachineCode assemble(const std::string& ptx, std::stop_token stop = {});

 private:
  MachineCode read_end(const ChildResult& end) const;
  std::string architecture_;
  Zygote zygote_;
  struct Known {
    std::string ptx;  // compared: the key's hash is not a cryptographic one, and the text a candidate's
    std::shared_ptr<const std::string> code;
  };
  LruCache<Known> known_;
};

}  // namespace bicrl
