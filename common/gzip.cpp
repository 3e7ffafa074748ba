#include "common/gzip.h"

#include <zlib.h>

#include "common/error.h"

namespace bicrl {
namespace {

constexpr int kGzipWindow = 15 + 16;  // the largest window; 16 more asks for gzip's header and checksum
constexpr int kMemoryLevel = 8;

}  // namespace

std::string gzip(std::string_view text) {
  z_stream stream{};
  BICRL_CHECK(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, kMemoryLevel,
                           Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  BICRL_CHECK(text.size() <= UINT32_MAX && deflate(&stream, Z_FINISH) == Z_STREAM_END, text.size(), " bytes");
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace bicrl
