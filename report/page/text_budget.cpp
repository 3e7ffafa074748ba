#include "report/page/text_budget.h"

#include <algorithm>

#include "common/error.h"
#include "common/utf8.h"
#include "report/page/html.h"

namespace bicrl::report {
namespace {

size_t markup_bytes(const std::string& untrusted) { return text(untrusted).markup().size(); }

}  // namespace

size_t common_limit(std::vector<size_t> sizes, size_t budget) {
  std::ranges::sort(sizes);
  size_t left = budget;
  for (size_t i = 0; i < sizes.size(); ++i) {
    // What is left, in equal parts for this text and all that are longer.
    const size_t part = left / (sizes.size() - i);
    if (sizes[i] > part) return part;
    left -= sizes[i];
  }
  return sizes.empty() ? budget : sizes.back();
}

std::string cut_text(const std::string& untrusted, size_t most_bytes) {
  if (markup_bytes(untrusted) <= most_bytes) return untrusted;
  const std::string whole = to_utf8(untrusted);
  size_t fits = 0, too_many = whole.size() + 1;
  while (too_many - fits > 1) {
    const size_t middle = fits + (too_many - fits) / 2;
    (markup_bytes(whole.substr(0, middle)) <= most_bytes ? fits : too_many) = middle;
  }
  const std::string_view head = utf8_head(whole, fits);
  return concat(head, "\n… ", whole.size() - head.size(), " more bytes");
}

}  // namespace bicrl::report
