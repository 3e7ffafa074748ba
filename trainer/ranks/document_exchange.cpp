#include "trainer/ranks/document_exchange.h"

#include <utility>

namespace bicrl {

using nlohmann::json;

std::vector<json> exchange_documents(ControlPlane& control, const json& mine,
                                     const ControlPlane::Place& place) {
  std::vector<json> ranks;
  for (const std::string& part :
       control.all_gather(mine.dump(-1, ' ', false, json::error_handler_t::replace), place))
    ranks.push_back(json::parse(part));
  return ranks;
}

std::vector<json> exchange_documents(ControlPlane& control, json mine, const std::string& error,
                                     const ControlPlane::Place& place) {
  mine["error"] = error;
  std::vector<json> ranks = exchange_documents(control, std::as_const(mine), place);
  std::vector<std::string> errors;
  for (const json& rank : ranks) errors.push_back(rank.at("error"));
  throw_first_error(errors);
  return ranks;
}

}  // namespace bicrl
