# class: correct
# task: affine, template: affine
