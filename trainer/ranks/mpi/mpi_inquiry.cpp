#include "trainer/ranks/mpi/mpi_inquiry.h"

#include <cstring>

#include "trainer/ranks/mpi/mpi_session.h"

namespace bicrl {
namespace {

constexpr int kQuestionTag = 1;
constexpr int kAnswerTag = 2;

}  // namespace

struct MpiInquiry::Message {
  int from = 0;
  int64_t number = 0;
  EnteredOperations entered;
};

MpiInquiry::MpiInquiry(MPI_Comm communicator) : communicator_(communicator) {
  check_mpi(MPI_Comm_rank(communicator_, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(communicator_, &size_), "MPI_Comm_size");
  came_.resize(static_cast<size_t>(size_), false);
  to_answer_.resize(static_cast<size_t>(size_), -1);
}

MpiInquiry::~MpiInquiry() {
  // What nobody has received stays for MPI until this process ends.
  for (auto& [request, message] : sent_) {
    int has_left = 0;
    if (MPI_Test(&request, &has_left, MPI_STATUS_IGNORE) != MPI_SUCCESS || !has_left)
      new std::shared_ptr<const std::string>(message);
  }
}

void MpiInquiry::send(int to, int tag, int64_t number, const EnteredOperations& entered) {
  std::string bytes(reinterpret_cast<const char*>(&number), sizeof number);
  const auto message = std::make_shared<const std::string>(bytes + entered.to_bytes());
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Isend(message->data(), static_cast<int>(message->size()), MPI_BYTE, to, tag, communicator_,
                      &request),
            "MPI_Isend");
  sent_.emplace_back(request, message);
}

std::optional<MpiInquiry::Message> MpiInquiry::receive(int tag) {
  int there = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  check_mpi(MPI_Improbe(MPI_ANY_SOURCE, tag, communicator_, &there, &message, &status), "MPI_Improbe");
  if (!there) return std::nullopt;
  int count = 0;
  check_mpi(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
  std::string bytes(static_cast<size_t>(count), '\0');
  check_mpi(MPI_Mrecv(bytes.data(), count, MPI_BYTE, &message, MPI_STATUS_IGNORE), "MPI_Mrecv");
  int64_t number = 0;
  memcpy(&number, bytes.data(), sizeof number);
  return Message{status.MPI_SOURCE, number, EnteredOperations::from_bytes(bytes.substr(sizeof number))};
}

void MpiInquiry::forget_what_has_left() {
  std::erase_if(sent_, [](auto& each) {
    int has_left = 0;
    check_mpi(MPI_Test(&each.first, &has_left, MPI_STATUS_IGNORE), "MPI_Test");
    return has_left != 0;
  });
}

void MpiInquiry::ask(int64_t number, const EnteredOperations& entered) {
  asked_ = number;
  came_.assign(came_.size(), false);
  for (int to = 0; to < size_; ++to)
    if (to != rank_) send(to, kQuestionTag, number, entered);
}

std::string MpiInquiry::advance(const EnteredOperations& entered) {
  forget_what_has_left();
  std::string found;
  const auto compare = [&](const Message& message) {
    const std::string differs = difference(rank_, entered, message.from, message.entered);
    if (found.empty()) found = differs;
    return differs.empty();
  };
  while (const auto question = receive(kQuestionTag)) {
    to_answer_[static_cast<size_t>(question->from)] = question->number;
    // Who has parted from this rank is to find it as well.
    if (!compare(*question)) to_answer_[static_cast<size_t>(question->from)] = entered.count() - 1;
  }
  while (const auto answer = receive(kAnswerTag)) {
    compare(*answer);
    if (answer->number == asked_ && answer->entered.count() > asked_)
      came_[static_cast<size_t>(answer->from)] = true;
  }
  for (int to = 0; to < size_; ++to) {
    int64_t& number = to_answer_[static_cast<size_t>(to)];
    if (number < 0 || number >= entered.count()) continue;
    send(to, kAnswerTag, number, entered);
    number = -1;
  }
  return found;
}

std::vector<int> MpiInquiry::absent() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < size_; ++rank)
    if (rank != rank_ && !came_[static_cast<size_t>(rank)]) ranks.push_back(rank);
  return ranks;
}

}  // namespace bicrl
