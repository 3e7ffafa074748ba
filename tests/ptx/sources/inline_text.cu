// Inline PTX: scopes, labels, vectors, immediates, special registers.
__global__ void scopes(int* x, long long* y, float* f) {
  int r, lane;
  long long wide;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("{\n\t.reg .pred p, q;\n\t.reg .b32 t<4>;\n\tsetp.lt.s32 p|q, %1, 0x1F;\n\tselp.b32 t0, 0b101, 017, "
      "p;\n\t"
      "{ .reg .b32 t0; mov.b32 t0, -3; add.s32 t1, t0, %1; }\n\tadd.s32 %0, t0, t1;\n\t@!q add.s32 %0, %0, "
      "WARP_SZ;\n\t}"
      : "=r"(r)
      : "r"(x[lane]));
  asm volatile(
      "{\n\t.reg .pred done;\nAGAIN%=:\n\tsub.s32 %0, %0, 1;\n\tsetp.le.s32 done, %0, 0;\n\t@!done bra "
      "AGAIN%=;\n\t}"
      : "+r"(r));
  asm("mov.b64 %0, {%1, %2};" : "=l"(wide) : "r"(r), "r"(lane));
  asm("{ .reg .b16 lo, hi; mov.b32 {lo, hi}, %1; mov.b32 %0, {hi, lo}; }" : "=r"(r) : "r"(r));
  asm volatile("ld.global.nc.L1::no_allocate.v2.s32 {%0, %1}, [%2 + 8];" : "=r"(r), "=r"(lane) : "l"(x));
  asm volatile("st.global.cs.f32 [%0 + -4], %1;" ::"l"(f), "f"(1.5f) : "memory");
  asm volatile("ld.volatile.global.f32 %0, [%1];" : "=f"(f[0]) : "l"(f + 1));
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(f[1]) : "f"(f[2]));
  asm("lop3.b32 %0, %1, %2, %3, 0xE8;" : "=r"(x[0]) : "r"(x[1]), "r"(x[2]), "r"(x[3]));
  asm volatile("bar.sync 1, 64; barrier.sync 2; bar.arrive 3, 128; membar.gl; fence.acq_rel.gpu;");
  asm volatile("prefetch.global.L2 [%0];" ::"l"(x));
  unsigned long long t;
  unsigned s;
  asm volatile("mov.u64 %0, %%globaltimer; mov.u32 %1, %%smid;" : "=l"(t), "=r"(s));
  y[0] = wide + t + s;
  unsigned carry;
  asm("add.cc.u32 %0, %1, %2;\n\taddc.u32 %0, %0, 0;" : "=r"(carry) : "r"(r), "r"(lane));
  x[5] = carry + r;
}
