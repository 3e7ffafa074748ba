#include "sandbox/frontend/device/device_flags.h"

#include <algorithm>
#include <sstream>
#include <string_view>

namespace bicrl {
namespace {

constexpr size_t kMaxFlagBytes = 1000;

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}
template <size_t n>
bool is_one_of(std::string_view word, const std::string_view (&list)[n]) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

constexpr std::string_view kIgnored[] = {"-w",
                                         "--disable-warnings",
                                         "-v",
                                         "--verbose",
                                         "-g",
                                         "--debug",
                                         "--expt-relaxed-constexpr",
                                         "-expt-relaxed-constexpr",
                                         "--expt-extended-lambda",
                                         "-expt-extended-lambda",
                                         "--extended-lambda",
                                         "-extended-lambda",
                                         "--restrict",
                                         "-restrict",
                                         "--resource-usage",
                                         "-res-usage",
                                         "--keep",
                                         "-keep",
                                         "--source-in-ptx",
                                         "-src-in-ptx",
                                         "-fPIC",
                                         "-Wall",
                                         "-Wextra",
                                         "-march=native",
                                         "-fopenmp",
                                         "-funroll-loops",
                                         "-ffast-math",
                                         "--allow-unsupported-compiler",
                                         "-allow-unsupported-compiler",
                                         "--split-compile=0",
                                         "-Xfatbin=-compress-all"};
constexpr std::string_view kIgnoredPrefixes[] = {"-O",
                                                 "--optimize=",
                                                 "-arch=",
                                                 "--gpu-architecture=",
                                                 "-gencode=",
                                                 "--generate-code=",
                                                 "-code=",
                                                 "--gpu-code=",
                                                 "-Xptxas=",
                                                 "--ptxas-options=",
                                                 "-Xcompiler=",
                                                 "--compiler-options=",
                                                 "--threads=",
                                                 "-t=",
                                                 "-Xcudafe=",
                                                 "-diag-suppress=",
                                                 "--diag-suppress=",
                                                 "-Wno-",
                                                 "--cudart=",
                                                 "-cudart="};
// Their value may be a word of its own.
constexpr std::string_view kIgnoredWithValue[] = {
    "-arch",    "--gpu-architecture", "-gencode",       "--generate-code",    "-code",     "--gpu-code",
    "-Xptxas",  "--ptxas-options",    "-Xcompiler",     "--compiler-options", "--threads", "-t",
    "-Xcudafe", "--cudafe-options",   "-diag-suppress", "--diag-suppress",    "-Xlinker",  "--linker-options",
    "-Xfatbin", "--fatbin-options",   "--cudart"};
constexpr std::string_view kKeptAlone[] = {"--use_fast_math",
                                           "-use_fast_math",
                                           "-lineinfo",
                                           "--generate-line-info",
                                           "--extra-device-vectorization",
                                           "-extra-device-vectorization"};
constexpr std::string_view kKeptWithNumber[] = {"-ftz",          "--ftz",         "-prec-div", "--prec-div",
                                                "-prec-sqrt",    "--prec-sqrt",   "-fmad",     "--fmad",
                                                "-maxrregcount", "--maxrregcount"};

// load_inline defines them always: __half has no operators and no implicit conversions.
constexpr std::string_view kTorchMacros[] = {"__CUDA_NO_HALF_OPERATORS__", "__CUDA_NO_HALF_CONVERSIONS__",
                                             "__CUDA_NO_BFLOAT16_CONVERSIONS__",
                                             "__CUDA_NO_HALF2_OPERATORS__"};

// NAME, or NAME=VALUE if it may have a value, on one line.
bool is_macro(std::string_view definition, bool with_value) {
  const size_t equals = definition.find('=');
  const std::string_view name = definition.substr(0, equals);
  if (name.empty() || (name[0] >= '0' && name[0] <= '9') || (!with_value && equals != std::string_view::npos))
    return false;
  if (definition.find_first_of(std::string_view("\n\r\0", 3)) != std::string_view::npos ||
      definition.back() == '\\')
    return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
  });
}

