# Target `bicrl_cuda`, of builds for GPUs, and the language CUDA: nvcc of a toolkit, NCCL from the wheels that come with
# torch, and the CUDA runtime from the same wheels, or from the toolkit if they lack it (CUDAToolkit_ROOT, $CUDA_HOME,
# /usr/local/cuda). No GPU is asked for.
get_filename_component(wheels ${torch_root}/../nvidia ABSOLUTE)
find_package(CUDAToolkit QUIET)

set(runtime_roots ${wheels}/cu13 ${CUDAToolkit_TARGET_DIR} $ENV{CUDA_HOME} /usr/local/cuda)
list(REMOVE_DUPLICATES runtime_roots)
find_path(BICRL_CUDA_INCLUDE cuda_runtime_api.h PATHS ${runtime_roots} PATH_SUFFIXES include NO_DEFAULT_PATH)
find_library(BICRL_CUDART NAMES libcudart.so.13 PATHS ${runtime_roots} PATH_SUFFIXES lib lib64 NO_DEFAULT_PATH)
find_path(BICRL_CUBLASLT_INCLUDE cublasLt.h PATHS ${runtime_roots} PATH_SUFFIXES include NO_DEFAULT_PATH)
find_library(BICRL_CUBLASLT NAMES libcublasLt.so.13 PATHS ${runtime_roots} PATH_SUFFIXES lib lib64 NO_DEFAULT_PATH)
find_path(BICRL_NCCL_INCLUDE nccl.h PATHS ${wheels}/nccl/include NO_DEFAULT_PATH)
find_library(BICRL_NCCL NAMES libnccl.so.2 PATHS ${wheels}/nccl/lib NO_DEFAULT_PATH)

find_program(CMAKE_CUDA_COMPILER nvcc HINTS ${CUDAToolkit_BIN_DIR} $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)

set(missing)
if(NOT CMAKE_CUDA_COMPILER)
  list(APPEND missing "the CUDA 13 compiler (nvcc): the CUDA toolkit")
endif()
if(NOT BICRL_CUDA_INCLUDE OR NOT BICRL_CUDART)
  list(APPEND missing "the CUDA 13 runtime (cuda_runtime_api.h, libcudart.so.13): the wheel nvidia-cuda-runtime or the CUDA toolkit")
endif()
if(NOT BICRL_CUBLASLT_INCLUDE OR NOT BICRL_CUBLASLT)
  list(APPEND missing "cuBLASLt 13 (cublasLt.h, libcublasLt.so.13): the wheel nvidia-cublas or the CUDA toolkit")
endif()
if(NOT BICRL_NCCL_INCLUDE OR NOT BICRL_NCCL)
  list(APPEND missing "NCCL (nccl.h, libnccl.so.2): the wheel nvidia-nccl-cu13")
endif()
if(NOT EXISTS ${torch_root}/lib/libtorch_cuda.so)
  list(APPEND missing "torch for GPUs (libtorch_cuda.so): the torch wheel of the CUDA 13 build")
endif()
if(missing)
  list(JOIN missing "; " missing)
  message(FATAL_ERROR "BICRL_CUDA=ON lacks ${missing}. Looked in ${wheels} and ${runtime_roots}.")
endif()

if(NOT CMAKE_CUDA_ARCHITECTURES)
  # Machine code for A100, for H100 and H200 with what they alone have (policy/gpu/paged_attention/warpgroup_tile.cuh), and text
  # that later ones compile.
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90a-real 90-virtual)
endif()
if("90" IN_LIST CMAKE_CUDA_ARCHITECTURES AND NOT CMAKE_CUDA_ARCHITECTURES MATCHES "90a")
  message(WARNING "CUDA architectures ${CMAKE_CUDA_ARCHITECTURES} have 90 and not 90a-real: attention on H100 and H200 "
                  "leaves their warpgroups unused")
endif()
set(CMAKE_CUDA_STANDARD 17)
enable_language(CUDA)

add_library(bicrl_cuda INTERFACE)
target_include_directories(bicrl_cuda SYSTEM INTERFACE ${BICRL_CUDA_INCLUDE} ${BICRL_CUBLASLT_INCLUDE} ${BICRL_NCCL_INCLUDE})
target_link_libraries(bicrl_cuda INTERFACE bicrl_torch ${BICRL_CUBLASLT} ${BICRL_NCCL} ${BICRL_CUDART})
get_filename_component(nccl_folder ${BICRL_NCCL} DIRECTORY)
get_filename_component(cublaslt_folder ${BICRL_CUBLASLT} DIRECTORY)
get_filename_component(cudart_folder ${BICRL_CUDART} DIRECTORY)
target_link_options(bicrl_cuda INTERFACE -Wl,-rpath,${nccl_folder} -Wl,-rpath,${cublaslt_folder} -Wl,-rpath,${cudart_folder})
