// Collective: what each rank has to say as one JSON document, for all ranks. Bytes in it that are no UTF-8
// are replaced.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trainer/ranks/control_plane.h"

namespace bicrl {

// The documents of all ranks, in rank order.
std::vector<nlohmann::json> exchange_documents(
    ControlPlane& control, const nlohmann::json& mine,
    const ControlPlane::Place& place = ControlPlane::Place::current());

// Likewise, of objects. `error`: what kept this rank from its work, as error_of() gives it. If some rank has
// one, all throw the first as throw_first_error() does.
std::vector<nlohmann::json> exchange_documents(
    ControlPlane& control, nlohmann::json mine, const std::string& error,
    const ControlPlane::Place& place = ControlPlane::Place::current());

}  // namespace bicrl
