// bicrl-replay: runs a launch trace on fresh buffers, one process per run, and reports how each draw ended
// and how long its runs took. See sandbox/trace.h for the files.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "replay.h"

namespace bicrl::replay {
namespace {

long number(const std::string& name, const std::string& value, long least, long most) {
  char* end = nullptr;
  errno = 0;
  const long n = strtol(value.c_str(), &end, 0);
  if (value.empty() || *end || errno != 0 || n < least || n > most)
    throw InputError(concat(name, " is a whole number from ", least, " to ", most, ", not '", value, "'"));
  return n;
}

double milliseconds(const std::string& name, const std::string& value) {
  char* end = nullptr;
  const double n = strtod(value.c_str(), &end);
  if (value.empty() || *end || !(n >= 0 && n <= 1e9))
    throw InputError(concat(name, " is a number of milliseconds from 0 to 1e9, not '", value, "'"));
  return n;
}

Options parse_arguments(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--skip-launches") {
      o.skip_launches = true;
      continue;
    }
    if (name == "--stop-early") {
      o.stop_early = true;
      continue;
    }
    if (i + 1 >= argc) throw InputError(name + " is unknown or needs a value");
    const std::string value = argv[++i];
    const auto count = [&](long least, long most) {
      return static_cast<int>(number(name, value, least, most));
    };
    if (name == "--module") {
      o.module_path = value;
    } else if (name == "--trace") {
      o.trace_path = value;
    } else if (name == "--inputs") {
      o.inputs_path = value;
    } else if (name == "--thread-order") {
      if (value != "forward" && value != "reverse")
        throw InputError("--thread-order is forward or reverse, not '" + value + "'");
      o.reverse = value == "reverse";
    } else if (name == "--draws") {
      o.draws = count(1, 10000);
    } else if (name == "--repeat") {
      o.repeat = count(1, 10000);
    } else if (name == "--poison") {
      o.poison = static_cast<unsigned char>(count(0, 255));
    } else if (name == "--confirm") {
      o.confirm_poison = count(0, 255);
    } else if (name == "--run-limit-ms") {
      o.run_limit_ms = milliseconds(name, value);
    } else if (name == "--output-fd") {
      o.output_fd = count(3, INT_MAX);
    } else if (name == "--control-fd") {
      o.control_fd = count(3, INT_MAX);
    } else {
      throw InputError("unknown option " + name);
    }
  }
  if (o.module_path.empty() || o.trace_path.empty() || o.inputs_path.empty() || o.output_fd < 0 ||
      o.control_fd < 0)
    throw InputError("--module, --trace, --inputs, --output-fd and --control-fd are needed");
  return o;
}

std::string file_bytes(const std::string& path) {
  FILE* file = fopen(path.c_str(), "rbe");
  if (!file) throw InputError("cannot open " + path + ": " + strerror(errno));
  std::string bytes;
  char buffer[65536];
  while (const size_t n = fread(buffer, 1, sizeof buffer, file)) bytes.append(buffer, n);
  const bool failed = ferror(file) != 0;
  fclose(file);
  if (failed) throw InputError("cannot read " + path);
  return bytes;
}

// What the children would blame on the candidate is found here.
void check_files(const Options& o, const Trace& trace) {
  struct stat info {};
  const auto draws = static_cast<uint64_t>(o.draws);
  const uint64_t slots = draws + (o.confirm_poison >= 0 ? 2 : 0);
  if (fstat(o.output_fd, &info) != 0 ||
      static_cast<uint64_t>(info.st_size) < slots * trace.output_layout().draw_bytes)
    throw InputError(concat("--output-fd ", o.output_fd, " is no file that holds ", slots, " draws"));
  if (stat(o.inputs_path.c_str(), &info) != 0 ||
      static_cast<uint64_t>(info.st_size) < draws * trace.inputs.draw_bytes)
    throw InputError(concat(o.inputs_path, " is no file that holds ", draws, " draws"));
  if (access(o.module_path.c_str(), R_OK) != 0)
    throw InputError("cannot open " + o.module_path + ": " + strerror(errno));
}

void send_report(int fd, const nlohmann::json& report) {
  const std::string text = report.dump() + "\n";
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = write(fd, text.data() + done, text.size() - done);
    if (n <= 0) throw InputError(concat("--control-fd ", fd, ": ", strerror(errno)));
    done += static_cast<size_t>(n);
  }
}

nlohmann::json to_json(const DrawReport& draw) {
  return {
      {"status", draw.status}, {"message", draw.message}, {"signal", draw.signal}, {"run_ms", draw.run_ms}};
}

// Draw 0 in the other order of threads, then without launches.
nlohmann::json confirm(const Options& options, const Trace& trace) {
  Options other = options;
  other.repeat = 1;
  other.poison = static_cast<unsigned char>(options.confirm_poison);
  other.reverse = !options.reverse;
  nlohmann::json runs = nlohmann::json::array();
  runs.push_back(to_json(replay_draw(other, trace, 0, options.draws)));
  other.skip_launches = true;
  runs.push_back(to_json(replay_draw(other, trace, 0, options.draws + 1)));
  return runs;
}

void run(int argc, char** argv) {
  const Options options = parse_arguments(argc, argv);
  const auto trace = Trace::decode(file_bytes(options.trace_path));
  if (!trace) throw InputError("bad trace " + options.trace_path + ": " + trace.reason());
  check_files(options, trace.value());
  guard_parent();
  nlohmann::json report{{"draws", nlohmann::json::array()}};
  bool all_good = true;
  for (int d = 0; d < options.draws && (all_good || !options.stop_early); ++d) {
    const DrawReport draw = replay_draw(options, trace.value(), d, d);
    all_good = all_good && draw.status == "ok";
    report["draws"].push_back(to_json(draw));
  }
  if (all_good && options.confirm_poison >= 0) report["confirm"] = confirm(options, trace.value());
  send_report(options.control_fd, report);
}

}  // namespace
}  // namespace bicrl::replay

int main(int argc, char** argv) {
  try {
    bicrl::replay::run(argc, argv);
    return 0;
  } catch (const bicrl::Error& error) {
    fprintf(stderr, "bicrl-replay: %s\n", error.what());
    return static_cast<int>(error.code());
  }
}
