#include "common/files/gzip.h"

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

std::string gunzip(std::string_view packed) {
  z_stream stream{};
  BICRL_CHECK(inflateInit2(&stream, kGzipWindow) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string text;
  int status = packed.size() <= UINT32_MAX ? Z_OK : Z_DATA_ERROR;
  while (status == Z_OK) {
    char piece[1 << 16];
    stream.next_out = reinterpret_cast<Bytef*>(piece);
    stream.avail_out = sizeof piece;
    status = inflate(&stream, Z_NO_FLUSH);
    text.append(piece, sizeof piece - stream.avail_out);
    if (status == Z_OK && stream.avail_in == 0 && stream.avail_out > 0) break;
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END) throw InputError("is no text that gzip compressed, or is cut off");
  return text;
}

}  // namespace bicrl
