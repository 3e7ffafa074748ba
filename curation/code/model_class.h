// Modules of published code as tasks, whose class is named Model and takes what get_init_inputs() returns.
// Pure functions.
#pragma once
#include <string>

namespace bicrl::curation {

// `entry_point`: the name of the module's class. One of another name gets a class Model behind it. Of a class
// Model, get_init_inputs() returns a list or a mapping instead of KernelBook's [[positional...], {name:
// value}]. Throws InputError if the class is not there, if there is another class Model, or if Model would
// take arguments of both kinds.
std::string with_model_class(const std::string& code, const std::string& entry_point);

}  // namespace bicrl::curation
