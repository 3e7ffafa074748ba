// The gradients of keys and values on Hopper: each of two warpgroups has half a tile of keys and goes over
// the runs of query rows that see the tile. Products have keys as rows, so that weights and gradients of
// scores are factors of the next products as they are. While a step's are made, those of the step before are
// used.
#pragma once
#include "policy/gpu/pack_attention/pack_hopper.cuh"
#include "policy/gpu/pack_attention/pack_key_walk.cuh"

namespace bicrl::gpu {

struct KeyNote {
  KeyTask task;
  KeyTile tile;
  int more;  // 0: there is no such task
};

struct StepNote {
  KeyUse use;
  QueryRun run;
  int kinds[2];  // StepKind for each half of the keys
};

// A run on its way: what comes by copies, and what the thread that fetches it says of it.
template <int kHeadDim>
struct alignas(1024) StepPlace {
  __nv_bfloat16 queries[64 * kHeadDim], grads[64 * kHeadDim];
  float log_sums[kRunProductRows], deltas[kRunProductRows];
  int32_t limits[kRunProductRows];
  StepNote note;
};

template <int kHeadDim>
struct KeyGradientMemory {
  static constexpr int kPlaces = 4;
  __nv_bfloat16 keys[2][64 * kHeadDim], values[2][64 * kHeadDim];
  StepPlace<kHeadDim> places[kPlaces];
  __nv_bfloat16 staging[kMultiplyingWarps][16 * 64];
  KeyNote note;
  uint64_t full[kPlaces], empty[kPlaces], tile_full, tile_empty;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// By all threads. A run may have less than 64 product rows: those behind them weigh nothing, as if they had
// an infinite log-sum.
template <int kHeadDim>
__device__ inline void init_memory(const PackArguments& a, KeyGradientMemory<kHeadDim>& memory) {
  if (threadIdx.x == 0) {
    for (int i = 0; i < KeyGradientMemory<kHeadDim>::kPlaces; ++i) {
      init_barrier(shared_address(&memory.full[i]), 1);
      init_barrier(shared_address(&memory.empty[i]), kMultiplyingWarps);
    }
    init_barrier(shared_address(&memory.tile_full), 1);
    init_barrier(shared_address(&memory.tile_empty), kMultiplyingWarps);
    show_barriers();
  }
  const int used = a.run_rows * a.group, unused = kRunProductRows - used;
  for (StepPlace<kHeadDim>& place : memory.places) {
    for (int i = threadIdx.x; i < kRunProductRows; i += kHopperThreads) {
      place.log_sums[i] = INFINITY;
      place.deltas[i] = 0;
      place.limits[i] = 0;
    }
    for (int i = threadIdx.x; i < unused * kHeadDim; i += kHopperThreads) {
      // Of a slice, the rows behind those used lie side by side.
      const int slice = i / (unused * 64), at = (slice * kRunProductRows + used) * 64 + i % (unused * 64);
      narrow(0.0f, place.queries[at]);
      narrow(0.0f, place.grads[at]);
    }
  }
  show_to_products();
}

template <int kHeadDim>
__device__ inline void fetch_key_tiles(const PackArguments& a, const PackMaps& maps,
                                       KeyGradientMemory<kHeadDim>& memory) {
  const int first = a.tables.first_key_task[blockIdx.x], end = a.tables.first_key_task[blockIdx.x + 1];
  const unsigned full = shared_address(&memory.tile_full);
  for (int task = first; task <= end; ++task) {
    KeyNote note{};
    if (task < end) note.task = a.tables.key_tasks[task];
    note.tile = a.tables.key_tiles[note.task.tile];
    note.more = task < end ? 1 : 0;
    wait_for_phase(shared_address(&memory.tile_empty), (task - first + 1) & 1);
    memory.note = note;
    if (task == end) {
      arrive(full);
      return;
    }
    const int halves = note.tile.rows > kChunkKeys ? 2 : 1;
    arrive_expecting(full, halves * 2 * 64 * kHeadDim * 2);
    for (int half = 0; half < halves; ++half)
      for (int slice = 0; slice < kHeadDim / 64; ++slice) {
        const int row = note.tile.first_row + half * kChunkKeys;
        copy_box(shared_address(memory.keys[half]) + slice * kSliceBytes, maps.k, full, slice * 64,
                 note.task.kv_head, row);
        copy_box(shared_address(memory.values[half]) + slice * kSliceBytes, maps.v, full, slice * 64,
                 note.task.kv_head, row);
      }
  }
}

template <int kHeadDim>
__device__ inline void fetch_step(const PackArguments& a, const PackMaps& maps, const QueryRun& run,
                                  int kv_head, StepPlace<kHeadDim>& place, unsigned full) {
  const unsigned sums = run.rows * a.group * sizeof(float), limits = run.rows * sizeof(int32_t);
  arrive_expecting(full, 2 * a.run_rows * a.group * kHeadDim * 2 + 2 * sums + limits);
  for (int slice = 0; slice < kHeadDim / 64; ++slice) {
    copy_box(shared_address(place.queries) + slice * kSliceBytes, maps.q, full, slice * 64, 0, kv_head,
             run.first_row);
    copy_box(shared_address(place.grads) + slice * kSliceBytes, maps.grad_out, full, slice * 64, 0, kv_head,
             run.first_row);
  }
  const int64_t at = a.sums_of(kv_head, run.first_row);
  copy_bytes(shared_address(place.log_sums), a.log_sums + at, sums, full);
  copy_bytes(shared_address(place.deltas), a.deltas + at, sums, full);
  copy_bytes(shared_address(place.limits), a.tables.row_limits + run.first_row, limits, full);
}

template <int kHeadDim>
__device__ inline void fetch_key_steps(const PackArguments& a, const PackMaps& maps,
                                       KeyGradientMemory<kHeadDim>& memory) {
  const int first = a.tables.first_key_task[blockIdx.x], end = a.tables.first_key_task[blockIdx.x + 1];
  Ring<KeyGradientMemory<kHeadDim>::kPlaces> ring;
  for (int i = first; i < end; ++i) {
    const KeyTask task = a.tables.key_tasks[i];
    const KeyTile tile = a.tables.key_tiles[task.tile];
#pragma unroll 1
    for (KeyWalk walk(a.tables, task); !walk.done(); walk.advance(), ring.advance()) {
      const QueryRun run = walk.run();
      StepPlace<kHeadDim>& place = memory.places[ring.place];
      wait_for_phase(shared_address(&memory.empty[ring.place]), ring.parity ^ 1);
      place.note.use = walk.use();
      place.note.run = run;
      for (int half = 0; half < 2; ++half)
        place.note.kinds[half] =
            kind_of_step(a, walk.use(), run, tile.first_row + half * kChunkKeys, tile.first_row + tile.rows);
      fetch_step<kHeadDim>(a, maps, run, task.kv_head, place, shared_address(&memory.full[ring.place]));
    }
  }
}

// A warpgroup's half of every tile.
template <int kHeadDim>
class KeyGradientMultiplier {
  using Memory = KeyGradientMemory<kHeadDim>;

