// CUB's block and warp primitives in host code: types alone. Their storage has one byte here: what a host
// part computes from its size is not what a device has.
#pragma once
#include "bicrl/device.h"

namespace cub {

enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
  BLOCK_REDUCE_RAKING,
  BLOCK_REDUCE_WARP_REDUCTIONS
};
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm {
  BLOCK_LOAD_DIRECT,
  BLOCK_LOAD_STRIPED,
  BLOCK_LOAD_VECTORIZE,
  BLOCK_LOAD_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE
};
enum BlockStoreAlgorithm {
  BLOCK_STORE_DIRECT,
  BLOCK_STORE_STRIPED,
  BLOCK_STORE_VECTORIZE,
  BLOCK_STORE_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE
};
#define BICRL_PRIMITIVE(name)    \
  template <class T, auto... V>  \
  struct name {                  \
    struct TempStorage {};       \
    name() {}                    \
    explicit name(TempStorage&); \
  };
BICRL_PRIMITIVE(BlockReduce)
BICRL_PRIMITIVE(BlockScan)
BICRL_PRIMITIVE(BlockLoad)
BICRL_PRIMITIVE(BlockStore)
BICRL_PRIMITIVE(BlockExchange)
BICRL_PRIMITIVE(BlockHistogram)
BICRL_PRIMITIVE(BlockDiscontinuity)
BICRL_PRIMITIVE(BlockAdjacentDifference)
BICRL_PRIMITIVE(BlockShuffle)
BICRL_PRIMITIVE(WarpReduce)
BICRL_PRIMITIVE(WarpScan)
BICRL_PRIMITIVE(WarpMergeSort)
BICRL_PRIMITIVE(WarpLoad)
BICRL_PRIMITIVE(WarpStore)
BICRL_PRIMITIVE(WarpExchange)
#undef BICRL_PRIMITIVE
template <class Key, int threads, int items, class Value = void, auto... V>
struct BlockRadixSort {
  struct TempStorage {};
};
template <class Key, int threads, int items, class Value = void, auto... V>
struct BlockMergeSort {
  struct TempStorage {};
};
template <class K, class V>
struct KeyValuePair {
  K key;
  V value;
};
#define BICRL_OPERATION(name)                \
  struct name {                              \
    template <class A, class B>              \
    A operator()(const A&, const B&) const { \
      bicrl_device_only();                   \
    }                                        \
  };
BICRL_OPERATION(Sum)
BICRL_OPERATION(Max)
BICRL_OPERATION(Min)
BICRL_OPERATION(ArgMax)
BICRL_OPERATION(ArgMin)
#undef BICRL_OPERATION

}  // namespace cub
