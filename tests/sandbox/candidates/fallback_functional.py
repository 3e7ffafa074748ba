# class: framework_fallback
# task: affine, template: affine

# ---- forward
        return nn.functional.relu(x).mul(2).add(1)