std::string macro_line(std::string_view definition, bool defines) {
  const size_t equals = definition.find('=');
  const std::string name(definition.substr(0, equals));
  std::string text = "#undef " + name + "\n";
  if (defines)
    text += "#define " + name + " " +
            (equals == std::string_view::npos ? "1" : std::string(definition.substr(equals + 1))) + "\n";
  return text;
}

// The toolkit's headers, or the shim's, may ask for it.
bool steers_headers(std::string_view definition) {
  return definition.substr(0, definition.find('=')) == "NDEBUG" || starts_with(definition, "_") ||
         starts_with(definition, "CUB") || starts_with(definition, "CCCL") ||
         starts_with(definition, "CUDA") || starts_with(definition, "CURAND") ||
         starts_with(definition, "LIBCUDACXX") || starts_with(definition, "BICRL");
}

// What a shell would read as more than a part of a word.
bool speaks_to_shell(std::string_view flag) {
  return flag.find_first_of(std::string_view("\n\r\0`$;&|<>(){}*?#!~", 19)) != std::string_view::npos ||
         (!flag.empty() && flag.back() == '\\');
}

// load_inline joins the flags to a shell's command line, so one string may hold several words, and quotes go.
std::vector<std::string> split_words(const std::vector<std::string>& flags) {
  std::vector<std::string> words;
  for (const std::string& flag : flags) {
    if (speaks_to_shell(flag)) continue;
    std::string word;
    bool begun = false;
    char quote = 0;
    for (size_t i = 0; i < flag.size(); ++i) {
      const char c = flag[i];
      if (quote ? c == quote : c == '"' || c == '\'') {
        quote = quote ? 0 : c;
        begun = true;
      } else if (c == '\\' && quote != '\'') {
        word += flag[++i];
        begun = true;
      } else if (!quote && (c == ' ' || c == '\t')) {
        if (begun) words.push_back(std::move(word));
        word.clear();
        begun = false;
      } else {
        word += c;
        begun = true;
      }
    }
    if (begun) words.push_back(std::move(word));
  }
  return words;
}

// The host compiler's flags of -Xcompiler=A,B, for the one at `i`; nothing if it is another flag. `i` goes to
// the last word that was read.
std::vector<std::string> host_flags(const std::vector<std::string>& words, size_t& i) {
  std::string value;
  for (const std::string_view name : {"-Xcompiler", "--compiler-options"}) {
    if (words[i] == name && i + 1 < words.size()) {
      value = words[++i];
    } else if (starts_with(words[i], std::string(name) + "=")) {
      value = words[i].substr(name.size() + 1);
    } else {
      continue;
    }
    std::vector<std::string> found;
    std::istringstream list(value);
    for (std::string word; std::getline(list, word, ',');) found.push_back(word);
    return found;
  }
  return {};
}

class Reader {
 public:
  explicit Reader(const std::vector<std::string>& flags) : words_(split_words(flags)) {
    for (const std::string& flag : flags)
      if (speaks_to_shell(flag)) refuse(flag, "holds what a shell would read");
  }

  DeviceFlags run() {
    for (const std::string_view macro : kTorchMacros) result_.options.push_back("-D" + std::string(macro));
    for (at_ = 0; at_ < words_.size() && result_.refused.empty(); ++at_) read(words_[at_]);
    result_.options.push_back("-std=" + standard_);
    return std::move(result_);
  }

 private:
  void refuse(const std::string& word, const std::string& reason) {
    result_.refused = "the flag '" + word.substr(0, 80) + "' " + reason;
  }

  // The value of an option: behind its `=`, or the next word.
  bool take_value(const std::string& word, std::string_view name, std::string& value) {
    if (word.size() > name.size() && word[name.size()] == '=') {
      value = word.substr(name.size() + 1);
      return true;
    }
    if (word.size() != name.size()) return false;
    if (++at_ < words_.size()) value = words_[at_];
    return true;
  }

