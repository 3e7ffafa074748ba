#include "trainer/ranks/mpi/mpi_control_plane.h"

#include <mpi.h>

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <thread>

#include "common/clock.h"
#include "trainer/ranks/mpi/mpi_communicator.h"

namespace bicrl {
namespace {

constexpr int kRecordTag = 1;
constexpr int kReplyTag = 2;
// Rank 0 knows who is missing, so it is to be the first that loses its patience.
constexpr double kGrace_s = 20;

// A record or reply: place, a zero, then the content. A reply is the lengths and bytes of all records.
std::string with_place(const std::string& place, const std::string& content) {
  return place + '\0' + content;
}

std::string joined(const std::vector<std::string>& records) {
  std::string text;
  for (const std::string& record : records) {
    const auto length = static_cast<int64_t>(record.size());
    text.append(reinterpret_cast<const char*>(&length), sizeof length);
    text += record;
  }
  return text;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> records;
  for (size_t next = 0; next < text.size();) {
    int64_t length = 0;
    memcpy(&length, text.data() + next, sizeof length);
    next += sizeof length;
    records.push_back(text.substr(next, static_cast<size_t>(length)));
    next += static_cast<size_t>(length);
  }
  return records;
}

// Polls until `done` or the limit; an exchange mostly takes microseconds, sometimes minutes.
bool wait_until(const std::function<bool()>& done, double limit_s) {
  const Stopwatch watch;
  for (int64_t round = 0; !done(); ++round) {
    if (watch.seconds() > limit_s) return false;
    if (round < 200)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(round < 2000 ? 50 : 1000));
  }
  return true;
}

}  // namespace

struct MpiControlPlane::State {
  MPI_Comm records = MPI_COMM_NULL;
  MPI_Comm giving_up = MPI_COMM_NULL;
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int hosts = 1;
  int ranks_on_host = 1;
  // What was sent and may still be read by MPI.
  std::deque<std::pair<MPI_Request, std::shared_ptr<const std::string>>> sent;

  void send(int to, int tag, std::shared_ptr<const std::string> message) {
    BICRL_CHECK(message->size() < (size_t{1} << 31), "a record of ", message->size(), " bytes");
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(
        MPI_Isend(message->data(), static_cast<int>(message->size()), MPI_BYTE, to, tag, records, &request),
        "MPI_Isend");
    sent.emplace_back(request, std::move(message));
  }
  // Forgets what has left; returns whether all has.
  bool all_sent() {
    while (!sent.empty()) {
      int done = 0;
      check_mpi(MPI_Test(&sent.front().first, &done, MPI_STATUS_IGNORE), "MPI_Test");
      if (!done) return false;
      sent.pop_front();
    }
    return true;
  }
  std::optional<std::string> receive(int from, int tag) {
    int there = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    check_mpi(MPI_Improbe(from, tag, records, &there, &message, &status), "MPI_Improbe");
    if (!there) return std::nullopt;
    int bytes = 0;
    check_mpi(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
    std::string text(static_cast<size_t>(bytes), '\0');
    check_mpi(MPI_Mrecv(text.data(), bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE), "MPI_Mrecv");
    return text;
  }
};

MpiControlPlane::MpiControlPlane(const MpiSession& session, int ranks) : state_(std::make_unique<State>()) {
  state_->records = make_communicator(session, ranks);
  state_->giving_up = make_communicator(session, ranks);
  check_mpi(MPI_Comm_rank(state_->records, &state_->rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(state_->records, &state_->size), "MPI_Comm_size");
  MPI_Comm host = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(state_->records, MPI_COMM_TYPE_SHARED, state_->rank, MPI_INFO_NULL, &host),
            "MPI_Comm_split_type");
  check_mpi(MPI_Comm_rank(host, &state_->local_rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(host, &state_->ranks_on_host), "MPI_Comm_size");
  check_mpi(MPI_Comm_free(&host), "MPI_Comm_free");
  const int first_of_host = state_->local_rank == 0;
  check_mpi(MPI_Allreduce(&first_of_host, &state_->hosts, 1, MPI_INT, MPI_SUM, state_->records),
            "MPI_Allreduce");
}

MpiControlPlane::~MpiControlPlane() {
  try {
    wait_until([&] { return state_->all_sent(); }, kGrace_s);
  } catch (const Error&) {
    // The program is about to end; whoever misses a record says so.
  }
  MPI_Comm_free(&state_->records);
  MPI_Comm_free(&state_->giving_up);
}

bool MpiControlPlane::all_give_up(double seconds) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibarrier(state_->giving_up, &request), "MPI_Ibarrier");
  return wait_until(
      [&] {
        int done = 0;
        check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        return done != 0;
      },
      seconds);
}

