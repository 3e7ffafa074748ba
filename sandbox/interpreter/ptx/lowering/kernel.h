// A kernel as the interpreter runs it: the basic blocks of the entry and of all functions that it can call,
// with the place of every operand in a frame of per-lane values and the code of every operation. Made by
// lower_kernel(); immutable, thread-safe, and independent of addresses and launches.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/error.h"
#include "sandbox/interpreter/ptx/alu/alu.h"
#include "sandbox/interpreter/ptx/syntax/module.h"

namespace bicrl::ptx {

class WarpGroup;
struct Operation;

// The place of a value in a frame: bytes from its start per lane. The array of a value begins at slot *
// lanes.
using Slot = uint32_t;
constexpr Slot kNoSlot = ~Slot{0};

// Runs one operation for the warp group's active lanes. Throws FaultError.
using Handler = void (*)(WarpGroup&, const Operation&);

enum class Flow : uint8_t {
  kAlu,            // computed by `alu`
  kHandler,        // done by `handler`; the guard has been applied to the active lanes
  kBranch,         // to block `target`; lanes that the guard leaves out go to the next block
  kIndexedBranch,  // to a block of the table `target`, by the value of source 0
  kCall,           // of callee `target`
  kIndirectCall,   // of the callee whose address is source 0
  kReturn,
  kExit,
  // The only operation of its block, a barrier or a warp collective. Lanes that the guard leaves out go on;
  // the others wait for those that `collective` names, and then go on as well.
  kCollective
};

// Who has to arrive at an operation before lanes go on behind it.
enum class Collective : uint8_t {
  kNone,
  kBlock,  // the block's threads: `handler` counts them
  kWarp    // the lanes of a warp that the mask, source 0, names; then `handler` runs for all of them
};

// What an operation on memory, or a fence, promises to other threads (section "Memory Consistency Model").
struct MemoryOrder {
  enum class Scope : uint8_t { kBlock, kDevice };  // a block is its own cluster; the system counts as device
  Scope scope = Scope::kDevice;
  bool strong = false;       // volatile, relaxed, acquire, release, atomic
  bool is_volatile = false;  // and says no more than that
  bool acquires = false, releases = false;
};

constexpr int kMaxOperands = 4;
constexpr int kAddressPlans = 8;

// One operand in a frame.
struct Place {
  Slot slot = kNoSlot;
  uint8_t bytes = 0;  // of an element of its array: 2, 4, 8, 16; 4 of a predicate
  bool operator==(const Place&) const = default;
  explicit operator bool() const { return slot != kNoSlot; }
};

struct Operation {
  Flow flow = Flow::kHandler;
  bool guard_negated = false;
  bool negated_source = false;  // of a vote: the predicate counts as its opposite
  bool aligned = false;         // of a barrier: lanes of a warp have to come to it side by side
  Collective collective = Collective::kNone;
  Space space = Space::kGeneric;
  Type type = Type::kNone;  // of an element in memory, or of a warp operation's values
  uint8_t count = 1;        // elements of a vector access
  MemoryOrder order;        // of memory operations and fences
  uint16_t detail = 0;      // which operation of its family the handler shall do
  Slot guard = kNoSlot;     // of a predicate
  std::array<Place, kMaxOperands> destinations{};
  std::array<Place, kMaxOperands> sources{};
  AluFunction alu = nullptr;
  ShadowFunction shadow = nullptr;
  Handler handler = nullptr;
  Place address;              // of memory operations; none if the address is `offset` alone
  bool plans = false;         // a load or a store: works with an address plan
  bool writes = false;        // a store, if it is one of them
  bool non_coherent = false;  // a load that need not see what the launch writes
  bool swaps = false;         // an atomic compare-and-swap
  uint8_t plan = 0;           // which of the warp group's address plans it makes,
  bool reuses_plan = false;   // or takes as an earlier operation of the block made it
  int64_t offset = 0;         // added to the address
  uint32_t target = 0;        // block; callee; table of an indexed branch
  uint32_t next_block = 0;    // of a call: where lanes go on when they come back
  uint32_t more = 0;          // into Kernel::more, for operations with more operands
  SourceLine source;
  uint32_t text_line = 0;  // of the PTX
};

struct BasicBlock {
  uint32_t first = 0;
  uint32_t count = 0;
};

// Values that slots hold from the start of a launch on.
struct Constant {
  enum class Kind : uint8_t {
    kBits,      // `bits`
    kVariable,  // the address of variable `index` of the module (global or constant memory), plus `bits`
  };
  Kind kind = Kind::kBits;
  Place place;
  int64_t bits = 0;
  uint32_t index = 0;
};

struct SpecialPlace {
  Special special = Special::kTidX;
  Place place;
};

// A shared variable in a block's shared memory. Between two of them lie bytes of nobody.
struct SharedWindow {
  uint32_t begin = 0;
  uint32_t bytes = 0;     // 0 of dynamic shared memory: the launch says it
  std::string name = {};  // mangled; of dynamic shared memory empty
};

// Bytes of per-lane memory: of a variable in local memory, or of a parameter or result of a call.
struct LocalRange {
  uint32_t begin = 0;
  uint32_t bytes = 0;
};

// A function that the kernel can call, and the kernel itself (the first).
struct Callee {
  std::string name;
  uint32_t function = 0;  // of the module
  uint32_t entry_block = 0;
  std::vector<LocalRange> parameters, returns;
  std::vector<Place> poisoned;  // registers that may be read before they are written
  // A lane can be in it twice: then these are saved and come back.
  bool recursive = false;
  std::vector<Place> registers;    // all of them; of a recursive function
  std::vector<LocalRange> ranges;  // of its variables, parameters and calls' parameters
};

// What a call passes: copied to the callee's parameters, and its results back.
struct CallSite {
  std::vector<LocalRange> arguments, results;
};

struct Kernel {
  std::string name;
  const Module* module = nullptr;  // must outlive the kernel
  std::vector<Operation> operations;
  std::vector<BasicBlock> blocks;
  std::vector<std::vector<uint32_t>> branch_tables;
  std::vector<Callee> callees;
  std::vector<CallSite> call_sites;      // by Operation::more
  std::vector<std::vector<Place>> more;  // by Operation::more
  Slot frame_bytes = 0;                  // per lane
  std::vector<Constant> constants;
  std::vector<SpecialPlace> specials;
  std::vector<LocalRange> locals;    // ascending: what an address of local memory can mean
  uint32_t local_bytes = 0;          // per lane
  std::vector<SharedWindow> shared;  // ascending; dynamic shared memory last, if the kernel has it
  bool has_dynamic_shared = false;
  uint32_t static_shared_bytes = 0;  // as the launch limit counts them
  uint32_t parameter_bytes = 0;
  std::vector<LocalRange> parameters;  // where each is among these bytes
  LaunchBounds bounds;
};

// Makes the kernel of an entry, or says what it uses that the interpreter does not have.
Result<Kernel> lower_kernel(const Module& module, const std::string& entry);

}  // namespace bicrl::ptx