  bool macro(const std::string& word) {
    for (const std::string_view name : {"-D", "--define-macro", "-U", "--undefine-macro"}) {
      if (!starts_with(word, name)) continue;
      std::string definition;
      if (name.size() == 2 && word.size() > 2) {
        definition = word.substr(2);
      } else if (!take_value(word, name, definition)) {
        continue;
      }
      const bool defines = name == "-D" || name == "--define-macro";
      if (!is_macro(definition, defines)) {
        refuse(word, "names no macro");
      } else if (const auto known =
                     std::find(result_.options.begin(), result_.options.end(), "-D" + definition);
                 !defines && known != result_.options.end()) {
        result_.options.erase(known);
      } else if (steers_headers(definition)) {
        result_.options.push_back((defines ? "-D" : "-U") + definition);
      } else {
        result_.macros += macro_line(definition, defines);
      }
      return true;
    }
    return false;
  }

  bool standard(const std::string& word) {
    for (const std::string_view name : {"-std", "--std"}) {
      std::string value;
      if (!starts_with(word, name) || !take_value(word, name, value)) continue;
      if (starts_with(value, "gnu++")) value = "c++" + value.substr(5);
      if (value == "c++14" || value == "c++17" || value == "c++20") {
        // The shim needs C++17, which reads C++14 as it is.
        standard_ = value == "c++14" ? "c++17" : value;
      } else {
        refuse(word, "names a standard other than C++14, 17 or 20");
      }
      return true;
    }
    return false;
  }

  bool number(const std::string& word) {
    for (const std::string_view name : kKeptWithNumber) {
      std::string value;
      if (!starts_with(word, name) || !take_value(word, name, value)) continue;
      if (value == "true" || value == "false" ||
          (!value.empty() && value.size() < 5 &&
           std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; }))) {
        result_.options.push_back(std::string(name) + "=" + value);
      } else {
        refuse(word, "has no number");
      }
      return true;
    }
    return false;
  }

  void read(const std::string& word) {
    if (word.empty()) return;
    if (word.size() > kMaxFlagBytes) return refuse(word, "is too long");
    if (macro(word) || standard(word) || number(word)) return;
    const size_t before = at_;
    for (const std::string& host : host_flags(words_, at_)) macro(host);
    if (at_ != before) return;  // the next word was its value
    if (is_one_of(word, kKeptAlone)) {
      result_.options.push_back(word);
      return;
    }
    if (is_one_of(word, kIgnored)) return;
    for (const std::string_view prefix : kIgnoredPrefixes)
      if (starts_with(word, prefix)) return;
    if (is_one_of(word, kIgnoredWithValue)) {
      ++at_;
      return;
    }
    if (starts_with(word, "-I") || starts_with(word, "-L") || starts_with(word, "-isystem") ||
        starts_with(word, "--include-path") || starts_with(word, "--library-path"))
      return refuse(word, "names a folder");
    if (starts_with(word, "-include") || starts_with(word, "--pre-include") || starts_with(word, "@") ||
        starts_with(word, "--options-file") || starts_with(word, "-optf"))
      return refuse(word, "names a file to read");
    refuse(word, "is not known");
  }

  const std::vector<std::string> words_;
  size_t at_ = 0;
  std::string standard_ = "c++17";
  DeviceFlags result_;
};

}  // namespace

DeviceFlags read_device_flags(const std::vector<std::string>& cuda_cflags) {
  return Reader(cuda_cflags).run();
}

std::string macro_lines(const std::vector<std::string>& flags) {
  const std::vector<std::string> words = split_words(flags);
  std::string text;
  const auto read = [&text](std::string_view word, std::string_view next) {
    const bool defines = starts_with(word, "-D");
    if (!defines && !starts_with(word, "-U")) return false;
    const std::string_view definition = word.size() > 2 ? word.substr(2) : next;
    if (definition.size() <= kMaxFlagBytes && is_macro(definition, defines))
      text += macro_line(definition, defines);
    return word.size() == 2;
  };
  for (size_t i = 0; i < words.size(); ++i) {
    const size_t before = i;
    for (const std::string& host : host_flags(words, i)) read(host, "");
    if (i == before && read(words[i], i + 1 < words.size() ? words[i + 1] : "")) ++i;
  }
  return text;
}

}  // namespace bicrl
