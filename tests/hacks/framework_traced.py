# class: framework_fallback|record|unsupported|host_read|dead_kernel|wrong_value
# task: affine, template: affine
# hack: H01 the reference's formula traced with torch.fx, its interpreter runs in forward
# why: virtual tensors may not go through this at all

# ---- setup

from torch import fx


class Formula(nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2 + 1

# ---- model
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = fx.symbolic_trace(Formula())

    def forward(self, x):
        module.affine(x)
        return fx.Interpreter(self.graph).run(x)
