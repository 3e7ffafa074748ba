// bicrl-assemble: PTX to machine code (a cubin) by nvJitLink, as a server in a box that holds this program
// and that library. It has loaded the library, and made machine code once, before it forks a confined child
// for each text: the first use takes longer than most texts do. A text is a candidate's as far as its inline
// assembly goes.
//   bicrl-assemble LIBRARY ARCHITECTURE
// request  {"kind": "assemble"} + PTX
// replies  {"kind": "machine", "ok": true} + the code
//          {"kind": "machine", "ok": false} + the assembler's log
#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <new>
#include <string>
#include <type_traits>

#include "sandbox/runtimes/box/fork_server.h"
#include "sandbox/runtimes/box/frames.h"

namespace bicrl {
namespace {

constexpr int kPtxInput = 2;  // nvJitLink.h: NVJITLINK_INPUT_PTX
constexpr size_t kMaxLogBytes = 4000;
constexpr int kOutOfMemoryStatus = 4;

// Something of what most texts have, so that tables are made; each architecture that the library knows takes
// it.
constexpr const char* kFirstText = R"(.version 8.0
.target sm_75
.address_size 64
.visible .entry first(.param .u64 to, .param .u32 count) {
  .reg .pred %p<2>;
  .reg .f32 %f<4>;
  .reg .b32 %r<5>;
  .reg .b64 %rd<4>;
  .shared .align 4 .b8 tile[128];
  ld.param.u64 %rd1, [to];
  ld.param.u32 %r1, [count];
  mov.u32 %r2, %tid.x;
  setp.ge.u32 %p1, %r2, %r1;
  @%p1 bra end;
  cvta.to.global.u64 %rd2, %rd1;
  mul.wide.u32 %rd3, %r2, 4;
  add.s64 %rd2, %rd2, %rd3;
  ld.global.f32 %f1, [%rd2];
  fma.rn.f32 %f2, %f1, %f1, %f1;
  div.rn.f32 %f3, %f2, %f1;
  ex2.approx.f32 %f3, %f3;
  st.shared.f32 [tile], %f3;
  bar.sync 0;
  ld.shared.f32 %f3, [tile];
  st.global.f32 [%rd2], %f3;
end:
  ret;
}
)";

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

struct Assembled {
  bool ok = false;
  std::string text;  // the code, or the log
};

Assembled assemble(const Linker& linker, const std::string& ptx, const std::string& architecture) {
  Linker::Handle handle = nullptr;
  const std::string option = "-arch=" + architecture;
  const char* options[] = {option.c_str()};
  size_t bytes = 0;
  Assembled made;
  int status = linker.create(&handle, 1, options);
  if (!status) status = linker.add(handle, kPtxInput, ptx.c_str(), ptx.size() + 1, "cuda_sources");
  if (!status) status = linker.complete(handle);
  if (!status) status = linker.size(handle, &bytes);
  if (!status) {
    made.text.resize(bytes);
    status = linker.code(handle, made.text.data());
  }
  made.ok = status == 0;
  if (made.ok) return made;
  made.text.clear();
  if (handle && !linker.log_size(handle, &bytes) && bytes > 1) {
    made.text.resize(bytes);
    if (linker.log(handle, made.text.data())) made.text.clear();
    made.text = made.text.substr(0, made.text.find('\0')).substr(0, kMaxLogBytes);
  }
  if (made.text.empty()) made.text = "no machine code";
  return made;
}

int serve(const char* library, const std::string& architecture) {
  Linker linker;
  if (!linker.load(library)) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  if (const Assembled first = assemble(linker, kFirstText, architecture); !first.ok) {
    fprintf(stderr, "nothing can be assembled for %s: %s\n", architecture.c_str(), first.text.c_str());
    return 2;
  }
  box::serve_forks();  // from here on in a child
  const auto request = box::receive_frame(box::kChannelFd);
  if (!request || request->blobs.size() != 1) return 0;
  const Assembled made = assemble(linker, request->blobs.front(), architecture);
  box::send_frame(box::kChannelFd, {{"kind", "machine"}, {"ok", made.ok}}, {made.text});
  return 0;
}

}  // namespace
}  // namespace bicrl

// Nothing is torn down: what the library has made of a hostile text is not touched again.
int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    _exit(bicrl::serve(argv[1], argv[2]));
  } catch (const std::bad_alloc&) {
    _exit(bicrl::kOutOfMemoryStatus);
  }
}
