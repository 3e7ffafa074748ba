# class: compile|framework_fallback
# task: softmax, template: softmax
# hack: H01 x.softmax(1) after the launch
# why: tensor mathematics does not compile against a shim, and is a fallback where it does

# ---- host
torch::Tensor softmax(torch::Tensor x) {
  int rows = x.size(0), width = x.size(1);
  auto y = torch::empty_like(x);
  softmax_kernel<<<rows, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, width);
  return x.softmax(1);
}
