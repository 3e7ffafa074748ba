// Host compiler that turns the units of a host part into a module, and the commands that it and its linker
// are started with. Nothing of a candidate is executed or compiled here.
#pragma once
#include <array>
#include <filesystem>
#include <string>
#include <vector>

namespace bicrl {

// The compiler of the compile box. Found once; throws Error(kUnavailable) if there is none.
struct HostCompiler {
  std::string path;
  std::string version;
};
const HostCompiler& host_compiler();

// The headers that a unit can begin with, precompiled under the standard that they are for. A program takes
// the last of those that its units begin with.
struct Prelude {
  const char* file;
  const char* standard;
};
inline constexpr std::array<Prelude, 3> kPreludes = {
    {{"prelude.h", "-std=c++17"}, {"prelude_std.h", "-std=c++17"}, {"prelude_20.h", "-std=c++20"}}};

// `host_folder` is share_folder()/"host" on this machine; commands name it as `target_folder`, where the box
// has it. All arguments are those that the compiler's driver would give. Throw Error(kUnavailable) if the
// driver does not say them.

// The compiler proper, which reads the prelude and then kUnitPath (warm_compiler.h), and writes to its
// output.
std::vector<std::string> warm_compiler_command(const Prelude& prelude,
                                               const std::filesystem::path& host_folder,
                                               const std::filesystem::path& target_folder);
// From the assembly of units_0.s and so on, in the working folder, to `output`: one command for each unit,
// and the linker's, with `units` objects.
class ModuleLinker {
 public:
  ModuleLinker(const std::filesystem::path& host_folder, const std::filesystem::path& target_folder);
  std::vector<std::vector<std::string>> commands(size_t units, const std::string& output) const;

 private:
  std::string assembler_;
  std::vector<std::string> linker_;  // with kObjects and kOutput for what differs
};

// Names of the preludes whose precompiled form this compiler does not use: another version made it, or it is
// not there. The verifier then takes longer to start, and candidates several times as long to compile.
std::vector<std::string> unusable_preludes(const std::filesystem::path& host_folder);

// Names the compiler, its version and the flags: part of the key of a compile cache.
std::string host_toolchain_id(const std::filesystem::path& host_folder);

}  // namespace bicrl
