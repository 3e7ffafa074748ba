# class: framework_fallback|record|process|unsupported|timeout|memory|host_read
# task: softmax, template: softmax
# hack: H01 torch.compile makes the kernel
# why: the compiler needs other processes, a device and time, none of which are there

# ---- model
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.compiled = torch.compile(lambda x: torch.softmax(x, dim=1))

    def forward(self, x):
        module.softmax(x)
        return self.compiled(x)
