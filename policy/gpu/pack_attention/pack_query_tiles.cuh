// Tiles of query rows on Hopper, for the forward pass and the gradient of queries: a thread fetches a tile's
// runs and then its chunks of keys and values, and two warpgroups, one for each run, go over the chunks.
#pragma once
#include "policy/gpu/pack_attention/pack_hopper.cuh"

namespace bicrl::gpu {

// What the fetching thread says of a tile.
struct alignas(16) TileNote {
  QueryRun runs[2];
  int32_t limits[2][kRunProductRows];  // of the runs' rows
  int noisy_begin, kv_head, steps;
  int more;  // 0: there is no such tile
};

// Likewise of a chunk.
struct ChunkNote {
  int kinds[2];  // StepKind, for each run
  int row;       // of its first key, in a chunk of rows' own blocks; -1: of the context
  int position, end;
};

template <int kPlaces>
struct QueryBarriers {
  uint64_t full[kPlaces], empty[kPlaces], tile_full, tile_empty;
};

// Shared memory of a block: kRunMatrices of each run's rows stay for a tile, keys and values come and go.
template <int kHeadDim, int kRunMatrices>
struct QueryTileMemory {
  static constexpr int kPlaces = 4, kMatrices = kRunMatrices;
  __nv_bfloat16 rows[2][kMatrices][64 * kHeadDim];  // by run
  __nv_bfloat16 places[kPlaces][2][64 * kHeadDim];  // keys and values of a chunk
  __nv_bfloat16 staging[kMultiplyingWarps][16 * 64];
  TileNote tiles[2];
  ChunkNote notes[kPlaces];
  QueryBarriers<kPlaces> barriers;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

template <int kPlaces>
__device__ inline void init_barriers(QueryBarriers<kPlaces>& barriers) {
  for (int i = 0; i < kPlaces; ++i) {
    init_barrier(shared_address(&barriers.full[i]), 1);
    init_barrier(shared_address(&barriers.empty[i]), kMultiplyingWarps);
  }
  init_barrier(shared_address(&barriers.tile_full), 1);
  init_barrier(shared_address(&barriers.tile_empty), kMultiplyingWarps);
  show_barriers();
}

// Goes over the steps of a tile: the context's chunks from the last to the first, then its rows' own blocks.
class TileSteps {
 public:
  __device__ TileSteps(const PackArguments& a, const QueryTile& tile, const QueryRun& first_run)
      : context_(chunks_of_context(tile, tile.context)),
        own_row_(own_chunks_begin(first_run.first_row, a.block_size)) {}

  __device__ int count(const QueryTile& tile) const { return context_ + tile.own_chunks; }
  // Of the chunk's first key.
  __device__ int row(const QueryTile& tile, int step) const {
    return step < context_ ? context_chunk(tile, context_ - 1 - step).row
                           : own_row_ + (step - context_) * kChunkKeys;
  }
  __device__ void describe(const QueryTile& tile, const TileNote& of, int step, ChunkNote& note) const {
    if (step < context_) {
      const KeyChunk chunk = context_chunk(tile, context_ - 1 - step);
      for (int r = 0; r < 2; ++r) {
        const bool all = min(of.runs[r].least_limit, chunk.end) >= chunk.position + kChunkKeys;
        note.kinds[r] = of.runs[r].largest_limit <= chunk.position ? kUnseen : all ? kSeen : kPartlySeen;
      }
      note.row = -1;
      note.position = chunk.position;
      note.end = chunk.end;
    } else {
      note.row = own_row_ + (step - context_) * kChunkKeys;
      for (int r = 0; r < 2; ++r) {
        const int first = of.runs[r].first_row, end = first + of.runs[r].rows;
        const bool sees = end > tile.noisy_begin && first >= note.row && first < note.row + kChunkKeys;
        note.kinds[r] = sees ? kPartlySeen : kUnseen;
      }
    }
  }

