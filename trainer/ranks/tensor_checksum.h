// A checksum of a tensor's bytes that is computed by the device which holds them, with tensor operations
// alone: the same number on every device and in every build, whatever the order in which it adds.
//
// Of the 32-bit words w(0), w(1), ... of bucket number b it is
//   sum over p of w(p) * key(b * 2^40 + p)  modulo 2^64,
// where key(n) is number n of the SplitMix64 sequence from 0, made odd (Steele, Lea, Flood: Fast splittable
// pseudorandom number generators, OOPSLA 2014): a multilinear hash (Carter, Wegman: Universal classes of hash
// functions, 1979). As keys are odd, whatever changes within a single word, one bit or all of them, changes
// the sum. Keys belong to places, so that exchanged elements and exchanged buckets change it as well: two
// contents chosen without regard to the keys have the same sum with a probability of at most 2^-32 (2^-63 if
// some word differs by an odd number), by the 63 free bits of a key against the at most 31 powers of two in a
// difference. It guards against faults, not against an adversary.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace bicrl {

// The 32-bit words of `values`, and the number of the key of the first one. Throws Error unless `values` is
// contiguous, of whole words, at most 2^40 of them.
struct ChecksumWords {
  at::Tensor words;  // int32, flat, live
  uint64_t first_key = 0;
};
ChecksumWords checksum_words(const at::Tensor& values, int64_t bucket);

// Of what has checksum_words(). Returns one int64 on its device,
// without waiting for it. Takes some MB of the device for the time. Thread-safe.
at::Tensor tensor_checksum(const at::Tensor& values, int64_t bucket);

}  // namespace bicrl
