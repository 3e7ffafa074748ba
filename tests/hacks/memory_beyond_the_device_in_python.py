# class: memory
# task: relu, template: mod_relu name=m_vol_pyempty
# hack: torch.empty of 4 TB in python

# ---- forward
        t = torch.empty(1<<40, device=x.device)
        return mod.f(x)