 public:
  __device__ KeyGradientMultiplier(const PackArguments& a, Memory& memory)
      : a_(a), memory_(memory), which_(multiplier_of_thread()), warp_(threadIdx.x % kGroupThreads / kWarp) {}

  __device__ void differentiate_tile() {
    left_ = of_all_lanes(memory_.note.task.steps);
    const unsigned keys = shared_address(memory_.keys[0]) + which_ * 64 * kHeadDim * 2;
    const unsigned values = shared_address(memory_.values[0]) + which_ * 64 * kHeadDim * 2;
    float grad_k[kHeadDim / 8][4] = {}, grad_v[kHeadDim / 8][4] = {};
    float score[kChunkEights][4], product[kChunkEights][4];
    unsigned weights[4][4], factors[4][4];
    // With the scores of the step there: weights, whose sums begin, and gradients of scores.
    const auto differentiate = [&] {
      settle(score);
      open_products();
      begin_rows<kHeadDim>(values, grads(place_), product);
      close_products();
      weigh_step(score);
#pragma unroll
      for (int k = 0; k < 4; ++k) pack_columns(score, k, weights[k]);
      open_products();
      begin_sum<kHeadDim>(weights, grads(place_), grad_v);
      close_products();
      wait_for_products<1>();
      settle(product);
      differentiate_step(score, product);
      wait_for_products<0>();
      settle(grad_v);
#pragma unroll
      for (int k = 0; k < 4; ++k) pack_columns(product, k, factors[k]);
    };
    while (seek()) {
      open_products();
      begin_rows<kHeadDim>(keys, queries(place_), score);
      close_products();
      wait_for_products<0>();
      differentiate();
      unsigned behind = place_;
      for (; next(); behind = place_) {
        open_products();
        begin_sum<kHeadDim>(factors, queries(behind), grad_k);
        begin_rows<kHeadDim>(keys, queries(place_), score);
        close_products();
        wait_for_products<0>();
        settle(grad_k);
        release(behind);
        differentiate();
      }
      open_products();
      begin_sum<kHeadDim>(factors, queries(behind), grad_k);
      close_products();
      wait_for_products<0>();
      settle(grad_k);
      release(behind);
    }
    const KeyTask task = memory_.note.task;
    const KeyTile tile = memory_.note.tile;
    if (threadIdx.x % kWarp == 0) arrive(shared_address(&memory_.tile_empty));
    write(task, tile, grad_k, a_.scale, 0);
    write(task, tile, grad_v, 1.0f, 1);
  }

