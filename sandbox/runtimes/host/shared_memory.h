// Shared memory of the block that runs: the static variables of the module and one dynamic buffer.
#pragma once
#include <cstdint>

namespace bicrl {

constexpr unsigned kDefaultSharedLimit = 48 << 10;
constexpr unsigned kMaxSharedBytes = 227 << 10;

// Makes `bytes` of dynamic shared memory accessible, and nothing after their page. Returns why it cannot.
const char* prepare_shared(unsigned bytes);
// A new block finds rubbish, as on a GPU.
void poison_shared(unsigned char pattern);
// True if bytes between the end and the page's end were written.
bool shared_overrun();
bool in_shared(const void* address);

}  // namespace bicrl
