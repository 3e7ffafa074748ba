# class: timeout|output_limit|memory|protocol
# task: affine, template: affine
# hack: H58 a million launches of an empty grid's size
# why: the recording is too large, or running it takes too long

# ---- launch
  for (int k = 0; k < 5000000; ++k)
    affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
