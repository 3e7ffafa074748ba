// Makes equal runs equal to the bit: on GPUs some operations add in an order that changes from run to run,
// and libraries choose among algorithms by timing them.
#pragma once

namespace bicrl {

// For the rest of the process, every operation of the framework gives the same bits for the same input on the
// same device, or throws if it has no such form. To be called before the first operation on a GPU, from the
// one thread that there is then: the matrix library reads its workspace from the environment when it begins.
void require_determinism();

}  // namespace bicrl
