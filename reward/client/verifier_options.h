// Checks shared by the places that accept verifier addresses. Pure functions.
#pragma once
#include <string>
#include <vector>

#include "reward/client/verifier_client.h"

namespace bicrl {

// Why the addresses cannot be used; empty where they can.
std::string address_problem(const std::vector<std::string>& addresses);

}  // namespace bicrl
