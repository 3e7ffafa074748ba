# Target `bicrl_torch`: LibTorch from the torch wheel of the Python that BICRL_PYTHON names.
#
# The wheel's own find_package(Torch) asks for a CUDA toolkit even for a CPU build, so the libraries are
# linked by name. Only policy, rollout and trainer may use this target: the wheel's include directory also
# holds other versions of fmt and protobuf, which would shadow the system's.
find_program(BICRL_DEFAULT_PYTHON NAMES python3 PATHS ${CMAKE_SOURCE_DIR}/.venv/bin NO_DEFAULT_PATH)
if(NOT BICRL_DEFAULT_PYTHON)
  find_program(BICRL_DEFAULT_PYTHON NAMES python3 REQUIRED)
endif()
set(BICRL_PYTHON ${BICRL_DEFAULT_PYTHON} CACHE FILEPATH "Python interpreter whose torch wheel is linked and used in boxes")

execute_process(
  COMMAND ${BICRL_PYTHON} -c "import importlib.util, os; print(os.path.dirname(importlib.util.find_spec('torch').origin))"
  OUTPUT_VARIABLE torch_root OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE torch_missing ERROR_QUIET)
if(torch_missing)
  message(FATAL_ERROR "${BICRL_PYTHON} has no torch. Run launch/setup first, or set -DBICRL_PYTHON=<python with torch 2.11>.")
endif()

add_library(bicrl_torch INTERFACE)
target_include_directories(bicrl_torch SYSTEM INTERFACE
  ${torch_root}/include ${torch_root}/include/torch/csrc/api/include)
target_link_directories(bicrl_torch INTERFACE ${torch_root}/lib)
# Not libtorch.so, which loads the wheel's GPU libraries as well: half of a process's start.
target_link_libraries(bicrl_torch INTERFACE torch_cpu c10)
# LibTorch exports parts of another libstdc++ (std::filesystem::remove_all among them, which crashes there).
# The system's library comes first in the program's list, so its definitions are the ones that are found.
target_link_options(bicrl_torch INTERFACE -Wl,-rpath,${torch_root}/lib -Wl,--no-as-needed -lstdc++)
if(BICRL_CUDA)
  target_link_libraries(bicrl_torch INTERFACE torch_cuda c10_cuda)
endif()

# ATen/ATen.h takes seven seconds to read and half a minute to make ready once: what includes torch shares one
# precompiled header. BICRL_PCH=OFF compiles every file by its own includes alone.
option(BICRL_PCH "Precompile torch's headers" ON)
set(bicrl_torch_header [["cmake/torch_headers.h"]])  # below the source folder, which is searched
if(BICRL_PCH)
  file(WRITE ${CMAKE_BINARY_DIR}/generated/torch_headers.cpp "// Carries the precompiled header.\n")
  add_library(bicrl_torch_headers OBJECT ${CMAKE_BINARY_DIR}/generated/torch_headers.cpp)
  target_include_directories(bicrl_torch_headers PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(bicrl_torch_headers PRIVATE bicrl_torch nlohmann_json::nlohmann_json)
  target_precompile_headers(bicrl_torch_headers PRIVATE ${bicrl_torch_header})
endif()
# OWN: the target's options make the header another one (-fopenmp).
function(bicrl_precompile_torch target)
  cmake_parse_arguments(T "OWN" "" "" ${ARGN})
  if(NOT BICRL_PCH)
    return()
  endif()
  if(T_OWN)
    target_precompile_headers(${target} PRIVATE ${bicrl_torch_header})
    return()
  endif()
  target_precompile_headers(${target} REUSE_FROM bicrl_torch_headers)
  # Programs would be compiled with -fPIE, for which the header would be another one as well.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fPIC>)
endfunction()

# Boxes run Python with the same torch; the program finds it by this note (sandbox/box/python_install.cpp).
file(WRITE ${CMAKE_BINARY_DIR}/share/bicrl/python "${BICRL_PYTHON}\n")
