#include "trainer/ranks/torch_error.h"

#include <c10/util/Exception.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <stdexcept>

#include "trainer/ranks/control_plane.h"

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;

template <class Work>
std::string words_thrown_by(const Work& work) {
  try {
    work();
  } catch (const std::exception& error) {
    return words_of(error);
  }
  return "";
}

TEST_CASE("torch's errors are reported without its stack") {
  const std::string words = words_thrown_by([] { TORCH_CHECK(false, "shapes differ"); });
  CHECK(words == "shapes differ");
  CHECK(words_thrown_by([] { throw std::runtime_error("of nobody"); }) == "of nobody");
  CHECK(error_of([] { TORCH_CHECK(false, "shapes differ"); }) == "1 shapes differ");  // as ranks report it
}

TEST_CASE("who has too little memory on a device hears what takes less") {
  const auto thrown =
      words_thrown_by([] { TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory"); });
  CHECK(thrown.starts_with("CUDA out of memory\n"));
  CHECK_THAT(thrown, ContainsSubstring("rollout.cache_tokens"));
  // As torch says it, with its place.
  const auto library = words_thrown_by([] {
    TORCH_CHECK(false,
                "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`\nException "
                "raised from here");
  });
  CHECK_THAT(library, !ContainsSubstring("raised from") && ContainsSubstring("rollout.max_active"));
}

}  // namespace
}  // namespace bicrl
