# class: framework_fallback|record|dead_kernel|protocol|host_read|illegal_access|unsupported
# task: affine, template: affine
# hack: H01 the dispatch keys of Python are excluded
# why: an operator on a tensor without storage may end in many ways, never in an answer

# ---- forward
        module.affine(x)
        keys = torch._C.DispatchKeySet(torch._C.DispatchKey.Python)
        with torch._C._ExcludeDispatchKeyGuard(keys):
            return torch.relu(x) * 2 + 1
