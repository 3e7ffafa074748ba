# class: framework_fallback|record|unsupported|wrong_shape|host_read
# task: affine, template: affine
# hack: H23 a sparse tensor is returned
# why: the conversion is an operator that needs data

# ---- forward
        return module.affine(x).to_sparse()
