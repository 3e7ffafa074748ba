# Target `attention_peer` (bench/attention/attention_peer.cpp), if FlashInfer's headers are there: BICRL_FLASHINFER names the
# folder flashinfer/data of the wheel flashinfer-python, unpacked. Nothing else uses it.
#   pip download --no-deps flashinfer-python && unzip -d flashinfer flashinfer_python-*.whl 'flashinfer/data/include/*' 'flashinfer/data/cccl/*'
#   cmake build/cuda -DBICRL_FLASHINFER=$PWD/flashinfer/flashinfer/data
set(BICRL_FLASHINFER "" CACHE PATH "Folder flashinfer/data of the wheel flashinfer-python, for bench/attention/attention_peer.cpp")
if(NOT BICRL_FLASHINFER)
  return()
endif()
if(NOT EXISTS ${BICRL_FLASHINFER}/include/flashinfer/attention/prefill.cuh)
  message(FATAL_ERROR "BICRL_FLASHINFER=${BICRL_FLASHINFER} lacks include/flashinfer/attention/prefill.cuh.")
endif()
add_executable(attention_peer EXCLUDE_FROM_ALL bench/attention/attention_peer.cpp bench/attention/attention_peer.cu)
target_link_libraries(attention_peer PRIVATE bicrl_policy_gpu bicrl_cuda)
# Its own CCCL comes before the toolkit's.
target_include_directories(attention_peer SYSTEM BEFORE PRIVATE
  ${BICRL_FLASHINFER}/cccl/libcudacxx/include ${BICRL_FLASHINFER}/cccl/cub ${BICRL_FLASHINFER}/cccl/thrust ${BICRL_FLASHINFER}/include)
set_target_properties(attention_peer PROPERTIES LINKER_LANGUAGE CXX CUDA_RUNTIME_LIBRARY None CUDA_ARCHITECTURES 90a)
set_source_files_properties(bench/attention/attention_peer.cu PROPERTIES COMPILE_OPTIONS "-Xcompiler=-w;-diag-suppress=177,186,611,997,2361")
