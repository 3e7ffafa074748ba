#include <ATen/ATen.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/files.h"
#include "common/rng.h"
#include "policy/files/safetensors.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

namespace fs = std::filesystem;

NamedTensors sample() {
  return {{"flag", at::arange(3).eq(1)},
          {"matrix", at::arange(12, at::kFloat).view({3, 4})},
          {"transposed", at::arange(6, at::kFloat).view({2, 3}).t()},
          {"half", at::arange(5).to(at::kHalf)},
          {"brain", at::arange(4).view({2, 2}).to(at::kBFloat16)},
          {"ids", at::arange(7, at::kLong)},
          {"scalar", at::scalar_tensor(2.5, at::kDouble)},
          {"empty", at::empty({0, 3}, at::kFloat)},
          {"bytes", at::arange(3, at::kByte)}};
}

// A file of the given header and data.
std::string compose(const std::string& header, const std::string& data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i));
  return bytes + header + data;
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

std::string answer(const fs::path& path) {
  try {
    const SafetensorsFile file(path);
    for (const auto& name : file.names()) file.load(name);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST_CASE("every element type survives a round trip") {
  const testing::TemporaryFolder folder;
  const fs::path path = folder.path() / "x.safetensors";
  write_safetensors(path, sample(), {{"format", "pt"}, {"step", "3"}});
  const SafetensorsFile file(path);
  CHECK(file.names().size() == sample().size());
  CHECK(file.metadata() == std::map<std::string, std::string>{{"format", "pt"}, {"step", "3"}});
  for (const auto& [name, tensor] : sample()) {
    INFO(name);
    CHECK(file.dtype(name) == tensor.scalar_type());
    CHECK(file.shape(name) == tensor.sizes().vec());
    CHECK(at::equal(file.load(name), tensor));
    CHECK(at::equal(file.view(name), tensor));
  }
  CHECK(file.view("matrix").data_ptr() == file.view("matrix").data_ptr());  // of the mapping
  CHECK(file.load("matrix").data_ptr() != file.view("matrix").data_ptr());
  const at::Tensor kept = SafetensorsFile(path).view("ids");
  CHECK(at::equal(kept, at::arange(7, at::kLong)));
  CHECK(at::equal(file.load("ids", at::kCPU, at::kFloat), at::arange(7, at::kFloat)));
  CHECK_THROWS_AS(file.load("absent"), InputError);
  // No temporary file is left behind.
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("a truncated file is refused at every length") {
  const testing::TemporaryFolder folder;
  const fs::path whole = folder.path() / "whole.safetensors", cut = folder.path() / "cut.safetensors";
  write_safetensors(whole, sample());
  const std::string bytes = read_file(whole);
  REQUIRE(answer(whole) == "accepted");
  for (size_t length = 0; length < bytes.size(); ++length) {
    std::ofstream(cut, std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(length));
    const std::string message = answer(cut);
    INFO(length << ": " << message);
    REQUIRE(message.find("cut.safetensors") != std::string::npos);
  }
  std::ofstream(cut, std::ios::binary | std::ios::trunc) << bytes << 'x';
  CHECK(answer(cut).find("bytes of data") != std::string::npos);
}

TEST_CASE("damaged bytes never crash the reader") {
  const testing::TemporaryFolder folder;
  const fs::path path = folder.path() / "x.safetensors";
  write_safetensors(path, sample());
  const std::string bytes = read_file(path);
  RandomStream random(17);
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    std::string damaged = bytes;
    for (uint64_t i = 0; i <= random.below(4); ++i)
      damaged[random.below(700)] = static_cast<char>(random.next());
    std::ofstream(path, std::ios::binary | std::ios::trunc) << damaged;
    refused += answer(path) != "accepted";
  }
  CHECK(refused > 200);
}

TEST_CASE("a header that lies is refused by tensor and field") {
  const testing::TemporaryFolder folder;
  const fs::path path = folder.path() / "x.safetensors";
  const std::string data(16, '\0');
  const auto attempt = [&](const std::string& header) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << compose(header, data);
    return answer(path);
  };
  const std::string a = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  const std::string b = R"("b":{"dtype":"F32","shape":[2],"data_offsets":[8,16]})";
  REQUIRE(attempt("{" + a + "," + b + "}") == "accepted");
  REQUIRE(attempt("{" + a + "," + b + "}   ") == "accepted");
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"{" + a + "}", "describes 8 bytes of data, the file has 16"},
      {"{" + b + "}", "b: data_offsets: begins at 8"},
      {"{" + a + R"(,"b":{"dtype":"F32","shape":[3],"data_offsets":[4,16]}})",
       "b: data_offsets: begins at 4"},
      {"{" + a + R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}})",
       "b: data_offsets: begins at 12"},
      {"{" + a + "," + a + "," + b + "}", "a occurs twice"},
      {R"({"a":{"dtype":"F31","shape":[4],"data_offsets":[0,16]}})", "a: dtype: unknown element type"},
      {R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,16]}})", "does not hold 12 bytes"},
      {R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[16,0]}})", "a: data_offsets"},
      {R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0]}})", "a: data_offsets: expected [begin, end]"},
      {R"({"a":{"dtype":"F32","shape":[-4],"data_offsets":[0,16]}})", "a: shape"},
      {R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,16]}})", "a: shape"},
      {R"({"a":{"dtype":"F32","shape":[0,4294967296,4294967296],"data_offsets":[0,0]}})", "a: shape"},
      {R"({"a":{"dtype":"F32","shape":4,"data_offsets":[0,16]}})", "a: shape: expected a list"},
      {R"({"a":{"shape":[4],"data_offsets":[0,16]}})", "a: dtype: missing"},
      {concat(R"({"a":{"dtype":"F32","shape":[4)", repeated(",1", 64), R"(],"data_offsets":[0,16]}})"),
       "a: shape: more than 64 dimensions"},
      {R"({"a":7})", "a: expected a JSON object"},
      {R"({"__metadata__":{"x":1}})", "__metadata__: x: expected a string"},
      {R"([1])", "does not begin with '{'"},
      {R"({"a":)", "not valid JSON"},
      {"", "does not begin with '{'"},
  };
  for (const auto& [header, expected] : faults) {
    const std::string message = attempt(header);
    INFO(header << "\n" << message);
    CHECK(message.find(expected) != std::string::npos);
    CHECK(message.find("x.safetensors") != std::string::npos);
  }
  CHECK(attempt(std::string(1, '{') + std::string(200000, '[')).find("not valid JSON") != std::string::npos);
  const std::string brackets = std::string(200000, '[') + std::string(200000, ']');
  CHECK(attempt("{\"a\":" + brackets + "}").find("nested too deeply") != std::string::npos);
  for (const uint64_t claimed : {uint64_t{200}, uint64_t{100'000'001}, ~uint64_t{0}}) {
    std::string bytes = compose("{}", "");
    for (int i = 0; i < 8; ++i) bytes[static_cast<size_t>(i)] = static_cast<char>(claimed >> (8 * i));
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    CHECK(answer(path).find("header length") != std::string::npos);
  }
  CHECK(answer(folder.path()).find("not a regular file") != std::string::npos);
  CHECK(answer(folder.path() / "absent").find("cannot read") != std::string::npos);
}

