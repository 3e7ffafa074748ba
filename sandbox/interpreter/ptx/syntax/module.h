// A PTX module as its text says it: the tree that parse_module() makes and lowering reads. Nothing here knows
// how to run it. Plain values; immutable once made, and then thread-safe.
//
// The folders of ptx/ in order: text -> parse_module() -> Module -> lower_kernel() (control flow, register
// slots, the function of each opcode) -> Kernel -> Machine, which runs it on a DeviceMemory. Source of the
// language: NVIDIA, "Parallel Thread Execution ISA", version 9.0; section names in comments are that
// manual's.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bicrl::ptx {

// Fundamental types and the packed ones that instructions name.
enum class Type : uint8_t {
  kNone,
  kPred,
  kB8,
  kB16,
  kB32,
  kB64,
  kB128,
  kU8,
  kU16,
  kU32,
  kU64,
  kS8,
  kS16,
  kS32,
  kS64,
  kF16,
  kF16x2,
  kBF16,
  kBF16x2,
  kTF32,
  kF32,
  kF64
};
Type parse_type(std::string_view name);  // "f32"; kNone if it names no type
std::string to_string(Type type);        // "f32"
int bytes_of(Type type);                 // 0 of a predicate

enum class Space : uint8_t { kGeneric, kGlobal, kShared, kLocal, kConst, kParam };

// Special registers (section "Special Registers"), as far as they are supported.
enum class Special : uint8_t {
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLaneId,
  kWarpId,
  kNWarpId,
  kSmId,
  kNSmId,
  kGridId,
  kLaneMaskEq,
  kLaneMaskLe,
  kLaneMaskLt,
  kLaneMaskGe,
  kLaneMaskGt,
  kClock,
  kClockHi,
  kClock64,
  kGlobalTimer,
  kEnvReg1,
  kEnvReg2,
  kDynamicSharedBytes,
  kTotalSharedBytes,
  kReservedSharedOffset0,  // of the shared memory that the system software keeps; cooperative groups use it
  kReservedSharedOffset1
};
std::string to_string(Special special);  // "%tid.x"

struct Operand {
  enum class Kind : uint8_t {
    kRegister,  // `index` into the function's registers; `negated` for !%p
    kInteger,   // `bits`, sign-extended
    kFloat,     // `bits` of `type`: kF32 (0f...) or kF64 (0d... and decimal, also in f32 instructions)
    kSpecial,   // `special`
    kVariable,  // the address of variable `index`, plus `bits`
    kFunction,  // the address of function `index`
    kLabel,     // `index` into the function's labels
    kAddress,   // [element 0 + `bits`]: a register, a variable, or an absolute integer address
    kVector,    // {elements}
    kPair,      // p|q: the two elements, of which either may be a sink
    kTargets,   // `index` into the function's branch_targets
    kSink       // _
  };
  Kind kind = Kind::kSink;
  bool negated = false;
  Type type = Type::kNone;
  Special special = Special::kTidX;
  uint32_t index = 0;
  int64_t bits = 0;
  std::vector<Operand> elements;
};

// Where in the device text an instruction comes from, by NVRTC's line information; line 0: not known.
struct SourceLine {
  uint32_t file = 0;  // index into Module::files
  uint32_t line = 0;
};

struct Instruction {
  std::string opcode;                  // "ld"
  std::vector<std::string> modifiers;  // {"global", "nc", "v4", "f32"}, in the order of the text
  int32_t guard = -1;                  // predicate register that guards it; -1: none
  bool guard_negated = false;
  std::vector<Operand> operands;  // in the order of the text, destinations first
  // Of `call`: operands are return variables, then the function or register, then arguments (variables of the
  // param space; a hand-written call may also name registers and numbers).
  uint32_t returns = 0;
  int32_t prototype = -1;  // of an indirect call, into Function::prototypes
  uint32_t text_line = 0;  // of the PTX text
  SourceLine source;

  bool has(std::string_view modifier) const;
  std::string name() const;  // "ld.global.nc.v4.f32"
};

// A variable of the module, or of a function (local, shared and param ones).
struct Variable {
  // An address that the linker would fill in: `target` is a variable, or a function.
  struct Relocation {
    uint32_t offset = 0;  // within the initial bytes; 8 bytes long
    bool to_function = false;
    uint32_t target = 0;
    int64_t addend = 0;
  };
  std::string name;
  Space space = Space::kGlobal;
  Type type = Type::kB8;
  uint32_t alignment = 1;
  uint64_t bytes = 0;
  bool unsized = false;           // extern .shared name[]: dynamic shared memory
  bool is_declared_only = false;  // extern, and not defined in this module
  // The first initial bytes; the others are zeros (global, const). Shared and local memory has none.
  std::string initial;
  std::vector<Relocation> relocations;
};

struct Register {
  std::string name;
  Type type = Type::kNone;
};

// Parameters and results of a function, in order, as variables of the module's list.
struct Prototype {
  std::string name;
  std::vector<uint32_t> returns;
  std::vector<uint32_t> parameters;
  bool no_return = false;
};

struct LaunchBounds {
  uint32_t max_threads[3] = {0, 0, 0};       // .maxntid; 0: not given
  uint32_t required_threads[3] = {0, 0, 0};  // .reqntid
  uint32_t min_blocks = 0;                   // .minnctapersm
  uint32_t max_registers = 0;                // .maxnreg
};

struct Function {
  std::string name;
  bool is_entry = false;
  bool is_declared_only = false;  // .extern .func: vprintf, malloc, __assertfail
  Prototype prototype;
  LaunchBounds bounds;
  std::vector<Register> registers;  // those that the body names, in the order of first use
  std::vector<uint32_t> variables;  // declared within it, parameters excluded
  std::vector<Instruction> body;    // labels lie before the instruction that they name
  std::vector<std::string> label_names;
  std::vector<uint32_t> labels;                       // index into `body`; body.size() is its end
  std::vector<Prototype> prototypes;                  // .callprototype
  std::vector<std::vector<uint32_t>> branch_targets;  // .branchtargets: labels, of brx.idx
};

struct Module {
  int version_major = 0, version_minor = 0;
  std::string target;  // "sm_90"
  std::vector<std::string> files;
  std::vector<Variable> variables;  // of the module and of all functions
  std::vector<Function> functions;

  const Function* find_entry(std::string_view name) const;
};

}  // namespace bicrl::ptx
