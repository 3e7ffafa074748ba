// Pipelines of tests: a file of tasks, a configuration, and what a run leaves behind.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "curation/record_pipeline.h"
#include "curation/services.h"

namespace bicrl::curation {

// What readers of task files take for a module, behind that line.
std::string module_named(const std::string& first_line);

// A JSON list of `count` end-to-end tasks: "task 0"...
void write_tasks(const std::filesystem::path& file, int count);

// The configuration of a pipeline that loads tasks.json of the folder as `toy`, and goes on with `steps`. Its
// files go to that directory of the folder.
std::string pipeline_of(const std::filesystem::path& folder, const std::string& steps,
                        const std::string& directory = "run");

// Runs the pipeline of that configuration; `only` as in Pipeline::run().
void run_pipeline(const std::string& yaml, Services& services, const std::string& only = "");

std::vector<std::string> lines_of(const std::filesystem::path& file);

// Every file of a run but its ledger, by relative name: what two runs that did the same work share.
std::map<std::string, std::string> outputs_of(const std::filesystem::path& directory);

}  // namespace bicrl::curation
