#include "sandbox/frontend/device/lambda_ranks.h"

#include <catch2/catch_test_macros.hpp>

namespace bicrl {

using Names = std::vector<std::string>;

TEST_CASE("Lambdas of a function are numbered in their order") {
  // g++ 12 counts all lambdas of a function, NVRTC those of one signature.
  const Names gcc = {"_Z3mapIZ4callN2at6TensorEEUlfE0_EvPfT_", "_Z3mapIZ4callN2at6TensorEEUlfE3_EvPfT_",
                     "_Z3mapIZ4callN2at6TensorEEUliE1_EvPfT_"};
  const Names nvrtc = {"_Z3mapIZ4callN2at6TensorEEUlfE_EvPfT_", "_Z3mapIZ4callN2at6TensorEEUlfE0_EvPfT_",
                       "_Z3mapIZ4callN2at6TensorEEUliE_EvPfT_"};
  CHECK(rank_lambdas(gcc) == nvrtc);
  CHECK(rank_lambdas(nvrtc) == nvrtc);
}

TEST_CASE("A lambda in a lambda is ranked after the one around it") {
  CHECK(rank_lambdas({"_Z1kIZZ1fvENKUlvE1_clEvEUlfE2_EvT_", "_Z1kIZZ1fvENKUlvE4_clEvEUlfE2_EvT_",
                      "_Z1kIZZ1fvENKUlvE4_clEvEUlfE5_EvT_"}) == Names{"_Z1kIZZ1fvENKUlvE_clEvEUlfE_EvT_",
                                                                      "_Z1kIZZ1fvENKUlvE0_clEvEUlfE_EvT_",
                                                                      "_Z1kIZZ1fvENKUlvE0_clEvEUlfE0_EvT_"});
}

TEST_CASE("Parameters of every form are stepped over") {
  CHECK(rank_lambdas({"_Z1kIZ1fvEUlN2at6TensorEPKfRKSt6vectorIfSaIfEELi3EE7_EvT_"}) ==
        Names{"_Z1kIZ1fvEUlN2at6TensorEPKfRKSt6vectorIfSaIfEELi3EE_EvT_"});
}

TEST_CASE("A name of nothing but lambdas is no work") {
  std::string name;
  for (int i = 0; i < 65; ++i) name += "UlfE7_";
  CHECK(rank_lambdas({name}) == Names{name});
  CHECK(rank_lambdas({name.substr(0, 6)}) == Names{"UlfE_"});
}

TEST_CASE("Names without lambdas stay") {
  const Names names = {"_Z5UlE1_Pf", "_Z2tkIfLi4EEvPT_", "plain", "",    "_Z", "Ul",
                       "UlE",        "_ZUlUlUl",         "9Ul",   "\xff"};
  CHECK(rank_lambdas(names) == names);
}

}  // namespace bicrl
