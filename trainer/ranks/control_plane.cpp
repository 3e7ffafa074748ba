#include "trainer/ranks/control_plane.h"

#include <algorithm>

#include "common/hash.h"
#include "trainer/ranks/torch_error.h"

namespace bicrl {
namespace {

[[noreturn]] void rethrow(const std::string& error, const std::string& prefix) {
  const size_t space = error.find(' ');
  throw SharedError(prefix + error.substr(space + 1),
                    static_cast<ExitCode>(std::stoi(error.substr(0, space))));
}

std::string text_of(const ControlPlane::Place& place) {
  const std::string file = place.file_name();
  return concat(file.substr(file.rfind('/') + 1), ":", place.line());
}

}  // namespace

std::vector<std::string> ControlPlane::all_gather(const std::string& bytes, const Place& place) {
  return exchange(bytes, text_of(place));
}

std::vector<std::string> ControlPlane::all_to_all(const std::vector<std::string>& for_ranks,
                                                  const Place& place) {
  BICRL_CHECK(for_ranks.size() == static_cast<size_t>(size()), for_ranks.size(), " parts for ", size(),
              " ranks");
  return exchange_parts(for_ranks, text_of(place));
}

void ControlPlane::all_reduce(std::vector<double>& values, Reduction reduction, const Place& place) {
  const size_t bytes = values.size() * sizeof(double);
  const auto all = all_gather({reinterpret_cast<const char*>(values.data()), bytes}, place);
  for (size_t rank = 0; rank < all.size(); ++rank) {
    BICRL_CHECK(all[rank].size() == bytes, "rank ", rank, " has ", all[rank].size(), " bytes of values");
    for (size_t i = 0; i < values.size(); ++i) {
      double other;
      memcpy(&other, all[rank].data() + i * sizeof other, sizeof other);
      values[i] = rank == 0                      ? other
                  : reduction == Reduction::kSum ? values[i] + other
                                                 : std::max(values[i], other);
    }
  }
}

void ControlPlane::barrier(const Place& place) { all_gather("", place); }

std::string rank_list(const std::vector<int>& ranks) {
  std::string list = ranks.size() == 1 ? "rank" : "ranks";
  for (size_t i = 0; i < ranks.size(); ++i) list += concat(i == 0 ? " " : ", ", ranks[i]);
  return list;
}

std::string error_of(const std::function<void()>& work) {
  try {
    work();
    return "";
  } catch (const Error& error) {
    return concat(static_cast<int>(error.code()), " ", error.what());
  } catch (const std::exception& error) {
    return concat(static_cast<int>(ExitCode::kFailure), " ", words_of(error));
  }
}

void throw_first_error(const std::vector<std::string>& errors_by_rank) {
  for (size_t rank = 0; rank < errors_by_rank.size(); ++rank)
    if (!errors_by_rank[rank].empty())
      rethrow(errors_by_rank[rank], errors_by_rank.size() == 1 ? "" : concat("rank ", rank, ": "));
}

void on_rank_zero(ControlPlane& control, const std::function<void()>& work,
                  const ControlPlane::Place& place) {
  const std::string mine = control.rank() == 0 ? error_of(work) : "";
  const std::string error = control.all_gather(mine, place).front();
  if (!error.empty()) rethrow(error, "");
}

void on_all_ranks(ControlPlane& control, const std::function<void()>& work,
                  const ControlPlane::Place& place) {
  throw_first_error(control.all_gather(error_of(work), place));
}

bool on_any_rank(ControlPlane& control, bool here, const ControlPlane::Place& place) {
  std::vector<double> anywhere = {here ? 1.0 : 0.0};
  control.all_reduce(anywhere, Reduction::kMax, place);
  return anywhere[0] > 0;
}

void require_one_host(const ControlPlane& control) {
  if (control.hosts() == 1) return;
  throw InputError(
      concat("the ranks run on ", control.hosts(),
             " hosts, and an embedded verifier serves only its own: start `bicrl verifier CONFIG "
             "listen=ADDRESS:PORT access={...}` on one or more hosts and name them in "
             "verifier.addresses=[HOST:PORT, ...]"));
}

void expect_equal_on_ranks(ControlPlane& control, const std::string& what, const std::string& content,
                           const ControlPlane::Place& place) {
  const std::vector<std::string> hashes = control.all_gather(hash_hex(content), place);
  for (size_t rank = 1; rank < hashes.size(); ++rank)
    if (hashes[rank] != hashes.front())
      throw SharedError(
          concat("rank ", rank, " has read another ", what, " than rank 0: do all hosts see the same files?"),
          ExitCode::kUsage);
}

}  // namespace bicrl