int MpiControlPlane::rank() const { return state_->rank; }
int MpiControlPlane::size() const { return state_->size; }
int MpiControlPlane::local_rank() const { return state_->local_rank; }
int MpiControlPlane::hosts() const { return state_->hosts; }
int MpiControlPlane::ranks_on_host() const { return state_->ranks_on_host; }

std::vector<std::string> MpiControlPlane::exchange(const std::string& bytes, const std::string& place) {
  if (rank() != 0) return ask(bytes, place);
  std::vector<std::string> contents = collect(bytes, place);
  const auto reply = std::make_shared<const std::string>(with_place("", joined(contents)));
  for (int to = 1; to < size(); ++to) answer(to, reply);
  return contents;
}

std::vector<std::string> MpiControlPlane::exchange_parts(const std::vector<std::string>& for_ranks,
                                                         const std::string& place) {
  const std::string mine = joined(for_ranks);
  if (rank() != 0) return ask(mine, place);
  std::vector<std::vector<std::string>> by_receiver(static_cast<size_t>(size()));
  for (const std::string& content : collect(mine, place)) {
    std::vector<std::string> parts = split(content);
    BICRL_CHECK(parts.size() == by_receiver.size(), parts.size(), " parts for ", size(), " ranks");
    for (size_t to = 0; to < parts.size(); ++to) by_receiver[to].push_back(std::move(parts[to]));
  }
  for (int to = 1; to < size(); ++to)
    answer(to,
           std::make_shared<const std::string>(with_place("", joined(by_receiver[static_cast<size_t>(to)]))));
  return std::move(by_receiver.front());
}

void MpiControlPlane::answer(int to, const std::shared_ptr<const std::string>& reply) {
  state_->send(to, kReplyTag, reply);
}

std::vector<std::string> MpiControlPlane::collect(const std::string& bytes, const std::string& place) {
  std::vector<std::optional<std::string>> came(static_cast<size_t>(size()));
  came[0] = with_place(place, bytes);
  const auto missing = [&] {
    std::vector<int> ranks;
    for (int from = 1; from < size(); ++from)
      if (!came[static_cast<size_t>(from)]) ranks.push_back(from);
    return ranks;
  };
  const bool all = wait_until(
      [&] {
        state_->all_sent();
        work_while_waiting();
        for (int from : missing()) came[static_cast<size_t>(from)] = state_->receive(from, kRecordTag);
        return missing().empty();
      },
      wait_limit_s());
  if (!all)
    give_up(concat("rank 0 waited ", wait_limit_s(), " s at ", place, " for ", rank_list(missing()),
                   ", which did not come"));
  std::vector<std::string> contents;
  for (int from = 0; from < size(); ++from) {
    const std::string& record = *came[static_cast<size_t>(from)];
    const size_t zero = record.find('\0');
    if (record.substr(0, zero) != place)
      give_up(concat("ranks are not at the same place: rank 0 is at ", place, ", rank ", from, " at ",
                     record.substr(0, zero)));
    contents.push_back(record.substr(zero + 1));
  }
  return contents;
}

void MpiControlPlane::give_up(const std::string& reason) {
  const auto reply = std::make_shared<const std::string>(with_place(reason, ""));
  for (int to = 1; to < size(); ++to) state_->send(to, kReplyTag, reply);
  wait_until([&] { return state_->all_sent(); }, 1);  // those that hang take nothing
  throw Error(reason);
}

std::vector<std::string> MpiControlPlane::ask(const std::string& bytes, const std::string& place) {
  state_->send(0, kRecordTag, std::make_shared<const std::string>(with_place(place, bytes)));
  std::optional<std::string> reply;
  const bool answered = wait_until(
      [&] {
        state_->all_sent();
        work_while_waiting();
        reply = state_->receive(0, kReplyTag);
        return reply.has_value();
      },
      wait_limit_s() + kGrace_s);
  if (!answered)
    throw Error(concat("rank ", rank(), " waited ", wait_limit_s() + kGrace_s, " s at ", place,
                       " for rank 0, which did not answer"));
  const size_t zero = reply->find('\0');
  if (zero != 0) throw Error(reply->substr(0, zero));
  return split(reply->substr(1));
}

}  // namespace bicrl
