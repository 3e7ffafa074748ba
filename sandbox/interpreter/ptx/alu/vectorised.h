// Loops over lanes that take part in every operation.
#pragma once

// One body, compiled for what the processor has; the loader chooses.
#define BICRL_VECTORISED __attribute__((target_clones("avx2", "default")))
