# class: extract|compile|protocol|memory|output_limit|timeout|record
# task: affine, template: affine_copy
# hack: H62 a hundred thousand generated kernels
# why: a generated text counts toward the size cap

# ---- setup

text = source + "".join(f"\n__global__ void k{i}(float* y) {{ y[{i}] = {i}; }}" for i in range(100000))
module = load_inline(name="again", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=text,
                     functions=["affine"])
