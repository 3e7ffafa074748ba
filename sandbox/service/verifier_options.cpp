#include <thread>

#include "sandbox/service/verifier_server.h"

namespace bicrl {
namespace {

uint64_t mebibytes(const ConfigSection& section, const std::string& key, uint64_t fallback_bytes,
                   int64_t least) {
  return static_cast<uint64_t>(
             section.integer(key, static_cast<int64_t>(fallback_bytes >> 20), least, 1 << 24))
         << 20;
}

}  // namespace

VerifierOptions VerifierOptions::from_config(const ConfigSection& section) {
  VerifierOptions o;
  o.listen = section.text("listen", o.listen);
  o.queue.workers = static_cast<int>(section.integer("workers", 0, 0, 64));
  if (o.queue.workers == 0)
    o.queue.workers = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  o.queue.capacity =
      static_cast<size_t>(section.integer("queue", static_cast<int64_t>(o.queue.capacity), 1, 1 << 20));
  o.pipeline.python = section.text("python", "");
  o.pipeline.bwrap = section.text("bwrap", "");
  o.pipeline.scratch = section.text("scratch", "");

  const ConfigSection protocol = section.section("protocol");
  o.protocol.atol = protocol.real("atol", o.protocol.atol, 0, 1e6);
  o.protocol.rtol = protocol.real("rtol", o.protocol.rtol, 0, 1e6);
  o.protocol.trials = static_cast<int>(protocol.integer("trials", o.protocol.trials, 1, kMaxTrials));
  o.pipeline.timed_runs = static_cast<int>(protocol.integer("timed_runs", o.pipeline.timed_runs, 1, 1000));

  const ConfigSection oracle = section.section("oracle");
  o.pipeline.oracle.pool_draws =
      static_cast<int>(oracle.integer("pool_draws", o.pipeline.oracle.pool_draws, 1, 32));
  o.pipeline.oracle.shifted_draws = oracle.boolean("shifted_draws", o.pipeline.oracle.shifted_draws);
  o.pipeline.oracle.max_input_bytes =
      mebibytes(oracle, "max_input_mib", o.pipeline.oracle.max_input_bytes, 1);
  o.pipeline.oracle.cache_bytes = mebibytes(oracle, "cache_mib", o.pipeline.oracle.cache_bytes, 1);
  o.pipeline.oracle.memory_bytes = mebibytes(oracle, "memory_mib", o.pipeline.oracle.memory_bytes, 64);
  o.pipeline.oracle.wall_s = oracle.real("wall_s", o.pipeline.oracle.wall_s, 0.1, 3600);

  const ConfigSection limits = section.section("limits");
  o.pipeline.compile.wall_s = limits.real("compile_s", o.pipeline.compile.wall_s, 1, 3600);
  o.pipeline.record.wall_s = limits.real("record_s", o.pipeline.record.wall_s, 0.1, 3600);
  o.pipeline.replay.wall_s = limits.real("replay_s", o.pipeline.replay.wall_s, 0.1, 3600);
  o.pipeline.compile.memory_bytes = mebibytes(limits, "compile_mib", o.pipeline.compile.memory_bytes, 64);
  o.pipeline.record.memory_bytes = mebibytes(limits, "record_mib", o.pipeline.record.memory_bytes, 64);
  o.pipeline.replay.memory_bytes = mebibytes(limits, "replay_mib", o.pipeline.replay.memory_bytes, 64);
  return o;
}

}  // namespace bicrl
