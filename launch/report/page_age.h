// Least age of the page of a run that goes on before a newer page replaces it. A page reads the whole run, so
// that of a long run takes seconds to make, on a machine that trains.
#pragma once
#include <algorithm>
#include <chrono>

namespace bicrl {

// At most a tenth of the time goes into pages, however often the files change.
constexpr std::chrono::steady_clock::duration least_page_age(std::chrono::steady_clock::duration making) {
  constexpr std::chrono::steady_clock::duration kFewest = std::chrono::seconds(3);
  return std::max(kFewest, 10 * making);
}

}  // namespace bicrl
