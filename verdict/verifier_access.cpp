#include "verdict/verifier_access.h"

#include <sys/stat.h>

#include <algorithm>

#include "common/error.h"
#include "common/files/files.h"

namespace bicrl {
namespace {

constexpr size_t kShortestToken = 32, kLongestToken = 4096;

}  // namespace

bool is_loopback(const std::string& address) {
  const std::string host = address.substr(0, address.rfind(':'));
  return host == "127.0.0.1" || host == "localhost" || host == "[::1]";
}

std::string read_token(const std::string& path) {
  std::string token = read_file(path, kLongestToken);
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    throw InputError(concat(path, ": others may read this token (chmod 600 ", path, ")"));
  const char* kSpace = " \t\r\n";
  token.erase(0, token.find_first_not_of(kSpace));
  token.erase(token.find_last_not_of(kSpace) + 1);
  const auto printable = [](char c) { return c > ' ' && c < 127; };
  if (token.size() < kShortestToken || !std::all_of(token.begin(), token.end(), printable))
    throw InputError(concat(path, ": a token is at least ", kShortestToken,
                            " printable characters in one line (openssl rand -hex 32)"));
  return token;
}

bool same_token(const std::string& one, const std::string& other) {
  size_t difference = one.size() ^ other.size();
  for (size_t i = 0; i < std::min(one.size(), other.size()); ++i)
    difference |= static_cast<unsigned char>(one[i] ^ other[i]);
  return difference == 0;
}

}  // namespace bicrl
