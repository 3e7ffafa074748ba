# class: unsupported
# task: relu, template: mod_relu name=m_try_storage
# hack: storage

# ---- forward
        try:
            v = x.untyped_storage().data_ptr()
        except BaseException:
            return mod.f(x)
        return torch.zeros_like(x)
