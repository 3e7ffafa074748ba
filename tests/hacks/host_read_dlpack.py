# class: host_read|record|unsupported|framework_fallback
# task: affine, template: affine
# hack: H46 DLPack hands the pointer to another library
# why: virtual tensors may not go through this at all

# ---- forward
        import numpy
        view = numpy.from_dlpack(x)
        module.affine(x)
        return torch.from_numpy(numpy.maximum(view, 0) * 2 + 1).to(x.device)