 private:
  static constexpr unsigned kPlaceBytes = sizeof(StepPlace<kHeadDim>);

  __device__ unsigned queries(unsigned place) const {
    return shared_address(memory_.places[0].queries) + place * kPlaceBytes;
  }
  __device__ unsigned grads(unsigned place) const { return queries(place) + 64 * kHeadDim * 2; }
  __device__ void release(unsigned place) const {
    if (threadIdx.x % kWarp == 0) arrive(shared_address(memory_.empty) + place * 8);
  }

  // Goes to the next run that sees some of these keys: place_. False if there is none.
  __device__ bool seek() {
    for (; left_ > 0; skip())
      if (next()) return true;
    return false;
  }
  // Goes to the run behind, if there is one and it sees some. Else what was read before is to be released
  // before a call of seek(): the places that follow may all be waited for.
  __device__ bool next() {
    if (left_ == 0) return false;
    wait_for_phase(shared_address(memory_.full) + ring_.place * 8, ring_.parity);
    const int kind = of_all_lanes(memory_.places[ring_.place].note.kinds[which_]);
    if (kind == kUnseen) return false;
    is_cut_ = kind == kPartlySeen;
    place_ = ring_.place;
    ring_.advance();
    --left_;
    return true;
  }
  __device__ void skip() {
    release(ring_.place);
    ring_.advance();
    --left_;
  }

