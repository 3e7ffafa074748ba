#include "trainer/ranks/mpi/mpi_greeting.h"

#include <algorithm>
#include <cstring>

#include "common/error.h"
#include "trainer/ranks/mpi/mpi_session.h"

namespace bicrl {
namespace {

constexpr int kTag = 1;

template <size_t N>
void set_text(char (&to)[N], const std::string& text) {
  const size_t length = std::min(text.size(), N - 1);
  std::memcpy(to, text.data(), length);
}

}  // namespace

bool MpiGreeting::Record::operator==(const Record& o) const {
  return sequence == o.sequence && elements == o.elements && type == o.type &&
         std::strcmp(operation, o.operation) == 0 && std::strcmp(what, o.what) == 0;
}

std::string MpiGreeting::Record::text() const {
  return concat(operation, " of ", what, " (", elements, " elements)");
}

MpiGreeting::MpiGreeting(const MpiLink& link, const std::string& operation, const std::string& what,
                         const at::Tensor& like)
    : link_(link), peers_(static_cast<size_t>(link.size)) {
  BICRL_CHECK(like.is_contiguous(), operation, " of ", what);
  mine_.sequence = link.sequence;
  mine_.elements = like.numel();
  mine_.type = static_cast<int32_t>(like.scalar_type());
  set_text(mine_.operation, operation);
  set_text(mine_.what, what);
}

void MpiGreeting::expect(int peer) { peers_[static_cast<size_t>(peer)].expected = peer != link_.rank; }

void MpiGreeting::expect_all() {
  for (int p = 0; p < link_.size; ++p) expect(p);
}

void MpiGreeting::greet() {
  greeted_ = true;
  for (int p = 0; p < link_.size; ++p) {
    Peer& peer = peers_[static_cast<size_t>(p)];
    if (!peer.expected) continue;
    check_mpi(MPI_Isend(&mine_, sizeof mine_, MPI_BYTE, p, kTag, link_.communicator, &peer.sent),
              "MPI_Isend");
    check_mpi(
        MPI_Irecv(&peer.theirs, sizeof peer.theirs, MPI_BYTE, p, kTag, link_.communicator, &peer.received),
        "MPI_Irecv");
  }
}

std::vector<int> MpiGreeting::advance() {
  if (!greeted_) greet();
  std::vector<int> news;
  bool over = true;
  for (int p = 0; p < link_.size && !over_; ++p) {
    Peer& peer = peers_[static_cast<size_t>(p)];
    if (!peer.expected) continue;
    int left = 0, there = peer.came;
    check_mpi(MPI_Test(&peer.sent, &left, MPI_STATUS_IGNORE), "MPI_Test");
    if (!peer.came) check_mpi(MPI_Test(&peer.received, &there, MPI_STATUS_IGNORE), "MPI_Test");
    over = over && left && there;
    if (peer.came || !there) continue;
    if (!(peer.theirs == mine_))
      throw Error(
          concat("rank ", link_.rank, " is in ", mine_.text(), ", and rank ", p, " in ", peer.theirs.text()));
    peer.came = true;
    news.push_back(p);
  }
  over_ = over;
  return news;
}

std::vector<int> MpiGreeting::absent() const {
  std::vector<int> ranks;
  for (int p = 0; p < link_.size; ++p)
    if (expects(p) && !came(p)) ranks.push_back(p);
  return ranks;
}

}  // namespace bicrl
