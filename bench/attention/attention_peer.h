// Attention of one decoding step over pages, as two implementations get it: rows of sequences that extend
// prompts, which groups of them may share. Memory is the device's, and the caller's.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

struct CUstream_st;

namespace bicrl::bench {

constexpr int64_t kHeadDim = 128, kPageTokens = 16, kBlockRows = 4;

struct DecodeAttention {
  int64_t heads = 0, kv_heads = 0;
  int64_t sequences = 0, group = 1;  // that share a prompt; 1: each has its own
  int64_t prompt = 0, own = 0;       // keys before the step's rows; whole pages of prompt
  int64_t blocks = 1;                // of kBlockRows rows of a sequence; a row sees keys to its block's end

  int64_t rows_of_sequence() const { return blocks * kBlockRows; }
  int64_t rows() const { return sequences * rows_of_sequence(); }
  int64_t prompts() const { return (sequences + group - 1) / group; }
  int64_t own_keys() const { return own + rows_of_sequence(); }
  int64_t pages_of_prompt() const { return prompt / kPageTokens; }
  int64_t own_pages() const { return (own_keys() + kPageTokens - 1) / kPageTokens; }
  int64_t pages() const { return prompts() * pages_of_prompt() + sequences * own_pages(); }
  int64_t elements_of_page() const { return kPageTokens * 2 * kv_heads * kHeadDim; }
  // Keys and values that have to be read at least once.
  int64_t unique_bytes() const {
    return (prompts() * prompt + sequences * own_keys()) * 2 * kv_heads * kHeadDim * 2;
  }
};

// Numbers of pages, scattered over the pool: of the prompts one behind the other, and of the sequences.
struct PageTable {
  std::vector<int32_t> prompts, own;
};

// FlashInfer's ragged batches over pages: a batch of prompts with the rows of all their sequences, a batch of
// blocks with the keys behind the prompts, and a merge of the two; one batch where nothing is shared.
class PeerAttention {
 public:
  // Plans on the device's current context.
  PeerAttention(const DecodeAttention& shape, const PageTable& pages, CUstream_st* stream);
  ~PeerAttention();
  // q, out: [rows, heads, kHeadDim] bf16; pool: [pages, kPageTokens, 2, kv_heads, kHeadDim] bf16.
  void run(const void* q, const void* pool, void* out, CUstream_st* stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bicrl::bench
