// A warm process in a box that forks a confined child per request: a Python interpreter that has imported its
// module, or a program that calls serve_forks() (sandbox/runtimes/box/fork_server.h). The child starts within
// milliseconds, in namespaces and under limits of its own, and talks over one channel. One child is kept
// ready for the next request: to fork an interpreter that holds torch takes longer than many a request.
#pragma once
#include <sys/types.h>

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/clock.h"
#include "common/error.h"
#include "sandbox/box/box_host.h"
#include "sandbox/box/process/bounded_log.h"
#include "sandbox/box/process/channel.h"
#include "sandbox/box/process/descriptors.h"
#include "sandbox/box/python_install.h"

namespace bicrl {

// In place of the interpreter.
struct WarmProgram {
  std::vector<std::string> argv, env = {};  // argv[0]: absolute path inside the box
};

struct ZygoteSpec {
  std::string name;      // for messages: "record", "oracle", "frontend", "compiler", "assembler"
  std::string module;    // imported before the first fork
  std::string function;  // called in the child with the channel's descriptor
  std::vector<std::filesystem::path> module_folders;  // bound read-only and put on sys.path
  std::vector<BoxMount> mounts = {};                  // more that the interpreter sees while it warms up
  // All that children, and the interpreter once it is warm, see besides an empty /scratch and what the
  // interpreter keeps for them in /keep. Nothing: they see the whole box.
  std::vector<BoxMount> root = {};
  // With it, `module`, `function` and `module_folders` are empty.
  std::optional<WarmProgram> program = {};
  bool starts_processes = false;  // children may, and see the toolchain
};

struct ChildLimits {
  double wall_s = 10;
  int cpu_s = 10;
  uint64_t memory_bytes = 1ull << 30;  // control group, and private data beyond the warm interpreter's
  uint64_t tmp_bytes = 64ull << 20;
  uint64_t file_bytes = 64ull << 20;
  int open_files = 256;
  int threads = 64;
  size_t output_bytes = 64u << 10;
  FrameLimits frames;
  bool operator==(const ChildLimits&) const = default;
};

enum class ChildEnd {
  kExited,
  kSignalled,
  kTimeout,
  kMemory,
  kOutputLimit,
  kBadFrame,  // wrote something that is no frame
  kCancelled,
  kBoxFailed  // infrastructure
};

struct ChildResult {
  ChildEnd end = ChildEnd::kBoxFailed;
  int code = 0;
  std::string reason;  // of kBoxFailed and kBadFrame
  std::string output;
  double total_ms = 0, cpu_ms = 0;
};

// One child. Used by one thread. The destructor ends the child.
class ZygoteChild {
 public:
  ~ZygoteChild();
  // Nothing when the child ended or had to be ended: finish() says how. The wall limit runs from when the
  // child was ready, so that a busy machine's time for making a box is not the candidate's; time in which the
  // server works for the child is given back with extend(), and what either waits for a processor counts
  // for nobody: a child that got too little of them ends as kBoxFailed.
  std::optional<Frame> receive(std::stop_token stop = {});
  // False when the child no longer listens or had to be ended.
  bool send(const nlohmann::json& header, const std::vector<std::string_view>& blobs,
            std::stop_token stop = {});
  void extend(double seconds) { wall_s_ += seconds; }
  // Ends the child if it still runs; how it ended.
  ChildResult finish();

 private:
  friend class Zygote;
  ZygoteChild(BoxHost& host, const ChildLimits& limits);
  void begin();        // what counts against its limits counts from now on
  bool waits() const;  // it lives and has said nothing
  void kill_child();
  bool keep_waiting(short channel_events,
                    std::stop_token& stop);  // false: ended_ is set or the channel is closed
  bool read_status();
  double patience_s() const;
  ChildLimits limits_;
  SlotLease slot_;
  CgroupEvents before_;
  Stopwatch clock_;
  double wall_s_;
  int pid_ = 0;                 // on this host; 0 until known
  int server_thread_ = 0;       // that talks to the child
  double waited_before_s_ = 0;  // by both for a processor, when the clock began
  UniqueFd channel_, status_, output_, pidfd_;
  FrameReader reader_;
  BoundedLog log_;
  bool output_open_ = true, channel_ready_ = false, reaped_ = false;
  bool deaf_ = false;              // it has closed its end, or died: what it had to say is said
  std::optional<ChildEnd> ended_;  // by us
  std::string reason_;
  int wait_status_ = 0;
  double cpu_ms_ = 0;
};

// Thread-safe. Starts its interpreter at once, and again whenever it dies.
class Zygote {
 public:
  Zygote(BoxHost& host, const PythonInstall& python, ZygoteSpec spec);
  ~Zygote();
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;

  // Waits for the interpreter at most `patience_s`. Failure is infrastructure: try again. `wishes` name what
  // the module's prepare_more() shall make for later children.
  Result<std::unique_ptr<ZygoteChild>> fork(const ChildLimits& limits, std::stop_token stop = {},
                                            double patience_s = 60,
                                            const std::vector<std::string>& wishes = {});
  // Ends a child whose answer is known, without waiting for its memory to be torn down (20 ms with torch),
  // and then has another one ready with the same limits.
  void dismiss(std::unique_ptr<ZygoteChild> child);
  bool has_spare() const;
  int starts() const;     // interpreters started so far
  pid_t box_pid() const;  // of the box that runs now; 0 between two

 private:
  using ForkResult = Result<std::unique_ptr<ZygoteChild>>;
  ForkResult fork_anew(const ChildLimits& limits, std::stop_token stop, double patience_s,
                       const std::vector<std::string>& wishes);
  std::unique_ptr<ZygoteChild> take_spare(const ChildLimits& limits);
  void keep_spare(const ChildLimits& limits, std::stop_token stop);
  void keep_running(std::stop_token stop);
  void reap_dismissed(std::stop_token stop);
  void give_up_on(const std::shared_ptr<UniqueFd>& control);
  void run_once(std::stop_token stop);
  std::vector<std::string> command() const;
  void append_interpreter(std::vector<std::string>& command) const;
  BoxHost& host_;
  const PythonInstall& python_;
  ZygoteSpec spec_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::shared_ptr<UniqueFd> control_;  // set while ready
  std::string failure_;                // of the last start
  int starts_ = 0;
  int failed_starts_ = 0;  // in a row
  pid_t pid_ = 0;
  bool stopping_ = false;
  std::unique_ptr<ZygoteChild> spare_;
  std::vector<std::unique_ptr<ZygoteChild>> dismissed_;
  std::condition_variable_any dismissed_changed_;
  // Last: these start in the constructor and end first.
  std::jthread reaper_;
  std::jthread keeper_;
};

}  // namespace bicrl
