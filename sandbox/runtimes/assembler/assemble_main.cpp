// bicrl-assemble: PTX to machine code (a cubin) by nvJitLink, in a box that holds this program and that
// library. The text is a candidate's as far as its inline assembly goes.
//   bicrl-assemble LIBRARY PTX ARCHITECTURE OUTPUT     OUTPUT: a descriptor
// Ends with 0, or with 1 and the assembler's log on stdout; 2: the library is not what it should be.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <type_traits>

namespace {

constexpr int kPtxInput = 2;  // nvJitLink.h: NVJITLINK_INPUT_PTX

struct Linker {
  using Handle = void*;
  int (*create)(Handle*, uint32_t, const char**) = nullptr;
  int (*add)(Handle, int, const void*, size_t, const char*) = nullptr;
  int (*complete)(Handle) = nullptr;
  int (*size)(Handle, size_t*) = nullptr;
  int (*code)(Handle, void*) = nullptr;
  int (*log_size)(Handle, size_t*) = nullptr;
  int (*log)(Handle, char*) = nullptr;

  bool load(const char* path) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return false;
    bool complete_library = true;
    const auto find = [&](auto& function, const char* name) {
      void* address = dlsym(library, name);
      complete_library = complete_library && address;
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
    };
    find(create, "nvJitLinkCreate");
    find(add, "nvJitLinkAddData");
    find(complete, "nvJitLinkComplete");
    find(size, "nvJitLinkGetLinkedCubinSize");
    find(code, "nvJitLinkGetLinkedCubin");
    find(log_size, "nvJitLinkGetErrorLogSize");
    find(log, "nvJitLinkGetErrorLog");
    return complete_library;
  }
};

int assemble(const Linker& linker, const std::string& ptx, const std::string& architecture, int output) {
  Linker::Handle handle = nullptr;
  const std::string option = "-arch=" + architecture;
  const char* options[] = {option.c_str()};
  size_t bytes = 0;
  std::string code;
  int status = linker.create(&handle, 1, options);
  if (!status) status = linker.add(handle, kPtxInput, ptx.c_str(), ptx.size() + 1, "cuda_sources");
  if (!status) status = linker.complete(handle);
  if (!status) status = linker.size(handle, &bytes);
  if (!status) {
    code.resize(bytes);
    status = linker.code(handle, code.data());
  }
  if (status) {
    std::string log;
    if (handle && !linker.log_size(handle, &bytes) && bytes > 1) {
      log.resize(bytes);
      if (linker.log(handle, log.data())) log.clear();
    }
    printf("%.4000s\n", log.empty() ? "no machine code" : log.c_str());
    return 1;
  }
  for (size_t done = 0; done < code.size();) {
    const ssize_t n = write(output, code.data() + done, code.size() - done);
    if (n <= 0) return 2;
    done += static_cast<size_t>(n);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  try {
    Linker linker;
    if (!linker.load(argv[1])) {
      fprintf(stderr, "%s\n", dlerror());
      return 2;
    }
    std::ifstream file(argv[2], std::ios::binary);
    if (!file) return 2;
    const std::string ptx{std::istreambuf_iterator<char>(file), {}};
    return assemble(linker, ptx, argv[3], atoi(argv[4]));
  } catch (const std::bad_alloc&) {
    return 4;
  }
}
