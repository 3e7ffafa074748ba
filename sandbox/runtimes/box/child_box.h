// Turns a fresh fork of a warm process into a box. The new process namespace was entered by the fork itself.
// C functions, because zygote.py calls them through ctypes.
#pragma once
#include <cstdint>

extern "C" {

struct ChildBox {
  uint64_t tmp_bytes, cpu_s, file_bytes, open_files, processes, data_bytes;
  int32_t change_uid;
  uint32_t uid;
  int32_t channel_fd, output_fd;
  const void* filter;
  uint32_t filter_bytes;
  const char* kept_folder;  // null: none
};

// 0, or the number of the step that failed (errno says why).
int bicrl_enter_child_box(const ChildBox* spec);

// Makes a mounted folder the whole world of this process and its forks. 0, or -1 with errno set.
int bicrl_enter_root(const char* folder);

// The next fork starts a process namespace of its own; `own` is a descriptor of the caller's, to return to.
// 0 or an errno.
int bicrl_next_fork_in_new_pid_namespace(void);
int bicrl_back_to_own_pid_namespace(int own);
}
