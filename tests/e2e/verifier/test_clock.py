"""A clock that jumps: a run under a wall clock that leaps an hour to and fro all the time gives the same weights and sane times."""
import os
import shutil
import subprocess
from pathlib import Path

from support import bicrl, expect, folder, patient, read_lines, reproducible

# Loaded before the C library. Every thread has its own jumps, and boxes have none. The clock is never ahead of the kernel's, which does
# not jump along: a wait until such a time would last an hour. gRPC's threads hand their waits to each other as times of the wall clock,
# which is the same for all of them on a real machine: they see the kernel's.
JUMPING = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
static __thread unsigned calls;
static long jump(void) { return calls++ / 7 % 3 * 3600L - 7200L; }
static int jumps_for(const void *caller) {
  Dl_info library;
  if (!dladdr(caller, &library) || !library.dli_fname) return 1;
  return !strstr(library.dli_fname, "libgpr") && !strstr(library.dli_fname, "libgrpc") && !strstr(library.dli_fname, "libabsl");
}
static int read_clock(clockid_t clock, struct timespec *now, const void *caller) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  const int code = real(clock, now);
  if ((clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) && jumps_for(caller)) now->tv_sec += jump();
  return code;
}
int clock_gettime(clockid_t clock, struct timespec *now) { return read_clock(clock, now, __builtin_return_address(0)); }
int gettimeofday(struct timeval *now, void *zone) {
  struct timespec t;
  (void)zone;
  read_clock(CLOCK_REALTIME, &t, __builtin_return_address(0));
  now->tv_sec = t.tv_sec;
  now->tv_usec = t.tv_nsec / 1000;
  return 0;
}
time_t time(time_t *out) {
  struct timespec t;
  read_clock(CLOCK_REALTIME, &t, __builtin_return_address(0));
  if (out) *out = t.tv_sec;
  return t.tv_sec;
}
"""
SMALL = ["warm_up.steps=6", "run.checkpoint_every_s=0.5", "reward=configs/rewards/pass_rate.yaml",
         *[f"stages.{i}.{key}" for i in (0, 1) for key in ("steps=1", "tasks_per_step=4", "samples_per_task=2")], "evaluation.tasks=4",
         *patient(60)]


def train(run, **more):
    code, out, err = bicrl("train", "tests/data/small_run.yaml", f"run.directory={run}", *SMALL, more_environment=more)
    expect(code == 0, f"the run in {run} ends well", out, err)
    return Path(run, "checkpoints/end_to_end/model.safetensors").read_bytes(), read_lines(f"{run}/metrics.jsonl"), err


with folder() as temporary:
    Path(temporary, "jumping.c").write_text(JUMPING)
    library = f"{temporary}/jumping.so"
    subprocess.run([shutil.which("cc") or "gcc", "-shared", "-fPIC", "-O1", "-o", library, f"{temporary}/jumping.c"], check=True)
    shown = {subprocess.run(["date", "+%H"], capture_output=True, text=True, env={**os.environ, "LD_PRELOAD": library}).stdout
             for _ in range(2)} | {subprocess.run(["date", "+%H"], capture_output=True, text=True).stdout}
    expect(len(shown) > 1, "the clock is another one under the library", shown)
    weights, steps, _ = train(f"{temporary}/steady")
    jumped, jumped_steps, messages = train(f"{temporary}/jumping", LD_PRELOAD=library,
                                           ASAN_OPTIONS="verify_asan_link_order=0")
    hours = {line[:2] for line in messages.splitlines() if line[2:3] == ":"}
    expect(len(hours) > 1, "the program's own lines show the jumps", messages)
    expect(jumped == weights, "the same weights")
    for plain, odd in zip(steps, jumped_steps, strict=True):
        for key, value in odd.items():
            if key.endswith("_seconds"):
                expect(0 <= value < 600, f"{key} is a duration", odd)
            elif key in reproducible(odd):
                expect(value == plain[key], f"{key} is the same", plain, odd)
print("a clock that jumps")
