// Macros that an extension's build defines before its text begins: versions, and guards of headers that
// torch/extension.h brings. `#if` lines ask for them, and a text must mean the same here.
#pragma once

#define TORCH_VERSION_MAJOR 2
#define TORCH_VERSION_MINOR 11
#define TORCH_VERSION_PATCH 0
#define TORCH_VERSION_ABI_TAG 0
#define TORCH_VERSION "2.11.0"
#define TORCH_API_INCLUDE_EXTENSION_H
#define TORCH_CUDA_CPP_API
#define TORCH_CUDA_CU_API
#define TORCH_PYTHON_API
#define C10_API
#define C10_CUDA_API
#define C10_EXPORT
#define C10_IMPORT
#define C10_HIDDEN
#define CAFFE2_LOG_THRESHOLD INT_MIN

// Of Python any version may be installed; a text that needs one asks for a lower bound.
#define Py_PYTHON_H
#define PY_MAJOR_VERSION 3
#define PY_MINOR_VERSION 11
#define PY_MICRO_VERSION 2
#define PY_VERSION "3.11.2"
#define PY_VERSION_HEX 0x030b02f0
#define PYBIND11_VERSION_MAJOR 3
#define PYBIND11_VERSION_MINOR 0
#define PYBIND11_VERSION_MICRO 1
#define PYBIND11_VERSION_PATCH 1
#define PYBIND11_VERSION_HEX 0x030001f0
