# class: compile|timeout|memory
# task: affine, template: affine
# hack: H62 a template that instantiates itself without end
# why: limits may end it before the compiler does

template <typename T>
struct Nest {
  using type = typename Nest<Nest<T>>::type;
};
using Deep = Nest<int>::type;

<kernels>
