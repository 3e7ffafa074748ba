// What Prometheus collects, as text, and over HTTP on loopback.
#include "sandbox/service/verifier_metrics.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "sandbox/box/process/descriptors.h"

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;

Verdict verdict(Outcome outcome, bool correct, const std::string& fault_class = "") {
  Verdict made;
  made.outcome = outcome;
  made.correct = correct;
  made.fault_class = fault_class;
  made.compile_ms = 30;
  made.total_ms = 300;
  return made;
}

// The answer to a GET, with its head.
std::string get(int port, const std::string& path) {
  const UniqueFd socket_fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<uint16_t>(port));
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(connect(socket_fd.get(), reinterpret_cast<sockaddr*>(&place), sizeof place) == 0);
  const std::string asked = "GET " + path + " HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n";
  REQUIRE(write(socket_fd.get(), asked.data(), asked.size()) == static_cast<ssize_t>(asked.size()));
  std::string answer;
  char part[4096];
  for (ssize_t n; (n = read(socket_fd.get(), part, sizeof part)) > 0;)
    answer.append(part, static_cast<size_t>(n));
  return answer;
}

}  // namespace

TEST_CASE("metrics tell outcomes, stages, the queue and devices") {
  VerifierState state;
  state.workers = 3;
  state.queue = {.verified = 5, .cache_hits = 7, .rejected = 2, .cancelled = 1, .waiting = 11, .running = 3};
  state.devices = {{.name = "0",
                    .trouble = "",
                    .contexts = 2,
                    .runs = 40,
                    .windows = 9,
                    .repeated_windows = 1,
                    .sanitized = 5,
                    .sanitizer_findings = 2},
                   {.name = "1", .trouble = "no context"}};
  VerifierMetrics metrics("ptx/torch-2", [&] { return state; });
  metrics.count(verdict(Outcome::kGraded, true), 0.4);
  metrics.count(verdict(Outcome::kGraded, true), 0.4);
  metrics.count(verdict(Outcome::kGraded, false, "wrong_value"), 3);
  metrics.count(verdict(Outcome::kCandidateFault, false, "compile"), 0);
  metrics.count(verdict(Outcome::kInfrastructure, false), 0);
  const std::string text = metrics.text();
  for (const char* line : {"bicrl_verifier_info{backend=\"ptx/torch-2\"} 1",
                           "bicrl_verifications_total{fault_class=\"\",outcome=\"correct\"} 2",
                           "bicrl_verifications_total{fault_class=\"wrong_value\",outcome=\"incorrect\"} 1",
                           "bicrl_verifications_total{fault_class=\"compile\",outcome=\"candidate_fault\"} 1",
                           "bicrl_verifications_total{fault_class=\"\",outcome=\"infrastructure\"} 1",
                           "bicrl_stage_seconds_bucket{stage=\"wait\",le=\"0.5\"} 4",
                           "bicrl_stage_seconds_count{stage=\"wait\"} 5",
                           "bicrl_stage_seconds_count{stage=\"all\"} 5",
                           "bicrl_stage_seconds_bucket{stage=\"compile\",le=\"0.02\"} 0",
                           "bicrl_stage_seconds_bucket{stage=\"compile\",le=\"0.05\"} 5",
                           "bicrl_cache_hits_total 7",
                           "bicrl_rejected_total 2",
                           "bicrl_cancelled_total 1",
                           "bicrl_queue_waiting 11",
                           "bicrl_verifications_running 3",
                           "bicrl_workers 3",
                           "bicrl_draining 0",
                           "bicrl_gpu_up{gpu=\"0\"} 1",
                           "bicrl_gpu_up{gpu=\"1\"} 0",
                           "bicrl_gpu_contexts{gpu=\"0\"} 2",
                           "bicrl_gpu_plans_total{gpu=\"0\"} 40",
                           "bicrl_gpu_windows_total{gpu=\"0\"} 9",
                           "bicrl_gpu_windows_repeated_total{gpu=\"0\"} 1",
                           "bicrl_gpu_sanitized_total{gpu=\"0\"} 5",
                           "bicrl_gpu_sanitizer_findings_total{gpu=\"0\"} 2"})
    CHECK_THAT(text, ContainsSubstring(std::string(line) + "\n"));
  CHECK_THAT(text, ContainsSubstring("# TYPE bicrl_stage_seconds histogram\n"));
  CHECK_THAT(text, !ContainsSubstring("stage=\"record\""));  // nobody came there
}

TEST_CASE("metrics are served over HTTP, as they are at that moment") {
  VerifierState state;
  VerifierMetrics metrics("ptx", [&] { return state; });
  const int port = metrics.serve("localhost:0");
  CHECK(port > 0);
  CHECK_THAT(get(port, "/metrics"),
             ContainsSubstring("200 OK") && ContainsSubstring("bicrl_queue_waiting 0\n"));
  state.queue.waiting = 4;
  CHECK_THAT(get(port, "/metrics"), ContainsSubstring("bicrl_queue_waiting 4\n"));
  CHECK_THAT(get(port, "/"), ContainsSubstring("404"));
  CHECK_THAT(get(port, "/etc/passwd"), ContainsSubstring("404"));
  VerifierMetrics second("ptx", [&] { return state; });
  CHECK_THROWS_WITH(second.serve(concat("127.0.0.1:", port)),
                    ContainsSubstring("cannot listen on 127.0.0.1"));
}

}  // namespace bicrl