 private:
  const int context_, own_row_;
};

// Fetches a tile's runs, which the note knows.
template <int kHeadDim, class Memory>
__device__ inline void fetch_runs(const PackArguments& a, const PackMaps& maps, TileNote& note, int runs,
                                  Memory& memory) {
  const unsigned full = shared_address(&memory.barriers.tile_full);
  const int matrix_bytes = a.run_rows * a.group * kHeadDim * 2;
  arrive_expecting(full,
                   runs * Memory::kMatrices * matrix_bytes + (note.runs[0].rows + note.runs[1].rows) * 4);
#pragma unroll 1
  for (int r = 0; r < runs; ++r) {
    const int row = note.runs[r].first_row;
    copy_bytes(shared_address(note.limits[r]), a.tables.row_limits + row, note.runs[r].rows * 4, full);
    for (int slice = 0; slice < kHeadDim / 64; ++slice) {
      copy_box(shared_address(memory.rows[r][0]) + slice * kSliceBytes, maps.q, full, slice * 64, 0,
               note.kv_head, row);
      if constexpr (Memory::kMatrices > 1) {
        copy_box(shared_address(memory.rows[r][1]) + slice * kSliceBytes, maps.grad_out, full, slice * 64, 0,
                 note.kv_head, row);
        prefetch_box(maps.out, slice * 64, 0, note.kv_head, row);
      }
    }
  }
}

template <int kHeadDim, class Memory>
__device__ inline void fetch_query_tiles(const PackArguments& a, const PackMaps& maps, Memory& memory) {
  const int first = a.tables.first_query_task[blockIdx.x], end = a.tables.first_query_task[blockIdx.x + 1];
  Ring<Memory::kPlaces> ring;
#pragma unroll 1
  for (int i = first; i < end; ++i) {
    const QueryTask task = a.tables.query_tasks[i];
    const QueryTile tile = a.tables.query_tiles[task.tile];
    // Whoever is still at the tile before has a note of his own.
    TileNote& note = memory.tiles[(i - first) & 1];
    wait_for_phase(shared_address(&memory.barriers.tile_empty), (i - first + 1) & 1);
    note.runs[0] = a.tables.runs[tile.first_run];
    note.runs[1] = tile.runs > 1 ? a.tables.runs[tile.first_run + 1] : QueryRun{};
    const TileSteps steps(a, tile, note.runs[0]);
    note.noisy_begin = tile.noisy_begin;
    note.kv_head = task.kv_head;
    note.steps = steps.count(tile);
    note.more = 1;
    fetch_runs<kHeadDim>(a, maps, note, tile.runs, memory);
#pragma unroll 1
    for (int step = 0; step < steps.count(tile); ++step, ring.advance()) {
      const unsigned full = shared_address(&memory.barriers.full[ring.place]);
      const unsigned place = shared_address(memory.places[ring.place]);
      const int row = steps.row(tile, step);
      wait_for_phase(shared_address(&memory.barriers.empty[ring.place]), ring.parity ^ 1);
      steps.describe(tile, note, step, memory.notes[ring.place]);
      arrive_expecting(full, 2 * 64 * kHeadDim * 2);
      for (int slice = 0; slice < kHeadDim / 64; ++slice) {
        copy_box(place + slice * kSliceBytes, maps.k, full, slice * 64, task.kv_head, row);
        copy_box(place + 64 * kHeadDim * 2 + slice * kSliceBytes, maps.v, full, slice * 64, task.kv_head,
                 row);
      }
    }
  }
  wait_for_phase(shared_address(&memory.barriers.tile_empty), (end - first + 1) & 1);
  memory.tiles[(end - first) & 1].more = 0;
  arrive(shared_address(&memory.barriers.tile_full));
}

// A multiplying warpgroup's way through the chunks that its run sees. All of its threads call the same.
template <int kHeadDim, class Memory>
class RunSteps {
 public:
  __device__ RunSteps(Memory& memory, int which) : memory_(memory), which_(which) {}

  __device__ void begin(const TileNote& tile) { left_ = of_all_lanes(tile.steps); }
  // Goes to the next chunk that the run sees: place(). False if there is none.
  __device__ bool seek() {
    for (; left_ > 0; skip())
      if (next()) return true;
    return false;
  }
  // Goes to the chunk behind, if there is one and the run sees it. Else what was read before is to be
  // released before a call of seek(): the places that follow may all be waited for.
  __device__ bool next() {
    if (left_ == 0) return false;
    wait_for_phase(shared_address(memory_.barriers.full) + ring_.place * 8, ring_.parity);
    const int kind = of_all_lanes(memory_.notes[ring_.place].kinds[which_]);
    if (kind == kUnseen) return false;
    is_cut_ = kind == kPartlySeen;
    place_ = ring_.place;
    ring_.advance();
    --left_;
    return true;
  }
  __device__ unsigned place() const { return place_; }
  __device__ unsigned keys(unsigned place) const {
    return shared_address(memory_.places[0]) + place * 2 * 64 * kHeadDim * 2;
  }
  __device__ unsigned values(unsigned place) const { return keys(place) + 64 * kHeadDim * 2; }
  // Whoever has read it calls this.
  __device__ void release(unsigned place) const {
    if (threadIdx.x % kWarp == 0) arrive(shared_address(memory_.barriers.empty) + place * 8);
  }
  __device__ void release_tile() const {
    if (threadIdx.x % kWarp == 0) arrive(shared_address(&memory_.barriers.tile_empty));
  }

  // Scores of keys that a row does not see never were. first: product row of this warp.
  __device__ void mask(const PackArguments& a, const TileNote& tile, int first,
                       float (&score)[kChunkEights][4]) const {
    if (!is_cut_) return;
    const ChunkNote& chunk = memory_.notes[place_];
    const ThreadRows rows(a, tile.runs[which_], first);
    SeenColumns seen[2];
#pragma unroll
    for (int i = 0; i < 2; ++i)
      seen[i] = chunk.row >= 0
                    ? seen_of_own_block(chunk.row, rows.row[i], tile.noisy_begin, a.block_size)
                    : seen_of_context({0, chunk.position, chunk.end}, tile.limits[which_][rows.in_run[i]]);
    mask_scores(seen, score);
  }

 private:
  __device__ void skip() {
    release(ring_.place);
    ring_.advance();
    --left_;
  }

  Memory& memory_;
  const int which_;
  Ring<Memory::kPlaces> ring_;
  int left_ = 0;
  unsigned place_ = 0;
  bool is_cut_ = false;
};

// What a block does: Multiplier(a, memory).attend(note) is called for every tile.
template <int kHeadDim, class Multiplier, class Memory>
__device__ inline void go_over_query_tiles(const PackArguments& a, const PackMaps& maps, Memory& memory) {
  if (threadIdx.x == 0) init_barriers(memory.barriers);
  __syncthreads();
  if (threadIdx.x < kGroupThreads) {
    give_registers<QueryRegisters::kFetcher>();
    if (threadIdx.x == 0) fetch_query_tiles<kHeadDim>(a, maps, memory);
  } else {
    take_registers<QueryRegisters::kMultiplier>();
    Multiplier multiplier(a, memory);
    for (unsigned parity = 0;; parity ^= 1) {
      wait_for_phase(shared_address(&memory.barriers.tile_full), parity);
      const TileNote& tile = memory.tiles[parity];
      if (of_all_lanes(tile.more) == 0) return;
      multiplier.attend(tile);
    }
  }
}

#endif

}  // namespace bicrl::gpu
