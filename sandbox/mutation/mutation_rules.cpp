#include "sandbox/mutation/mutation_rules.h"

#include <array>
#include <cstdlib>
#include <set>

#include "common/config/one_of.h"
#include "common/error.h"

namespace bicrl {
namespace {

template <class Work>
void for_tokens(const DeviceFunction& f, const Work& work) {
  for (size_t i = f.first(); i < f.end(); i = f.next(i)) work(i);
}

// ---- What orders threads ----

// Calls that make a statement of their own: NAME(...); and OBJECT.NAME(...);
template <class Accept>
void remove_statements(const DeviceFunction& f, const Change& change, const Accept& accept) {
  for_tokens(f, [&](size_t i) {
    if (!f.is_name(i) || !f.begins_statement(i)) return;
    const auto joins = [&f](size_t at) { return f.is(at, ".") || f.is(at, ":"); };
    size_t name = i, open = f.next(i);
    while (joins(open)) {
      for (name = open; joins(name);) name = f.next(name);
      open = f.next(name);
    }
    const size_t close = f.is(open, "(") ? f.partner(open) : f.end();
    if (close < f.end() && f.is(f.next(close), ";") && accept(f.at(name))) change(i, close, "");
  });
}

void remove_barriers(const DeviceFunction& f, const Change& change) {
  remove_statements(f, change, [](std::string_view name) {
    return is_one_of(name, {"__syncthreads", "__syncwarp", "sync", "arrive_and_wait", "__pipeline_wait_prior",
                            "wait", "wait_group"});
  });
}

void remove_fences(const DeviceFunction& f, const Change& change) {
  remove_statements(f, change, [](std::string_view name) {
    return is_one_of(name, {"__threadfence", "__threadfence_block", "__threadfence_system"});
  });
}

void remove_atomics(const DeviceFunction& f, const Change& change) {
  for_tokens(f, [&](size_t i) {
    const std::string_view name = f.at(i);
    if (!is_one_of(name, {"atomicAdd", "atomicMax", "atomicMin"}) || !f.begins_statement(i)) return;
    const auto arguments = f.arguments(f.next(i));
    const size_t close = f.partner(f.next(i));
    if (arguments.size() != 2 || !f.is(f.next(close), ";")) return;
    const std::string place = concat("*(", f.code(arguments[0].first, arguments[0].second), ")");
    const std::string value = concat("(", f.code(arguments[1].first, arguments[1].second), ")");
    if (name == "atomicAdd")
      change(i, close, concat(place, " = ", place, " + ", value));
    else
      change(i, close, concat(place, " = ", name == "atomicMax" ? "max(" : "min(", place, ", ", value, ")"));
  });
}

// ---- Bounds ----

// `<` or `>` between two operands, neither of a template nor half of another operator.
bool compares(const DeviceFunction& f, size_t i, std::string_view sign) {
  const size_t before = f.previous(i), after = f.next(i);
  if (!f.is(i, sign) || f.is(after, "=") || f.is(after, sign) || f.is(before, sign) || f.is(before, "-"))
    return false;
  return (f.is_name(before) || f.is_number(before) || f.is(before, ")") || f.is(before, "]")) &&
         (f.is_name(after) || f.is_number(after) || f.is(after, "("));
}

// Conditions of if, for and while: tokens (first, last) between their brackets.
template <class Work>
void for_conditions(const DeviceFunction& f, const Work& work) {
  for_tokens(f, [&](size_t i) {
    if (!is_one_of(f.at(i), {"if", "for", "while"}) || !f.is(f.next(i), "(")) return;
    const size_t open = f.next(i), close = f.partner(open);
    if (close >= f.end()) return;
    size_t begin = open, end = close;
    if (f.is(i, "for")) {
      begin = f.statement_end(f.next(open));
      end = begin < close ? f.statement_end(f.next(begin)) : close;
      if (end >= close) return;
    }
    work(i, close, begin, end);
  });
}

// The loop's body holds a barrier: its turns are tiles.
bool goes_over_tiles(const DeviceFunction& f, size_t keyword, size_t close) {
  const size_t open = f.next(close);
  if (!f.is(keyword, "for") || !f.is(open, "{")) return false;
  for (size_t i = open; i < f.partner(open); i = f.next(i))
    if (f.is(i, "__syncthreads")) return true;
  return false;
}

template <class Wanted>
void shorten_bounds(const DeviceFunction& f, const Change& change, const Wanted& wanted) {
  for_conditions(f, [&](size_t keyword, size_t close, size_t begin, size_t end) {
    if (!wanted(keyword, close)) return;
    for (size_t i = begin; i < end; i = f.next(i)) {
      const size_t bound = f.next(i), behind = f.next(bound);
      const bool plain = f.is_name(bound) || f.is_number(bound);
      if (compares(f, i, "<") && plain && !f.is(behind, "(") && !f.is(behind, "."))
        change(bound, bound, concat("(", f.at(bound), " - 1)"));
    }
  });
}

void shorten_conditions(const DeviceFunction& f, const Change& change) {
  shorten_bounds(f, change,
                 [&](size_t keyword, size_t close) { return !goes_over_tiles(f, keyword, close); });
}

void skip_last_tiles(const DeviceFunction& f, const Change& change) {
  shorten_bounds(f, change, [&](size_t keyword, size_t close) { return goes_over_tiles(f, keyword, close); });
}

void widen_conditions(const DeviceFunction& f, const Change& change) {
  for_conditions(f, [&](size_t, size_t, size_t begin, size_t end) {
    for (size_t i = begin; i < end; i = f.next(i))
      if (compares(f, i, "<")) change(i, i, "<=");
  });
}

void turn_comparisons(const DeviceFunction& f, const Change& change) {
  for_tokens(f, [&](size_t i) {
    static constexpr std::array<std::pair<std::string_view, const char*>, 4> kOpposites{
        {{"fmaxf", "fminf"}, {"fminf", "fmaxf"}, {"max", "min"}, {"min", "max"}}};
    for (const auto& [name, opposite] : kOpposites)
      if (f.is(i, name) && f.is(f.next(i), "(")) change(i, i, opposite);
    if (compares(f, i, ">")) {
      size_t open = f.previous(i);  // a template's bracket closes here if one opened in this statement
      while (open > f.first() && open < f.end() && !f.begins_statement(open) && !f.is(open, "<"))
        open = f.previous(open);
      if (!f.is(open, "<")) change(i, i, "<");
    }
  });
}

// ---- Values ----

void drop_addends(const DeviceFunction& f, const Change& change) {
  for_tokens(f, [&](size_t i) {
    const size_t name = f.next(i), open = f.next(name);
    if (!f.is(i, "+") || !f.is_name(name) || !f.is(open, "[") || f.is(f.previous(i), "+")) return;
    const size_t close = f.partner(open), behind = f.next(close);
    if (close < f.end() && (f.is(behind, ";") || f.is(behind, ")") || f.is(behind, ",")))
      change(i, close, "");
  });
}

void grow_epsilons(const DeviceFunction& f, const Change& change) {
  for_tokens(f, [&](size_t i) {
    if (!f.is_number(i)) return;
    const std::string word(f.at(i));
    const double value = strtod(word.c_str(), nullptr);
    if (value > 0 && value <= 1e-3 && word.find("e-") != std::string::npos)
      change(i, i, concat("(", word, " * 1000)"));
  });
}

// Names of plain local variables: float NAME = ...;
std::set<std::string_view> float_variables(const DeviceFunction& f) {
  std::set<std::string_view> names;
  for_tokens(f, [&](size_t i) {
    if (f.is(i, "float") && f.is_name(f.next(i)) && f.is(f.next(f.next(i)), "="))
      names.insert(f.at(f.next(i)));
  });
  return names;
}

// NAME += value; of a float variable: token of NAME, first and last of the value.
template <class Work>
void for_sums(const DeviceFunction& f, const Work& work) {
  const auto floats = float_variables(f);
  for_tokens(f, [&](size_t i) {
    const size_t plus = f.next(i), equals = f.next(plus);
    if (!floats.count(f.at(i)) || !f.is(plus, "+") || !f.is(equals, "=") || !f.begins_statement(i)) return;
    const size_t end = f.statement_end(equals);
    if (end < f.end()) work(i, f.next(equals), f.previous(end));
  });
}

void coarsen_sums(const DeviceFunction& f, const Change& change) {
  for_sums(f, [&](size_t name, size_t first, size_t last) {
    // Ten bits behind the point, as fp16 and TF32 have.
    change(name, last,
           concat(f.at(name), " = __uint_as_float(__float_as_uint(", f.at(name), " + (", f.code(first, last),
                  ")) & 0xFFFFE000u)"));
  });
}

void forget_sums(const DeviceFunction& f, const Change& change) {
  for_sums(f, [&](size_t name, size_t first, size_t last) {
    change(name, last, concat(f.at(name), " = ", f.code(first, last)));
  });
}

// float NAME = number; of a variable that is added to later.
void leave_sums_undefined(const DeviceFunction& f, const Change& change) {
  std::set<std::string_view> sums;
  for_sums(f, [&](size_t name, size_t, size_t) { sums.insert(f.at(name)); });
  for_tokens(f, [&](size_t i) {
    const size_t name = f.next(i), equals = f.next(name), value = f.next(equals);
    if (f.is(i, "float") && sums.count(f.at(name)) && f.is(equals, "=") && f.is_number(value) &&
        f.is(f.next(value), ";"))
      change(equals, value, "");
  });
}

void truncate_values(const DeviceFunction& f, const Change& change) {
  for_tokens(f, [&](size_t i) {
    const size_t name = f.next(i), equals = f.next(name), first = f.next(equals);
    if (!f.is(i, "float") || !f.is_name(name) || !f.is(equals, "=") || f.is_number(first)) return;
    const size_t end = f.statement_end(first);
    if (end >= f.end()) return;
    const std::string value = f.code(first, f.previous(end));
    if (value.find(',') == std::string::npos) change(first, f.previous(end), concat("(int)(", value, ")"));
  });
}

// a * b + c within an index, where all are names.
void swap_strides(const DeviceFunction& f, const Change& change) {
  for_tokens(f, [&](size_t i) {
    if (!f.is(i, "[")) return;
    const size_t a = f.next(i), times = f.next(a), b = f.next(times), plus = f.next(b), c = f.next(plus);
    if (f.is_name(a) && f.is(times, "*") && f.is_name(b) && f.is(plus, "+") && f.is_name(c) &&
        f.is(f.next(c), "]"))
      change(a, c, concat(f.at(c), " * ", f.at(b), " + ", f.at(a)));
  });
}

}  // namespace

const std::vector<MutationRule>& mutation_rules() {
  static const std::vector<MutationRule> rules = {
      {"barrier_removed", "threads no longer wait for each other", remove_barriers},
      {"fence_removed", "writes are no longer ordered for other threads", remove_fences},
      {"atomic_removed", "an atomic update becomes a load and a store", remove_atomics},
      {"bound_shortened", "a condition leaves out its last element", shorten_conditions},
      {"bound_widened", "a condition takes in one element more", widen_conditions},
      {"last_tile_skipped", "a loop over tiles leaves out the last", skip_last_tiles},
      {"comparison_turned", "a maximum becomes a minimum, more becomes less", turn_comparisons},
      {"addend_dropped", "a bias or another element is not added", drop_addends},
      {"epsilon_grown", "a small constant is a thousand times as large", grow_epsilons},
      {"sum_coarsened", "a sum keeps ten bits behind the point", coarsen_sums},
      {"sum_forgotten", "a sum keeps its last addend alone", forget_sums},
      {"sum_undefined", "a sum begins with what was never written", leave_sums_undefined},
      {"value_truncated", "a value loses what is behind its point", truncate_values},
      {"strides_swapped", "rows and columns change places in an index", swap_strides},
  };
  return rules;
}

}  // namespace bicrl
