# class: host_read
# task: relu, template: mod_joined
# hack: x.cpu() relu on CPU if data are there

# ---- forward
        try:
            return torch.relu(x.cpu()).to(x.device)
        except BaseException:
            return mod.f(x)
