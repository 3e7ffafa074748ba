// One self-contained HTML file: markup, style sheet, script and data, with a content security policy under
// which nothing else can run or be fetched. Pure functions.
#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/page/html.h"
#include "report/run_record.h"

namespace bicrl::report {

struct PageOptions {
  std::string live_path{};  // of `bicrl watch`: where its events come from; empty: a file
};

std::string run_page(const std::vector<RunRecord>& runs, const PageOptions& options = {});

// Of a file of evaluated responses (evaluations/NAME.jsonl).
std::string evaluation_page(const EvaluationEntry& evaluation);

// Of a curated set: a directory that `bicrl curate` has finished. Throws InputError if it holds no data card.
std::string curated_page(const std::filesystem::path& folder);

// What all pages are made of.
struct PageContent {
  std::string title{};
  Html heading{};  // below the title
  struct Section {
    const char* id;
    const char* name;
    Html content{};
  };
  std::vector<Section> sections{};
  nlohmann::json data{};
};
std::string assemble_page(const PageContent& content, const PageOptions& options = {});

// The policy of such a page, also for a server's header.
std::string content_security_policy(bool is_live);

}  // namespace bicrl::report
