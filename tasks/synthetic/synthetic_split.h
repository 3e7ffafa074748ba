// On which side of the split a composition of synthesised tasks lies: that of training, that of development,
// by which choices are made, or that of the test, which shows at the end what the choices are worth. Pure
// functions.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bicrl {

enum class SyntheticSplit { kTrain, kDevelopment, kTest };

std::string to_string(SyntheticSplit split);  // "train", "development", "test"

// Every ordered pair of operators belongs to one side, whatever seed and options. A composition that has a
// pair of development or of test among its neighbours belongs there, so that what is held out is how two
// operators meet, in whatever company. Nothing for one with pairs of both, which belongs nowhere.
std::optional<SyntheticSplit> split_of(const std::vector<std::string>& composition);

}  // namespace bicrl