// Of this process, in bytes: what it has of files in memory. All of its memory would count the allocator's
// leftovers.
int64_t resident_bytes_of_files() {
  std::ifstream statm("/proc/self/statm");
  int64_t size = 0, resident = 0, of_files = 0;
  statm >> size >> resident >> of_files;
  return of_files * sysconf(_SC_PAGESIZE);
}

TEST_CASE("a file is read piece by piece, each of which leaves memory again") {
  const testing::TemporaryFolder folder;
  const fs::path path = folder.path() / "file.safetensors";
  constexpr int64_t kPiece = 1 << 20, kPieces = 64;
  const at::Tensor values = at::arange(kPiece * kPieces, at::kInt).to(at::kFloat);
  write_safetensors(path, {{"odd", at::ones({3}, at::kByte)}, {"values", values.view({kPieces, kPiece})}});
  const SafetensorsFile file(path);
  const at::Tensor piece = at::empty({kPiece}, at::kDouble);
  const at::Tensor view = file.view("values").view({-1});
  const int64_t before = resident_bytes_of_files();
  int64_t most = 0;
  for (const bool viewed : {false, true}) {
    for (int64_t i = 0; i < kPieces; ++i) {
      if (viewed) {
        piece.copy_(view.narrow(0, i * kPiece, kPiece));
        file.forget(view.narrow(0, i * kPiece, kPiece));
      } else {
        file.read("values", i * kPiece, piece);
      }
      REQUIRE(at::equal(piece, values.narrow(0, i * kPiece, kPiece).to(at::kDouble)));
      most = std::max(most, resident_bytes_of_files() - before);
    }
  }
  CHECK(most < static_cast<int64_t>(values.nbytes()) / 4);
  // Memory that is not the file's is left alone.
  const at::Tensor own = at::ones({kPiece});
  file.forget(own);
  CHECK(own.sum().item<double>() == kPiece);
  CHECK_THROWS(file.read("values", kPiece * kPieces - 1, at::empty({2})));
  CHECK_THROWS(file.read("values", -1, at::empty({2})));
}

TEST_CASE("a folder is read from one file or from the shards that its index names") {
  const testing::TemporaryFolder folder;
  const NamedTensors tensors = {
      {"a", at::ones({4})}, {"b", at::full({4}, 2.0)}, {"c", at::full({100}, 3.0)}, {"d", at::zeros({1})}};
  const auto check = [&] {
    const SafetensorsFolder files(folder.path());
    CHECK(files.names() == std::vector<std::string>{"a", "b", "c", "d"});
    CHECK_THROWS_AS(files.shape("e"), InputError);
    for (const auto& [name, tensor] : tensors) {
      CHECK(files.shape(name) == tensor.sizes().vec());
      const at::Tensor read = at::empty({tensor.numel()});
      files.read(name, 0, read);
      CHECK(at::equal(read, tensor));
    }
  };
  write_safetensors_folder(folder.path(), tensors, 32);
  CHECK(fs::exists(folder.path() / "model-00003-of-00003.safetensors"));
  check();
  write_safetensors_folder(folder.path(), tensors, 1 << 20);
  CHECK_FALSE(fs::exists(folder.path() / "model.safetensors.index.json"));
  check();
  write_safetensors_folder(folder.path(), tensors, 32);
  CHECK_FALSE(fs::exists(folder.path() / "model.safetensors"));
  const fs::path index = folder.path() / "model.safetensors.index.json";
  for (const char* map :
       {R"({"a":"../x"})", R"({"a":""})", R"({"a":3})", R"({"a":"absent.safetensors"})",
        R"({"a":"model-00001-of-00003.safetensors\u0000"})", R"({"z":"model-00001-of-00003.safetensors"})"}) {
    write_file_atomically(index, concat(R"({"weight_map":)", map, "}"));
    CHECK_THROWS_AS(SafetensorsFolder(folder.path()), InputError);
  }
  fs::remove(index);
  CHECK_THROWS_AS(SafetensorsFolder(folder.path()), InputError);
}

}  // namespace
}  // namespace bicrl
