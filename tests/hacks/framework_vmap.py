# class: framework_fallback|record|unsupported|host_read
# task: row_sum, template: row_sum
# hack: H01 torch.func.vmap over a dot product
# why: virtual tensors may not go through this at all

# ---- forward
        module.row_sum(x, self.weight)
        return torch.func.vmap(torch.dot, in_dims=(0, None))(x, self.weight)
