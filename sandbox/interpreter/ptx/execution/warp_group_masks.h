// Sets of lanes as arrays over lanes, and results of which only some lanes count. Pure functions on arrays of
// a multiple of 32 lanes, aligned to 64 bytes.
#pragma once
#include <cstddef>
#include <cstdint>

#include "sandbox/interpreter/ptx/alu/lanes.h"

namespace bicrl::ptx {

// words[lane] is all ones for the set's lanes, 0 for others.
void expand_mask(const LaneSet& lanes, uint32_t* words);
// The lanes whose word is not 0.
void collect_mask(const uint32_t* words, int lanes, LaneSet& set);
// mask = words, or not words if `negated`; and also_in, unless that is null.
void guard_words(const uint32_t* words, bool negated, const uint32_t* also_in, uint32_t* mask, int lanes);
// Whether an element of the mask's lanes has a bit that is not 0.
bool any_set(const void* array, const uint32_t* mask, size_t element_bytes, int lanes);
// Takes over the elements of `source` for the lanes of the mask. Elements of 2, 4, 8 or 16 bytes.
void blend(std::byte* destination, const void* source, const uint32_t* mask, size_t element_bytes, int lanes);

}  // namespace bicrl::ptx
