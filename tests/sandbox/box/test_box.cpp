// One program in a box: what it can do, what it cannot, and how each end is reported.
#include "sandbox/box/box.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "common/files/files.h"
#include "tests/sandbox/service/service_support.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

using testing::box_host;

BoxSpec shell(const std::string& script) {
  BoxSpec spec;
  spec.argv = {"/usr/bin/sh", "-c", script};
  spec.env = {"PATH=/usr/bin"};
  spec.root = SystemRoot::kToolchain;
  spec.work_folder = "/job";
  spec.limits.wall_s = 600;
  spec.limits.cpu_s = 600;
  return spec;
}

BoxSpec python(const std::string& script) {
  BoxSpec spec = shell("");
  spec.argv = {"/usr/bin/python3", "-I", "-S", "-c", script};
  return spec;
}

BoxResult run(const BoxSpec& spec) {
  BoxResult result = run_box(box_host(), spec);
  INFO(result.reason);
  REQUIRE(result.end != BoxEnd::kBoxFailed);
  return result;
}

TEST_CASE("a program's exit status, output and files come out of its box") {
  BoxSpec spec = shell("cat in.txt; echo made > out.txt; ln -s /etc/ld.so.cache link; exit 7");
  spec.files = {{"/job/in.txt", "given\n"}};
  spec.exports = {{"/job/out.txt", 100}, {"/job/absent", 100}, {"/job/link", 1 << 20}, {"/job/in.txt", 2}};
  const BoxResult result = run(spec);
  CHECK(result.end == BoxEnd::kExited);
  CHECK(result.code == 7);
  CHECK(result.output == "given\n");
  REQUIRE(result.exported.size() == 4);
  CHECK(result.exported[0] == "made\n");
  CHECK(result.exported[1].empty());
  CHECK(result.exported[2].empty());  // a link is not handed out
  CHECK(result.exported[3].empty());  // over its limit
}

TEST_CASE("a box has an empty environment, no network, no host files and no other processes") {
  setenv("BICRL_TEST_SECRET", "planted", 1);
  testing::TemporaryFolder folder;
  std::ofstream(folder.path() / "secret") << "planted";
  chmod((folder.path() / "secret").c_str(), 0644);
  const std::string secret = folder.path() / "secret";
  const BoxResult result = run(shell("env; ls -A / /tmp /etc /root /home /proc 2>&1; cat " + secret +
                                     " /etc/passwd /proc/1/environ 2>&1; id -u; kill -9 -1; true"));
  INFO(result.output);
  CHECK(result.output.find("planted") == std::string::npos);
  CHECK(result.output.find("root:") == std::string::npos);
  CHECK(result.output.find("BICRL_TEST_SECRET") == std::string::npos);
  if (geteuid() == 0) CHECK(result.output.find("\n0\n") == std::string::npos);
}

