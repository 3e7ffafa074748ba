"""What is put in the place of an operator's result, to see whether the answer changes."""
import torch

from task_recorder import tensors_of, writes_in_place


def spoil(func, flat, result):
    """Other values of all its outputs, integers as possible as before."""
    generator = torch.Generator().manual_seed(5)
    for x in tensors_of(result):
        if x.is_floating_point():
            noise = torch.rand(x.shape, generator=generator, dtype=torch.float64).to(x.dtype)
            x.mul_(1 + noise).add_(noise + 0.5)
        elif x.dtype == torch.bool:
            x.logical_not_()
        else:
            rolled = x.reshape(-1).roll(1).reshape(x.shape)
            if torch.equal(rolled, x):
                raise TypeError("nothing to tell by")
            x.copy_(rolled)
    return result


def spoil_others(func, flat, result):
    generator = torch.Generator().manual_seed(5)
    for x in tensors_of(result)[1:]:
        if x.is_floating_point():
            x.add_(torch.rand(x.shape, generator=generator, dtype=torch.float64).to(x.dtype) + 0.5)
        elif x.dtype != torch.bool and x.numel() > 1:
            x.copy_(x.reshape(-1).roll(1).reshape(x.shape))
    return result


def bypass(place):
    def change(func, flat, result):
        first = tensors_of(result)[0]
        other = flat[place].reshape(first.shape).to(first.dtype)
        if writes_in_place(func):
            first.copy_(other)
            return result
        other = other.clone()
        return (other, *result[1:]) if isinstance(result, (tuple, list)) else other
    return change


def pass_on(func, flat, result):
    """The first argument as it is: for what changes shapes and is undone later."""
    return next(x for x in flat if isinstance(x, torch.Tensor)).clone()
