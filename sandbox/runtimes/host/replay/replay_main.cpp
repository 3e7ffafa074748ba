// bicrl-replay: runs a launch trace on fresh buffers, one process a run, and reports how each run ended and
// how long it took. See sandbox/trace.h for the files.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "replay.h"

namespace bicrl::replay {
namespace {

[[noreturn]] void usage(const std::string& what) {
  fprintf(stderr, "bicrl-replay: %s\n", what.c_str());
  exit(2);
}

Options parse_arguments(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--skip-launches") {
      o.skip_launches = true;
      continue;
    }
    if (i + 1 >= argc) usage(name + " needs a value");
    const std::string value = argv[++i];
    if (name == "--module") {
      o.module_path = value;
    } else if (name == "--trace") {
      o.trace_path = value;
    } else if (name == "--inputs") {
      o.inputs_path = value;
    } else if (name == "--thread-order") {
      if (value != "forward" && value != "reverse") usage("--thread-order is forward or reverse");
      o.reverse = value == "reverse";
    } else if (name == "--run-limit-ms") {
      o.run_limit_ms = strtod(value.c_str(), nullptr);
    } else {
      char* end = nullptr;
      const long number = strtol(value.c_str(), &end, 0);
      if (value.empty() || *end) usage(name + " needs a number, not '" + value + "'");
      if (name == "--draws") {
        o.draws = static_cast<int>(number);
      } else if (name == "--repeat") {
        o.repeat = static_cast<int>(number);
      } else if (name == "--poison") {
        o.poison = static_cast<unsigned char>(number);
      } else if (name == "--confirm") {
        o.confirm_poison = static_cast<int>(number & 0xff);
      } else if (name == "--output-fd") {
        o.output_fd = static_cast<int>(number);
      } else if (name == "--control-fd") {
        o.control_fd = static_cast<int>(number);
      } else {
        usage("unknown option " + name);
      }
    }
  }
  if (o.module_path.empty() || o.trace_path.empty() || o.inputs_path.empty() || o.output_fd < 0 ||
      o.control_fd < 0)
    usage("--module, --trace, --inputs, --output-fd and --control-fd are needed");
  if (o.draws < 1 || o.repeat < 1) usage("--draws and --repeat are at least 1");
  return o;
}

std::string file_bytes(const std::string& path) {
  std::string bytes;
  FILE* file = fopen(path.c_str(), "rbe");
  if (!file) usage("cannot open " + path + ": " + strerror(errno));
  char buffer[65536];
  while (const size_t n = fread(buffer, 1, sizeof buffer, file)) bytes.append(buffer, n);
  fclose(file);
  return bytes;
}