TEST_CASE("nothing is writable but the work folder, which is private and bounded") {
  const BoxResult result = run(python(R"(
import os
for path in ("/x", "/usr/x", "/box/x", "/dev/x", "/etc/x"):
    try:
        open(path, "w"); print("wrote", path)
    except OSError: pass
assert not os.path.exists("/job/left"), "left over"
open("/job/left", "w").write("x")
try:
    with open("/job/big", "wb") as f:
        for _ in range(100): f.write(b"x" * (1 << 20))
    print("no bound")
except OSError as error: print(error.errno)
)"));
  CHECK(result.output == "28\n");  // ENOSPC
  CHECK(run(shell("ls -A /job")).output.empty());
}

TEST_CASE("limits of time and output, and signals, end a box with their names") {
  BoxSpec spec = shell("sleep 1000 & sleep 1000");
  spec.limits.wall_s = 0.3;
  CHECK(run(spec).end == BoxEnd::kTimeout);
  spec = shell("while true; do echo flood; done");
  const BoxResult flood = run(spec);
  CHECK(flood.end == BoxEnd::kOutputLimit);
  CHECK(flood.output.size() == spec.limits.output_bytes);
  const BoxResult killed = run(shell("kill -SEGV $$"));
  CHECK(killed.end == BoxEnd::kSignalled);
  CHECK(killed.code == SIGSEGV);
  spec = shell("while true; do :; done");
  spec.limits.cpu_s = 1;
  CHECK(run(spec).end == BoxEnd::kTimeout);
  spec.argv[2] = "trap '' XCPU; while true; do :; done";
  CHECK(run(spec).end == BoxEnd::kTimeout);
}

// The compiler's driver ends by itself: only its output says why. See candidate_compiler.cpp.
TEST_CASE("a compiler whose CPU time is used up says so") {
  BoxSpec spec = shell("g++ -x c++ -fsyntax-only bomb.cpp");
  spec.files = {{"/job/bomb.cpp",
                 "template <int N, int M> struct B { static constexpr long v = B<N - 1, M>::v + "
                 "B<N - 1, M + (1 << N)>::v; };\n"
                 "template <int M> struct B<0, M> { static constexpr long v = M; };\n"
                 "long bomb = B<24, 0>::v;\n"}};
  spec.limits.cpu_s = 1;
  const BoxResult result = run(spec);
  INFO(result.output);
  CHECK(result.end == BoxEnd::kExited);
  CHECK(result.output.find("CPU time limit exceeded signal terminated program") != std::string::npos);
}

TEST_CASE("a stop request ends a box") {
  std::stop_source stop;
  std::jthread asker([&] { stop.request_stop(); });
  CHECK(run_box(box_host(), shell("sleep 1000"), stop.get_token()).end == BoxEnd::kCancelled);
}

// Ours only: tests of other processes have boxes meanwhile.
size_t processes_of_boxes() {
  size_t found = 0;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", none)) {
    std::ifstream in(entry.path() / "cgroup");
    const std::string groups{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    found += groups.find(concat("/bicrl-", getpid(), "/box-")) != std::string::npos;
  }
  return found;
}

TEST_CASE("a box that is ended early leaves no process behind that is still ending") {
  const auto& present = box_host().features().present;
  if (std::ranges::none_of(present, [](const auto& one) { return one.starts_with("cgroup-v"); }))
    SKIP("there are no control groups here");
  BoxSpec spec = python("x = bytearray(b'1' * (600 << 20))\nprint('full', flush=True)\nwhile True: pass");
  spec.limits.memory_bytes = 1ull << 30;
  spec.limits.output_bytes = 3;  // it ends as soon as it is full
  const size_t before = processes_of_boxes();
  for (int i = 0; i < 3; ++i) {
    CHECK(run(spec).end == BoxEnd::kOutputLimit);
    CHECK(processes_of_boxes() <= before);
  }
}

TEST_CASE("memory is bounded") {
  BoxSpec spec = python("x = []\nwhile True: x.append(bytearray(b'1' * (16 << 20)))");
  spec.limits.memory_bytes = 128ull << 20;
  const BoxResult result = run(spec);
  const bool ended = result.end == BoxEnd::kMemory || result.output.find("MemoryError") != std::string::npos;
  INFO(result.output);
  CHECK(ended);
}

TEST_CASE("what a large box leaves in memory does not end the small one behind it") {
  BoxSpec large = shell("head -c 400000000 /dev/zero > large");
  large.limits.memory_bytes = 1ull << 30;
  large.limits.file_bytes = 1ull << 30;
  large.work_bytes = 512ull << 20;
  BoxSpec small = python("print(len(bytearray(b'1' * (24 << 20))))");
  small.limits.memory_bytes = 64ull << 20;
  for (int i = 0; i < 10; ++i) {
    CHECK(run(large).succeeded());
    const BoxResult result = run(small);
    INFO(result.reason << static_cast<int>(result.end));
    CHECK(result.output == std::to_string(24 << 20) + "\n");
  }
}

TEST_CASE("a kill is the group's own only where it reached its limit") {
  const CgroupEvents before{3, 7, 0};
  CHECK(memory_end(before, {3, 9, 0}) == MemoryEnd::kNone);
  CHECK(memory_end(before, {4, 9, 0}) == MemoryEnd::kLimit);
  CHECK(memory_end(before, {4, 7, 0}) == MemoryEnd::kMachine);
}

TEST_CASE("processes are bounded and counted") {
  BoxSpec spec = python(R"(
import os, time
made = 0
for _ in range(500):
    try:
        if os.fork() == 0: time.sleep(1000); os._exit(0)
        made += 1
    except OSError: break
print(made < 60)
)");
  spec.limits.processes = 40;
  const BoxResult result = run(spec);
  CHECK(result.output == "True\n");
  CHECK(run(shell("echo alive")).output == "alive\n");
}

TEST_CASE("dangerous system calls are refused") {
  const BoxResult result = run(python(R"(
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
calls = {"ptrace": 101, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "io_uring_setup": 425, "keyctl": 250,
         "add_key": 248, "mount": 165, "unshare": 272, "setns": 308, "process_vm_readv": 310, "kexec_load": 246,
         "init_module": 175, "pidfd_open": 434, "open_tree": 428}
for name, number in calls.items():
    if libc.syscall(number, 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() != 1: print(name, ctypes.get_errno())
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK, socket.AF_VSOCK):
    try: socket.socket(family, socket.SOCK_STREAM); print("socket", family)
    except OSError as error: assert error.errno == 1
a, b = socket.socketpair(); a.send(b"x"); assert b.recv(1) == b"x"
if libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0) != -1: print("clone new user namespace")
print("end")
)"));
  CHECK(result.output == "end\n");
}

TEST_CASE("a single-process box ends at the first fork") {
  BoxSpec spec = python(
      "import os, threading\nt = threading.Thread(target=print, args=['thread']); t.start(); "
      "t.join()\nos.fork()");
  spec.env.push_back("PYTHONUNBUFFERED=1");
  spec.syscalls = SyscallProfile::kProgram;
  CHECK(run(spec).succeeded());
  // The program itself is started by exec, so this profile fits forks of the warm interpreter only.
  spec.syscalls = SyscallProfile::kSingleProcess;
  CHECK(run_box(box_host(), spec).end == BoxEnd::kBoxFailed);
}

TEST_CASE("a box that cannot start its program is the box's fault") {
  BoxSpec spec = shell("");
  spec.argv[0] = "/usr/bin/no_such_program";
  const BoxResult result = run_box(box_host(), spec);
  CHECK(result.end == BoxEnd::kBoxFailed);
  CHECK(result.reason.find("starting the program") != std::string::npos);
}

TEST_CASE("missing bubblewrap is named with a remedy") {
  const auto features = SandboxFeatures::probe("/nonexistent/bwrap");
  CHECK_FALSE(features.usable);
  REQUIRE(features.missing.size() == 1);
  CHECK(features.missing[0].find("apt-get install bubblewrap") != std::string::npos);
}

}  // namespace
TEST_CASE("no two servers on this host give boxes one uid") {
  if (geteuid() != 0) SKIP("boxes have uids of their own under root only");
  std::vector<SlotLease> slots;
  std::set<uid_t> uids;
  for (int i = 0; i < 120; ++i) {  // more than a range has
    slots.push_back(testing::box_host().take_slot({1 << 20, 4}));
    uids.insert(slots.back()->uid);
  }
  CHECK(uids.size() == slots.size());
  std::vector<UidRange> others;
  for (int i = 0; i < 3; ++i) {
    others.push_back(UidRange::claim());
    for (int k = 0; k < UidRange::kUids; ++k) CHECK(uids.insert(others.back().first() + k).second);
  }
  CHECK(*uids.begin() >= 60100);
  CHECK(*uids.rbegin() < 65000);
  // What nobody holds any more can be had again.
  const uid_t freed = others.front().first();
  others.clear();
  bool again = false;
  for (int i = 0; i < 3; ++i) {
    others.push_back(UidRange::claim());
    again |= others.back().first() == freed;
  }
  CHECK(again);
}

}  // namespace bicrl
