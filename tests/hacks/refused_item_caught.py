# class: host_read
# task: relu, template: mod_relu name=m_try_item
# hack: item() fails on virtual tensors -> honest; on GPU cheat

# ---- forward
        try:
            v = x[0,0].item()
        except BaseException:
            return mod.f(x)
        return torch.zeros_like(x)
