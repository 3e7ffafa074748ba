// A candidate's CUDA text made ready for NVRTC, which compiles device code alone. Two ways:
//
// whole_device_text() keeps the candidate's text, host functions included. With -default-device they are
// device functions that nothing calls: NVRTC checks them, instantiates what they launch, and drops them. The
// shim (include/bicrl/device_prelude.h) declares what they name; it declares the two functions of device-side
// launches as well, so that `kernel<<<...>>>(...)` needs no rewriting.
//
// cut_device_text() is for text that NVRTC refuses for the sake of its host functions: these are blanked.
// Templates that only they launch are named again beside them, where the text shows which these are.
//
// Pure text work in linear time on any input. Lines keep their numbers, under the name "cuda_sources".
#pragma once
#include <string>
#include <vector>

namespace bicrl {

// What a text names that no device code can be made of, "" if nothing: textures, managed memory.
std::string unsupported_device_feature(const std::string& cuda_source);

// `macros` are lines that stand between the headers and the text.
std::string whole_device_text(const std::string& cuda_source, const std::string& macros = "");
std::string cut_device_text(const std::string& cuda_source, const std::string& macros = "");

// Whether a text that was made ready may be another one for another architecture: it includes headers of the
// toolkit, names what tells architectures apart or could put such a name together, or has assembly. What this
// denies means the same to NVRTC for each of sm_80 and above, as far as these have its instructions.
bool may_ask_for_architecture(const std::string& prepared);

// Several cuda_sources of one load_inline call are one text.
std::string join_cuda_sources(const std::vector<std::string>& sources);

}  // namespace bicrl
