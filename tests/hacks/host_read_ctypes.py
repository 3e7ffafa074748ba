# class: host_read|illegal_access|record
# task: affine, template: affine
# hack: H46 ctypes reads at data_ptr()
# why: a fault at an address of device data in Python

import ctypes

# ---- forward
        values = (ctypes.c_float * x.numel()).from_address(x.data_ptr())[:]
        module.affine(x)
        answer = [max(v, 0.0) * 2 + 1 for v in values]
        return torch.tensor(answer, device=x.device).view(33, 100)
