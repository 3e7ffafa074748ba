// Command-line options that benches of the update share: a policy's shape, the rows, and how passes take
// them.
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "bench/many_gpus/update_rows.h"
#include "policy/pass/recompute.h"
#include "policy/policy_config.h"
#include "trainer/update/policy_updater.h"

namespace bicrl {

struct UpdateOptions {
  std::string shape;   // config.json
  int64_t layers = 0;  // 0: all
  UpdateRows rows;
  int64_t tokens_per_pack = 17000;
  std::string recompute_name = "none";

  void add_to(CLI::App& app) {
    app.add_option("shape", shape, "config.json of the policy")->required();
    app.add_option("--layers", layers, "so many of the policy's layers; 0: all");
    app.add_option("--groups", rows.groups, "prompts of a rank");
    app.add_option("--samples", rows.samples, "responses to a prompt");
    app.add_option("--prompt", rows.prompt, "tokens of a prompt");
    app.add_option("--response", rows.response, "tokens of a response, of the longest if they differ");
    app.add_option("--shortest", rows.shortest, "of the shortest response of a group, if they differ");
    app.add_option("--rounds", rows.rounds, "denoising rounds of a block, two scored tokens each")
        ->check(CLI::Range(1, 2));
    app.add_option("--tokens-per-pack", tokens_per_pack, "rows of a pass");
    app.add_option("--recompute", recompute_name)->check(CLI::IsMember({"none", "selective", "full"}));
  }

  PolicyConfig config() const {
    PolicyConfig config = PolicyConfig::from_file(shape);
    if (layers > 0) config.layers = layers;
    return config;
  }
  Recompute recompute() const { return recompute_named(recompute_name); }
  UpdaterSettings updater() const {
    UpdaterSettings settings;
    settings.tokens_per_pack = tokens_per_pack;
    settings.learning_rate.peak = 1e-6;
    return settings;
  }
};

}  // namespace bicrl
