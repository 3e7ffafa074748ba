// What holds of every entry of the table, whatever it computes.
#include <catch2/catch_test_macros.hpp>
#include <cstring>

#include "alu_support.h"

namespace bicrl::ptx {
namespace {

std::vector<Column> random_sources(const std::string& name, const AluEntry& entry, Values& values) {
  std::vector<Column> sources;
  for (Type type : entry.sources)
    if (type != Type::kNone) sources.push_back(values.column(type));
  if (name == "lop3.b32") std::fill(sources[3].begin(), sources[3].end(), values.bits(8));
  return sources;
}

TEST_CASE("every entry is found by an instruction of its name") {
  for (const auto& [name, entry] : alu_table(IsaVariant::kBaseline).entries()) {
    INFO(name);
    if (name.find("/to") != std::string::npos || name.find("/from") != std::string::npos) continue;
    auto found = find_alu_variant(IsaVariant::kBaseline, make_instruction(name));
    REQUIRE(found.has_value());
    REQUIRE(found->run == entry.run);
  }
  REQUIRE(!find_alu(make_instruction("ld.global.u32")));
  REQUIRE(!find_alu(make_instruction("add.f16x3")));
  REQUIRE(!find_alu(make_instruction("add")));
  REQUIRE(!find_alu(make_instruction("mov.b32/pack3")));
}

TEST_CASE("the variants give the same bits, values and shadows") {
  if (!can_run(IsaVariant::kAvx2)) SKIP("this processor has no AVX2");
  REQUIRE(alu_table(IsaVariant::kAvx2).entries().size() == alu_table(IsaVariant::kBaseline).entries().size());
  Values values(1);
  for (const auto& [name, entry] : alu_table(IsaVariant::kBaseline).entries()) {
    const AluEntry& variant = entry_of(name, IsaVariant::kAvx2);
    REQUIRE(variant.destinations == entry.destinations);
    REQUIRE(variant.sources == entry.sources);
    for (int round = 0; round < 3; ++round) {
      std::vector<Column> sources = random_sources(name, entry, values), shadows;
      for (Type type : entry.sources)
        if (type != Type::kNone) shadows.push_back(values.shadows(type));
      INFO(name);
      REQUIRE((run(entry, sources) == run(variant, sources)));
      REQUIRE((run_shadow(entry, shadows, sources) == run_shadow(variant, shadows, sources)));
    }
  }
}

TEST_CASE("a destination may be a source") {
  Values values(2);
  for (IsaVariant kind : kTwins) {
    if (!can_run(kind)) continue;
    for (const auto& [name, entry] : alu_table(kind).entries()) {
      std::vector<Column> sources = random_sources(name, entry, values);
      std::vector<Column> expected = run(entry, sources);
      for (size_t i = 0; i < sources.size(); ++i) {
        INFO(name << ", source " << i);
        if (bits_of(entry.sources[i]) == bits_of(entry.destinations[0]) &&
            (entry.sources[i] == Type::kPred) == (entry.destinations[0] == Type::kPred))
          REQUIRE((run(entry, sources, static_cast<int>(i)) == expected));
      }
    }
  }
}

TEST_CASE("only the lanes that were asked for are written, from one warp on") {
  Values values(3);
  for (IsaVariant kind : kTwins) {
    if (!can_run(kind)) continue;
    for (const char* name :
         {"add.f32", "add.f16x2", "mul.wide.u32", "setp.lt.and.s16", "cvt.u16.u64", "shl.b16"}) {
      const AluEntry& entry = entry_of(name, kind);
      std::vector<Column> sources = random_sources(name, entry, values);
      Column full = run(entry, sources)[0];
      for (int lanes = 32; lanes < kTestLanes; lanes += 32) {
        alignas(64) unsigned char source_bytes[kMaxAluSources][kTestLanes * 16], result[kTestLanes * 16];
        memset(result, 0x5a, sizeof result);
        AluArguments arguments;
        arguments.destinations[0] = result;
        for (size_t i = 0; i < sources.size(); ++i) {
          int width = bits_of(entry.sources[i]) / 8;
          for (int lane = 0; lane < kTestLanes; ++lane)
            memcpy(source_bytes[i] + lane * width, &sources[i][lane], width);
          arguments.sources[i] = source_bytes[i];
        }
        entry.run(arguments, lanes);
        int width = bits_of(entry.destinations[0]) / 8;
        for (int lane = 0; lane < lanes; ++lane)
          REQUIRE(memcmp(result + lane * width, &full[lane], width) == 0);
        for (size_t at = lanes * width; at < sizeof result; ++at) REQUIRE(result[at] == 0x5a);
      }
    }
  }
}

// Flips undefined bits of the sources: only undefined bits of the results may change.
TEST_CASE("shadows are sound") {
  Values values(4);
  for (const auto& [name, entry] : alu_table(best_isa_variant()).entries()) {
    for (int round = 0; round < 3; ++round) {
      std::vector<Column> sources = random_sources(name, entry, values), shadows;
      for (Type type : entry.sources)
        if (type != Type::kNone) shadows.push_back(values.shadows(type));
      if (name == "lop3.b32") std::fill(shadows[3].begin(), shadows[3].end(), 0);
      std::vector<Column> results = run(entry, sources), unknown = run_shadow(entry, shadows, sources);
      for (int sample = 0; sample < 12; ++sample) {
        std::vector<Column> other = sources;
        for (size_t i = 0; i < sources.size(); ++i)
          for (int lane = 0; lane < kTestLanes; ++lane) {
            Word flips =
                entry.sources[i] == Type::kPred ? predicate(values.random()() & 1) : values.bits(128);
            other[i][lane] ^= flips & shadows[i][lane];
          }
        std::vector<Column> changed = run(entry, other);
        for (size_t i = 0; i < results.size(); ++i)
          for (int lane = 0; lane < kTestLanes; ++lane) {
            if (((results[i][lane] ^ changed[i][lane]) & ~unknown[i][lane]) == 0) continue;
            INFO(name << ", result " << i << ", lane " << lane);
            FAIL("a bit that is called defined depends on one that is not");
          }
      }
    }
  }
}

TEST_CASE("what is defined stays so") {
  Values values(5);
  for (const auto& [name, entry] : alu_table(best_isa_variant()).entries()) {
    std::vector<Column> sources = random_sources(name, entry, values);
    std::vector<Column> shadows(sources.size(), Column(kTestLanes, 0));
    for (const Column& result : run_shadow(entry, shadows, sources)) {
      INFO(name);
      REQUIRE(result == Column(kTestLanes, 0));
    }
  }
}

TEST_CASE("shadows are precise to the bit if the operation is") {
  auto shadow = [](const std::string& name, std::vector<Word> shadows, std::vector<Word> sources) {
    std::vector<Column> a, b;
    for (Word word : shadows) a.push_back(Column(32, word));
    for (Word word : sources) b.push_back(Column(32, word));
    return static_cast<uint64_t>(run_shadow(entry_of(name), a, b)[0][7]);
  };
  // A known 0 decides a conjunction, a known 1 a disjunction.
  CHECK(shadow("and.b32", {0xffff, 0}, {0, 0x0ff0}) == 0x0ff0);
  CHECK(shadow("or.b32", {0xffff, 0}, {0, 0x0ff0}) == 0xf00f);
  CHECK(shadow("xor.b32", {0xf0, 0x0f}, {1, 2}) == 0xff);
  CHECK(shadow("not.b16", {0x1234}, {0}) == 0x1234);
  CHECK(shadow("lop3.b32", {0xffff, 0, 0, 0}, {0, 0x0ff0, 0x00ff, 0x80}) == 0x00f0);  // a & b & c
  // Sums: upwards.
  CHECK(shadow("add.s32", {0x10, 0}, {3, 4}) == 0xfffffff0);
  CHECK(shadow("mad.lo.u32", {0, 0x100, 0x1000}, {3, 4, 5}) == 0xffffff00);
  CHECK(shadow("mul.wide.u32", {0x80000000, 0}, {3, 4}) == 0xffffffff80000000);
  // Movements.
  CHECK(shadow("shl.b32", {0xff, 0}, {0, 8}) == 0xff00);
  CHECK(shadow("shl.b32", {0xff, 1}, {0, 8}) == 0xffffffff);
  CHECK(shadow("shr.s32", {0x80000000, 0}, {0, 4}) == 0xf8000000);
  CHECK(shadow("cvt.s64.s32", {0x80000001}, {0}) == 0xffffffff80000001);
  CHECK(shadow("cvt.u64.u32", {0x80000001}, {0}) == 0x80000001);
  CHECK(shadow("cvt.u16.u32", {0xff0000}, {0}) == 0);
  CHECK(shadow("prmt.b32", {0xff, 0, 0}, {0, 0, 0x4440}) == 0xff);
  CHECK(shadow("bfe.u32", {0xff00, 0, 0}, {0, 8, 4}) == 0xf);
  CHECK(shadow("bfi.b32", {0xf, 0, 0, 0}, {0, 0, 8, 8}) == 0xf00);
  CHECK(shadow("mov.b64/pack2", {0, 0xff}, {1, 2}) == 0xff00000000);
  CHECK(shadow("cvt.rn.f16x2.f32", {0, 1}, {0, 0}) == 0xffff);
  CHECK(shadow("add.f16x2", {1, 0}, {0, 0}) == 0xffff);
  // Selections.
  CHECK(shadow("selp.b32", {0xff, 0xff00, 0}, {0, 0, predicate(true)}) == 0xff);
  CHECK(shadow("selp.b32", {0, 0, predicate(true)}, {0xf0f0, 0xff00, 0}) == 0x0ff0);
  // A truth that a known predicate decides.
  CHECK(shadow("setp.eq.and.s32", {1, 0, 0}, {5, 5, 0}) == 0);
  CHECK(shadow("setp.eq.and.s32", {1, 0, 0}, {5, 5, predicate(true)}) == 0xffffffff);
  CHECK(shadow("setp.eq.or.s32/not", {1, 0, 0}, {5, 5, 0}) == 0);
}

TEST_CASE("a value and itself have a known difference") {
  alignas(64) uint32_t value[32], shadow[32], result[32];
  for (const char* name : {"xor.b32", "sub.s32"}) {
    std::fill(std::begin(shadow), std::end(shadow), 0xffff);
    std::fill(std::begin(result), std::end(result), 1);
    ShadowArguments arguments;
    arguments.destinations[0] = result;
    arguments.sources = {shadow, shadow};
    arguments.values = {value, value};
    entry_of(name).shadow(arguments, 32);
    for (uint32_t lane : result) CHECK(lane == 0);
  }
}

}  // namespace
}  // namespace bicrl::ptx
