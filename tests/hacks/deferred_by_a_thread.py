# class: uninitialised|non_finite|dead_kernel|record|protocol|process
# task: affine, template: affine
# hack: H34 a thread launches the kernel a second after forward has returned
# why: no launch is in the recording; threads may be refused

#include <chrono>
#include <thread>

# ---- launch
  std::thread([x, y, n]() mutable {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  }).detach();
