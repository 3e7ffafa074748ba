#include "tests/ptx/random_function.h"

#include "common/error.h"

namespace bicrl::ptx::testing {
namespace {

class BodyWriter {
 public:
  explicit BodyWriter(RandomStream& random)
      : random_(random),
        registers_(1 + random.below(5)),
        instructions_(random.below(24)),
        labels_(1 + random.below(5)) {}

  std::string write() {
    std::string body;
    for (uint64_t i = 0; i < labels_; ++i) places_.push_back(random_.below(instructions_ + 1));
    body += "ts: .branchtargets " + label() + ", " + label() + ";\n";
    for (uint64_t i = 0; i <= instructions_; ++i) {
      for (uint64_t l = 0; l < labels_; ++l)
        if (places_[l] == i) body += concat("L", l, ":\n");
      if (i < instructions_) body += instruction() + "\n";
    }
    return body;
  }

 private:
  std::string label() { return concat("L", random_.below(labels_)); }
  std::string reg(const char* kind) { return concat(kind, random_.below(registers_)); }
  std::string any() {
    static const char* kKinds[] = {"%r", "%rd", "%h", "%p"};
    return reg(kKinds[random_.below(4)]);
  }
  std::string guard() {
    return random_.below(4) ? "" : concat("@", random_.below(2) ? "!" : "", reg("%p"), " ");
  }

  std::string instruction() {
    switch (random_.below(12)) {
      case 0:
      case 1:
        return concat("@", reg("%p"), " bra ", label(), ";");
      case 2:
        return random_.below(3) ? "mov.b32 " + reg("%r") + ", 1;" : concat("bra ", label(), ";");
      case 3:
        return random_.below(3) ? "st.b32 [" + reg("%rd") + "], " + any() + ";" : guard() + "ret;";
      case 4:
        return concat(guard(), "ld.v2.b32 {", reg("%r"), ", ", any(), "}, [", reg("%rd"), "];");
      case 5:
        return concat(guard(), "setp.lt.s32 ", reg("%p"), "|", reg("%p"), ", ", reg("%r"), ", ", reg("%r"),
                      ";");
      case 6:
        return random_.below(4) ? concat(guard(), "mov.b64 ", reg("%rd"), ", 5;")
                                : concat("brx.idx ", reg("%r"), ", ts;");
      case 7:
        return concat(guard(), "bar.sync ", reg("%r"), ";");
      default:
        return concat(guard(), "op ", any(), ", ", any(), random_.below(2) ? ", " + any() : "", ";");
    }
  }

  RandomStream& random_;
  uint64_t registers_, instructions_, labels_;
  std::vector<uint64_t> places_;
};

}  // namespace

std::string random_body(RandomStream& random) { return BodyWriter(random).write(); }

}  // namespace bicrl::ptx::testing
