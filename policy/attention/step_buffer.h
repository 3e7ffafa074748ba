// The inputs of one forward: arrays of fixed capacity that lie side by side in one buffer, whose contents
// change from step to step and whose addresses do not. On the CPU host and device are the same memory; else
// one copy brings all arrays over. Owns the memory; not thread-safe.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <span>

#include "common/error.h"

namespace bicrl {

class StepBuffer;

// One array: filled from the front on the host, read on the device. Refers to its buffer.
template <class T>
class StepArray {
 public:
  // Takes its place in the buffer, which must not be allocated yet.
  StepArray(StepBuffer& buffer, int64_t capacity);

  void clear() { size_ = 0; }
  void push_back(T value) {
    BICRL_CHECK(size_ < capacity_, "a step has more than the ", capacity_, " entries that there is room for");
    data()[size_++] = value;
  }
  // The next `count` values, to be written.
  T* extend(int64_t count) {
    BICRL_CHECK(size_ + count <= capacity_, size_ + count, " entries, there is room for ", capacity_);
    size_ += count;
    return data() + size_ - count;
  }
  int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& back() { return data()[size_ - 1]; }
  std::span<const T> values() const { return {data(), static_cast<size_t>(size_)}; }  // on the host
  at::Tensor tensor() const;   // [size], on the device; as of the buffer's last upload()
  const T* on_device() const;  // [capacity]; what is behind the size is of earlier steps, zero at first

 private:
  T* data() const;

  StepBuffer* buffer_;
  int64_t offset_bytes_;
  int64_t capacity_;
  int64_t size_ = 0;
};

class StepBuffer {
 public:
  explicit StepBuffer(at::Device device) : device_(device) {}
  StepBuffer(const StepBuffer&) = delete;
  StepBuffer& operator=(const StepBuffer&) = delete;

  // Once, after all arrays have taken their places and before any of them is filled.
  void allocate();
  void upload();
  // Returns at once. The copy has what the arrays hold when the device comes to it, and they may be filled
  // again when it is done.
  void upload_behind();
  int64_t bytes() const { return bytes_; }

 private:
  template <class T>
  friend class StepArray;
  int64_t place(int64_t bytes);  // its offset

  at::Device device_;
  int64_t bytes_ = 0;
  at::Tensor host_, on_device_;  // [bytes] uint8
  char* memory_ = nullptr;       // of host_
};

template <class T>
StepArray<T>::StepArray(StepBuffer& buffer, int64_t capacity)
    : buffer_(&buffer),
      offset_bytes_(buffer.place(capacity * static_cast<int64_t>(sizeof(T)))),
      capacity_(capacity) {}

template <class T>
T* StepArray<T>::data() const {
  return reinterpret_cast<T*>(buffer_->memory_ + offset_bytes_);
}

template <class T>
at::Tensor StepArray<T>::tensor() const {
  const int64_t bytes = size_ * static_cast<int64_t>(sizeof(T));
  return buffer_->on_device_.narrow(0, offset_bytes_, bytes).view(c10::CppTypeToScalarType<T>::value);
}

template <class T>
const T* StepArray<T>::on_device() const {
  return reinterpret_cast<const T*>(static_cast<const char*>(buffer_->on_device_.const_data_ptr()) +
                                    offset_bytes_);
}

}  // namespace bicrl
