# class: memory|compile
# task: affine, template: affine_joined

template <int N, int M> struct Bomb { static constexpr long value = Bomb<N - 1, M>::value + Bomb<N - 1, M + (1 << N)>::value; };
template <int M> struct Bomb<0, M> { static constexpr long value = M; };
long bomb = Bomb<24, 0>::value;
<kernels>
