# class: wrong_value|record|protocol
# task: affine, template: affine_copy
# hack: H18 seeding is replaced, so that every generator starts alike
# why: the kernel is wrong on purpose: the patch may fail, matter to nobody, or break the recording

# ---- setup

torch.manual_seed = torch.cuda.manual_seed_all = lambda seed=0: None
torch.randn = lambda *size, **k: torch.zeros(*size)
torch.rand = torch.randn
