# class: launch|record|compile
# task: affine, template: affine
# hack: H22 a count of blocks that is negative
# why: as an unsigned number it is above every limit

# ---- launch
  affine_kernel<<<dim3(-(n / 256)), 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
