#include <catch2/catch_test_macros.hpp>

#include "sandbox/frontend/device/entry_names.h"

namespace bicrl {
namespace {

bool same_instance(std::string_view a, std::string_view b) { return a == b || entry_key(a) == entry_key(b); }

}  // namespace

TEST_CASE("Names of one instance have one key") {
  CHECK(same_instance("_Z2tkIfLi4EEvPT_", "_Z2tkIfLi4EEvPT_"));
  CHECK(same_instance("_ZL4statPi", "_Z4statPi"));
  CHECK(same_instance("_ZN2nsL3st2EPi", "_ZN2ns3st2EPi"));
  CHECK(same_instance("_ZN12_GLOBAL__N_11kIfEEvPKT_PS1_m",
                      "_ZN45_GLOBAL__N__00000000_12_cuda_sources_3c7ab8be1kIfEEvPKT_PS1_m"));
  CHECK(same_instance("_ZN2ns2fkINS_12_GLOBAL__N_11FEEEvT_Pf",
                      "_ZN2ns2fkINS_45_GLOBAL__N__00000000_12_cuda_sources__Z2ovPfi1FEEEvT_Pf"));
  CHECK(same_instance("_Z1kIXadL_ZL3fooiEEEvv", "_Z1kIXadL_Z3fooiEEEvv"));
  CHECK(same_instance("_Z7throughIXadL_ZL7half_offEEEvPf",
                      "_Z7throughIXadL_ZN43_INTERNAL_00000000_12_cuda_sources_acc5a52f7half_ofEfEEEvPf"));
  CHECK(same_instance("plain_name", "plain_name"));
  CHECK(same_instance("_ZL5table", "table"));
}

TEST_CASE("Different instances have different keys") {
  CHECK(!same_instance("_Z2tkIfLi4EEvPT_", "_Z2tkIfLi8EEvPT_"));
  CHECK(!same_instance("_Z2tkIfLi40EEvPT_", "_Z2tkIfLi41EEvPT_"));
  CHECK(!same_instance("_Z2ckIL5Color1ELi4EEvPf", "_Z2ckIL5Color2ELi4EEvPf"));
  CHECK(!same_instance("_Z2tkIfEvPT_", "_Z2tkIdEvPT_"));
  CHECK(!same_instance("_Z8kernelL2Pf", "_Z7kernel2Pf"));
  CHECK(!same_instance("_ZN1a1kEPf", "_ZN1b1kEPf"));
  CHECK(!same_instance("_Z1kPf", "_ZN12_GLOBAL__N_11kEPf"));
  // Lambdas of one function.
  CHECK(!same_instance("_Z3mapIZ7forwardvEUlfE_EvPfT_", "_Z3mapIZ7forwardvEUlfE0_EvPfT_"));
}

TEST_CASE("Anything has a key") {
  CHECK(entry_key("") == "");
  for (const std::string name : {"_Z", "_Z9", "_Z99999999999999999999a", "L", "L1", "_ZLLLL", "T1", "S12345",
                                 "A1", "Ln1", "_GLOBAL__N_", "11_GLOBAL__N_", "0", "\x80\xff"})
    CHECK(same_instance(name, std::string(name)));
}

}  // namespace bicrl
