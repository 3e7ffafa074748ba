#include "tests/sandbox/replay_support.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <fstream>

#include "common/files.h"
#include "sandbox/candidate/host_compiler.h"
#include "sandbox/candidate/splitter.h"

namespace bicrl::testing {
namespace {
namespace fs = std::filesystem;

int run_program(const std::vector<std::string>& argv) {
  const pid_t child = fork();
  if (child == 0) {
    std::vector<char*> pointers;
    for (const auto& a : argv) pointers.push_back(const_cast<char*>(a.c_str()));
    pointers.push_back(nullptr);
    execv(pointers[0], pointers.data());
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void write_bytes(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// The library's C interface, as the recorder in Python uses it.
class HostLibrary {
 public:
  HostLibrary() : handle_(dlopen((share_folder() / "host/libbicrl_host.so").c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (!handle_) throw std::runtime_error(dlerror());
  }
  template <class R, class... A>
  R call(const char* name, A... arguments) const {
    void* function = dlsym(handle_, name);
    if (!function) throw std::runtime_error(std::string("no ") + name);
    return reinterpret_cast<R (*)(A...)>(function)(arguments...);
  }

 private:
  void* handle_;
};

nlohmann::json recorded_buffers(const HostLibrary& host) {
  nlohmann::json out = nlohmann::json::array();
  const auto count = host.call<int64_t>("bicrl_trace_buffers");
  for (int64_t i = 0; i < count; ++i) {
    int64_t fields[4];
    host.call<void>("bicrl_trace_buffer", i, static_cast<int64_t*>(fields));
    const bool input = fields[0] == 0;
    out.push_back({{"kind", input ? "input" : "allocation"}, {"bytes", fields[1]}});
    if (input) out.back()["source"] = fields[2];
  }
  return out;
}

nlohmann::json recorded_blobs(const HostLibrary& host) {
  nlohmann::json out = nlohmann::json::array();
  const auto count = host.call<int64_t>("bicrl_blob_count");
  for (int64_t i = 0; i < count; ++i) {
    size_t size = 0;
    const char* bytes = host.call<const char*>("bicrl_blob", i, &size);
    out.push_back(std::vector<uint8_t>(bytes, bytes + size));
  }
  return out;
}

nlohmann::json record(const fs::path& module, const std::string& function,
                      const std::vector<std::vector<int64_t>>& shapes) {
  const HostLibrary host;
  host.call<void>("bicrl_start", 0, -1);
  if (host.call<int64_t>("bicrl_load", module.c_str()) < 0)
    throw std::runtime_error(host.call<const char*>("bicrl_last_text"));
  const auto count = host.call<int64_t>("bicrl_function_count");
  int64_t index = 0;
  while (index < count && function != host.call<const char*>("bicrl_function_name", index)) ++index;
  std::vector<int64_t> tokens;
  for (size_t i = 0; i < shapes.size(); ++i) {
    std::vector<int64_t> strides(shapes[i].size());
    int64_t elements = 1;
    for (size_t d = shapes[i].size(); d-- > 0; elements *= shapes[i][d]) strides[d] = elements;
    const auto storage = host.call<int64_t>("bicrl_storage_new", 0, static_cast<uint64_t>(elements) * 4,
                                            static_cast<int64_t>(i));
    constexpr int kFloat = 6;
    tokens.push_back(5);
    tokens.push_back(reinterpret_cast<int64_t>(
        host.call<void*>("bicrl_tensor_new", storage, kFloat, int64_t{0}, shapes[i].size(), shapes[i].data(),
                         static_cast<const int64_t*>(strides.data()))));
  }
  if (host.call<int>("bicrl_call", index, static_cast<const int64_t*>(tokens.data()), tokens.size(),
                     shapes.size()) != 0)
    throw std::runtime_error(host.call<const char*>("bicrl_fault_message"));
  size_t results = 0;
  const auto* result = host.call<const int64_t*>("bicrl_results", &results);
  const std::string view =
      host.call<const char*>("bicrl_trace_view", reinterpret_cast<const void*>(result[1]));
  nlohmann::json frame{{"kind", "trace"}, {"outputs", nlohmann::json::parse(view)}};
  frame["outputs"]["t"] = "tensor";
  frame["ops"] = nlohmann::json::parse(host.call<const char*>("bicrl_trace_ops"));
  frame["buffers"] = recorded_buffers(host);
  frame["test_blobs"] = recorded_blobs(host);
  return frame;
}

}  // namespace

fs::path compile_module(const fs::path& folder, const std::string& cuda, const std::string& declarations,
                        const std::vector<std::string>& functions) {
  const SplitProgram program = split_cuda_source({{cuda}, {declarations}, functions});
  for (const auto& issue : program.issues) FAIL(issue.fault_class << ": " << issue.reason);
  for (const auto& unit : program.units) write_bytes(folder / unit.file_name, unit.text);
  const auto command = host_compile_command(program, folder, share_folder() / "host");
  REQUIRE(run_program(command.argv) == 0);
  return folder / command.output_file;
}

Trace record_call(const fs::path& module, const std::string& function,
                  const std::vector<std::vector<int64_t>>& shapes) {
#ifdef __SANITIZE_ADDRESS__
  SKIP("the recorder loads modules with RTLD_DEEPBIND, which AddressSanitizer forbids within its processes");
#endif
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    std::string text;
    try {
      text = record(module, function, shapes).dump();
    } catch (const std::exception& e) {
      text = nlohmann::json{{"error", e.what()}}.dump();
    }
    for (size_t done = 0; done < text.size();) {
      const ssize_t n = write(ends[1], text.data() + done, text.size() - done);
      if (n <= 0) break;
      done += static_cast<size_t>(n);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  INFO(text);
  const auto frame = nlohmann::json::parse(text);
  REQUIRE_FALSE(frame.contains("error"));
  nlohmann::json specs = nlohmann::json::array();
  for (const auto& shape : shapes) specs.push_back({{"t", "tensor"}, {"shape", shape}, {"dtype", "float32"}});
  std::vector<std::string> blobs;
  for (const auto& blob : frame["test_blobs"]) {
    const auto bytes = blob.get<std::vector<uint8_t>>();
    blobs.emplace_back(bytes.begin(), bytes.end());
  }
  auto trace = Trace::parse(frame, std::move(blobs), input_layout(specs).value());
  if (!trace) FAIL(trace.reason());
  return std::move(trace.value());
}

std::vector<float> ReplayReply::floats(const Trace& trace, size_t draw, size_t leaf) const {
  const auto& place = trace.output_layout().leaves.at(leaf);
  std::vector<float> values(place.bytes / sizeof(float));
  memcpy(values.data(), outputs.data() + draw * trace.output_layout().draw_bytes + place.offset_bytes,
         place.bytes);
  return values;
}

ReplayReply replay(const ReplayRequest& request) {
  const fs::path folder = request.module.parent_path();
  const auto inputs = encode_inputs(request.trace->inputs, request.draws);
  if (!inputs) FAIL(inputs.reason());
  write_bytes(folder / "inputs", inputs.value());
  write_bytes(folder / "trace", request.trace->encode());
  ReplayReply reply;
  reply.outputs.assign(request.trace->output_layout().draw_bytes * request.draws.size(),
                       static_cast<char>(request.poison));
  const int output = memfd_create("outputs", 0), control = memfd_create("control", 0);
  REQUIRE(pwrite(output, reply.outputs.data(), reply.outputs.size(), 0) ==
          static_cast<ssize_t>(reply.outputs.size()));
  std::vector<std::string> argv = {share_folder() / "host/bicrl-replay",
                                   "--module",
                                   request.module,
                                   "--trace",
                                   folder / "trace",
                                   "--inputs",
                                   folder / "inputs",
                                   "--draws",
                                   std::to_string(request.draws.size()),
                                   "--poison",
                                   std::to_string(request.poison),
                                   "--output-fd",
                                   std::to_string(output),
                                   "--control-fd",
                                   std::to_string(control)};
  argv.insert(argv.end(), request.more.begin(), request.more.end());
  reply.code = run_program(argv);
  REQUIRE(pread(output, reply.outputs.data(), reply.outputs.size(), 0) ==
          static_cast<ssize_t>(reply.outputs.size()));
  std::string report(static_cast<size_t>(lseek(control, 0, SEEK_END)), '\0');
  REQUIRE(pread(control, report.data(), report.size(), 0) == static_cast<ssize_t>(report.size()));
  close(output);
  close(control);
  if (reply.code != 0) return reply;
  // The caller reads the first line.
  REQUIRE(report.find('\n') == report.size() - 1);
  reply.draws = nlohmann::json::parse(report).at("draws");
  REQUIRE(reply.draws.size() == request.draws.size());
  return reply;
}

std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

}  // namespace bicrl::testing
