// The CUDA front end's C interface, for frontend.py. It is loaded into a warm boxed process, whose forks each
// turn one program's CUDA text into host units and PTX. Requests and answers are JSON texts; an answer is
// good until the next call. One thread.
#pragma once
#include <stddef.h>

extern "C" {

struct FrontendAnswer {
  const char* header;  // a JSON object
  size_t header_bytes;
  const char* blob;
  size_t blob_bytes;
};

// Takes {"library", "include_folders", "pch_folder", "max_ptx_bytes"}. "" or why NVRTC cannot be used.
const char* bicrl_frontend_load(const char* options);

// Precompiles the headers that texts with this word need ("": what most texts need), unless that is done; of
// an architecture such as "sm_90", what most texts need there. "" or why it failed.
const char* bicrl_frontend_precompile(const char* word);

// {"kind": "split", "issues", "units"}
void bicrl_frontend_split(const char* program, size_t bytes, FrontendAnswer* answer);

// {"kind": "device", "ok", "cut", "class", "reason"}, and PTX in the blob if it is ok.
void bicrl_frontend_device(const char* program, size_t bytes, FrontendAnswer* answer);

// What the kernels of the program before need on an architecture such as "sm_90": {"kind": "resources",
// "resources": {entry: [registers, bytes of stack]}}.
void bicrl_frontend_resources(const char* architecture, FrontendAnswer* answer);
}
