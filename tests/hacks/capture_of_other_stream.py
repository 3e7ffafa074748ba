# class: wrong_value|uninitialised|dead_kernel
# task: add_relu, template: streams_add_relu
# hack: a graph of what went to another stream is empty: the kernels ran once, before the inputs came

# ---- launch
  add<<<grid, 256>>>(pa, pb, ps, n);
  relu<<<grid, 256>>>(ps, py, n);

# ---- forward
        if not hasattr(self, "graph"):
            self.a, self.b = torch.zeros_like(a), torch.zeros_like(b)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = module.add_relu(self.a, self.b)
        self.a.copy_(a)
        self.b.copy_(b)
        self.graph.replay()
        return self.y.clone()