uint64_t hash_of(const unsigned char* bytes, size_t size) {
  uint64_t hash = 1469598103934665603u;
  size_t i = 0;
  for (uint64_t word; i + 8 <= size; i += 8) {
    memcpy(&word, bytes + i, 8);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  for (; i < size; ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
  return hash;
}

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct Run {
  std::string status = "fault", message;
  int signal = 0;
  double ms = 0;
};

class Parent {
 public:
  Parent(const Options& options, const Trace& trace) : options_(options), trace_(trace) {
    draw_bytes_ = trace.output_layout().draw_bytes;
    const int slots = options.draws + (options.confirm_poison >= 0 ? 2 : 0);
    const size_t bytes = draw_bytes_ * static_cast<size_t>(slots);
    if (bytes > 0) {
      struct stat info {};
      if (fstat(options.output_fd, &info) != 0 || static_cast<size_t>(info.st_size) < bytes)
        usage("the output memory is too small");
      void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, options.output_fd, 0);
      if (p == MAP_FAILED) usage(std::string("mmap of the output memory: ") + strerror(errno));
      outputs_ = static_cast<unsigned char*>(p);
    }
    void* page = mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) usage("no memory");
    report_ = static_cast<Report*>(page);
  }

  nlohmann::json draw(int d) { return draw_into(d, d, options_); }

  // Draw 0 in another order of threads, then without launches.
  nlohmann::json confirm() {
    nlohmann::json runs = nlohmann::json::array();
    Options other = options_;
    other.repeat = 1;
    other.poison = static_cast<unsigned char>(options_.confirm_poison);
    other.reverse = !options_.reverse;
    runs.push_back(draw_into(options_.draws, 0, other));
    other.skip_launches = true;
    runs.push_back(draw_into(options_.draws + 1, 0, other));
    return runs;
  }

 private:
  nlohmann::json draw_into(int slot, int d, const Options& options) {
    unsigned char* outputs = outputs_ ? outputs_ + draw_bytes_ * static_cast<size_t>(slot) : nullptr;
    if (outputs && slot >= options_.draws) memset(outputs, options.poison, draw_bytes_);
    nlohmann::json out{{"status", "ok"}, {"message", ""}, {"signal", 0}, {"stable", true}};
    std::vector<double> times;
    uint64_t first = 0;
    for (int r = 0; r < options.repeat; ++r) {
      if (r > 0 && outputs) memset(outputs, options.poison, draw_bytes_);
      const Run run = once(d, outputs, options);
      out["status"] = run.status;
      out["message"] = run.message;
      out["signal"] = run.signal;
      if (run.status != "ok") break;
      times.push_back(run.ms);
      const uint64_t hash = hash_of(outputs, draw_bytes_);
      if (r == 0) first = hash;
      if (hash != first) out["stable"] = false;
    }
    out["run_ms"] = times;
    return out;
  }

  // One run in a fresh process: fresh addresses, fresh globals.
  Run once(int d, unsigned char* outputs, const Options& options) {
    memset(report_, 0, sizeof *report_);
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) usage("socketpair failed");
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) usage(std::string("fork: ") + strerror(errno));
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(4);
      close(ends[0]);
      close(options_.control_fd);
      if (options_.output_fd != options_.control_fd) close(options_.output_fd);
      const int nothing = open("/dev/null", O_RDWR);
      if (nothing >= 0)
        for (int fd = 0; fd < 3; ++fd) dup2(nothing, fd);
      run_child(options, trace_, d, outputs, *report_, ends[1]);
    }
    close(ends[1]);
    Run run;
    double started = 0;
    if (await(ends[0], 'r') == 1) {
      started = now_ms();
      const char go = 'g';
      const int done = send(ends[0], &go, 1, MSG_NOSIGNAL) == 1 ? await(ends[0], 'd') : 0;
      run.ms = now_ms() - started;
      if (done == 1) run.status = "ok";
      if (done < 0) run.status = "timeout";
    }
    if (run.status != "fault") kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    close(ends[0]);
    if (run.status == "fault") explain(status, run);
    return run;
  }

  // 1 the byte came, 0 the child is gone, -1 the time is over.
  int await(int fd, char wanted) const {
    const double limit = options_.run_limit_ms;
    struct pollfd wait {
      fd, POLLIN, 0
    };
    const int n = poll(&wait, 1, limit > 0 ? static_cast<int>(limit) : -1);
    if (n == 0) return -1;
    char got = 0;
    return n > 0 && read(fd, &got, 1) == 1 && got == wanted ? 1 : 0;
  }

  // The report is the child's word; it can only choose among ways to fail.
  void explain(int status, Run& run) const {
    if (WIFSIGNALED(status)) {
      run.signal = WTERMSIG(status);
      const bool crash = run.signal == SIGSEGV || run.signal == SIGBUS || run.signal == SIGFPE ||
                         run.signal == SIGILL || run.signal == SIGABRT;
      run.status = crash ? "illegal_access" : run.signal == SIGXCPU ? "timeout" : "fault";
      run.message = std::string("ended by signal ") + strsignal(run.signal);
      return;
    }
    run.message = "ended without having finished";
    report_->status[sizeof report_->status - 1] = '\0';
    report_->message[sizeof report_->message - 1] = '\0';
    for (const char* known : {"illegal_access", "launch", "memory", "unsupported", "cheating"})
      if (strcmp(report_->status, known) == 0) run.status = known;
    if (!report_->status[0]) return;
    run.message.clear();
    for (const char* p = report_->message; *p; ++p) run.message += *p >= ' ' && *p < 127 ? *p : ' ';
  }

  const Options& options_;
  const Trace& trace_;
  size_t draw_bytes_ = 0;
  unsigned char* outputs_ = nullptr;
  Report* report_ = nullptr;
};

int run(int argc, char** argv) {
  const Options options = parse_arguments(argc, argv);
  const auto trace = Trace::decode(file_bytes(options.trace_path));
  if (!trace) usage("bad trace: " + trace.reason());
  Parent parent(options, trace.value());
  nlohmann::json line{{"draws", nlohmann::json::array()}};
  bool all_good = true;
  for (int d = 0; d < options.draws; ++d) {
    line["draws"].push_back(parent.draw(d));
    all_good = all_good && line["draws"].back()["status"] == "ok";
  }
  if (all_good && options.confirm_poison >= 0) line["confirm"] = parent.confirm();
  const std::string text = line.dump() + "\n";
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = write(options.control_fd, text.data() + done, text.size() - done);
    if (n <= 0) return 1;
    done += static_cast<size_t>(n);
  }
  return 0;
}

}  // namespace
}  // namespace bicrl::replay

int main(int argc, char** argv) { return bicrl::replay::run(argc, argv); }