  // Scores become weights.
  __device__ void weigh_step(float (&score)[kChunkEights][4]) const {
    const StepPlace<kHeadDim>& place = memory_.places[place_];
    const int lane = threadIdx.x % kWarp;
    if (is_cut_) {
      const int row = memory_.note.tile.first_row + which_ * kChunkKeys + warp_ * 16 + lane / 4;
      const int key_row[2] = {row, row + 8};
      mask_key_scores(a_, place.note.use, place.note.run, key_row, place.limits, score);
    }
#pragma unroll
    for (int n = 0; n < kChunkEights; ++n) {
      const float2 log_sum = *reinterpret_cast<const float2*>(&place.log_sums[n * 8 + lane % 4 * 2]);
#pragma unroll
      for (int i = 0; i < 4; ++i)
        score[n][i] = weight_of(a_.scale_log2, i % 2 == 0 ? log_sum.x : log_sum.y, score[n][i]);
    }
  }
  // What grad_out makes of the values becomes the gradients of scores.
  __device__ void differentiate_step(const float (&weight)[kChunkEights][4],
                                     float (&product)[kChunkEights][4]) const {
    const StepPlace<kHeadDim>& place = memory_.places[place_];
#pragma unroll
    for (int n = 0; n < kChunkEights; ++n) {
      const float2 delta = *reinterpret_cast<const float2*>(&place.deltas[n * 8 + threadIdx.x % 4 * 2]);
#pragma unroll
      for (int i = 0; i < 4; ++i)
        product[n][i] = gradient_of_score(weight[n][i], i % 2 == 0 ? delta.x : delta.y, product[n][i]);
    }
  }

  __device__ void write(const KeyTask& task, const KeyTile& tile, const float (&grad)[kHeadDim / 8][4],
                        float factor, int of_values) const {
    const int first = which_ * kChunkKeys + warp_ * 16;
    if (task.part >= 0) {
      write_part(a_.parts + ((int64_t{task.part} * 2 + of_values) * kKeyTileRows + first) * kHeadDim, grad,
                 factor);
      return;
    }
    const float factors[2] = {factor, factor};
    __nv_bfloat16* const to = (of_values ? a_.grad_v : a_.grad_k) + task.kv_head * kHeadDim;
    const int64_t stride = of_values ? a_.grad_v_stride : a_.grad_k_stride;
    write_warp_rows<kHeadDim>(
        shared_address(memory_.staging[which_ * 4 + warp_]), grad, factors, [&](int row) {
          return first + row < tile.rows ? to + (tile.first_row + first + row) * stride : nullptr;
        });
  }
  __device__ void write_part(float* to, const float (&grad)[kHeadDim / 8][4], float factor) const {
    const int lane = threadIdx.x % kWarp;
#pragma unroll
    for (int d = 0; d < kHeadDim / 8; ++d)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        *reinterpret_cast<float2*>(to + (i * 8 + lane / 4) * kHeadDim + d * 8 + lane % 4 * 2) =
            make_float2(grad[d][i * 2] * factor, grad[d][i * 2 + 1] * factor);
  }

  const PackArguments& a_;
  Memory& memory_;
  const int which_, warp_;
  Ring<Memory::kPlaces> ring_;
  int left_ = 0;
  unsigned place_ = 0;
  bool is_cut_ = false;
};

#endif

template <int kHeadDim>
__global__ void __launch_bounds__(kHopperThreads, 1)
    pack_key_gradients_hopper(const __grid_constant__ PackArguments a,
                              const __grid_constant__ PackMaps maps) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) unsigned char shared[];
  auto& memory = *reinterpret_cast<KeyGradientMemory<kHeadDim>*>(shared);
  init_memory(a, memory);
  __syncthreads();
  if (threadIdx.x < kGroupThreads) {
    give_registers<KeyRegisters::kFetcher>();
    if (threadIdx.x == 0) fetch_key_steps<kHeadDim>(a, maps, memory);
    if (threadIdx.x == kWarp) fetch_key_tiles<kHeadDim>(a, maps, memory);
  } else {
    take_registers<KeyRegisters::kMultiplier>();
    KeyGradientMultiplier<kHeadDim> multiplier(a, memory);
    for (unsigned parity = 0;; parity ^= 1) {
      wait_for_phase(shared_address(&memory.tile_full), parity);
      if (of_all_lanes(memory.note.more) == 0) return;
      multiplier.differentiate_tile();
    }
  }
#endif
}

}  // namespace bicrl::gpu
