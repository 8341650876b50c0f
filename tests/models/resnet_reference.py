"""A residual network in float64 NumPy: the same layers by their names, one place at a time."""

import numpy as np


def relu(x):
    return np.maximum(x, 0)


def padded(x, before, after, value=0.0):
    return np.pad(x, ((0, 0), (before, after), (before, after), (0, 0)), constant_values=value)


def windows(x, side, stride):
    """Every window [n, side, side, c] of a padded array, and the number of places across."""
    rows, columns = ((length - side) // stride + 1 for length in x.shape[1:3])
    for row in range(rows):
        for column in range(columns):
            y, x_ = row * stride, column * stride
            yield (row, column), x[:, y : y + side, x_ : x_ + side]


def over_windows(x, side, stride, function):
    found = {place: function(window) for place, window in windows(x, side, stride)}
    rows, columns = (1 + max(place[axis] for place in found) for axis in (0, 1))
    return np.stack(
        [np.stack([found[row, column] for column in range(columns)], 1) for row in range(rows)], 1
    )


def convolution(x, kernel, stride):
    side = kernel.shape[0]
    x = padded(x, (side - 1) // 2, (side - 1) // 2)
    return over_windows(x, side, stride, lambda w: np.einsum('nyxc,yxcf->nf', w, kernel))


class Reference:
    """Applies the variables of a `resnet` in inference mode."""

    def __init__(self, variables, *, blocks, bottleneck, stem, variant, selective_kernels):
        self.params, self.stats = variables['params'], variables['batch_stats']
        self.blocks, self.bottleneck = blocks, bottleneck
        self.stem, self.variant, self.selective = stem, variant, selective_kernels

    def __call__(self, images):
        """h [n, f]."""
        x = np.float64(images)
        if self.stem == 'cifar':
            x = self.layer(x, (), 1)
        elif self.selective:
            for number, stride in ((1, 2), (2, 1), (3, 1)):
                x = self.layer(x, (), number, stride)
        else:
            x = self.layer(x, (), 1, 2)
        if self.stem == 'imagenet':
            # SAME for 3 / 2: odd sizes one zero before and after, even sizes one after.
            before = x.shape[1] % 2 if self.variant == 'simclr' else 1
            x = over_windows(padded(x, before, 1, -np.inf), 3, 2, lambda w: w.max((1, 2)))
        for group, count in enumerate(self.blocks, start=1):
            for place in range(count):
                stride = 2 if group > 1 and place == 0 else 1
                x = self.block(x, (f'layer{group}_{place}',), stride)
        return x.mean((1, 2))

    def block(self, x, path, stride):
        shortcut = x
        if 'downsample_0' in self.at(self.params, path):
            if self.selective and stride == 2:
                shortcut = over_windows(padded(x, 0, 1), 2, 2, lambda w: w.mean((1, 2)))
            elif self.selective:
                nan = padded(x, 0, 1, np.nan)
                shortcut = over_windows(nan, 2, 1, lambda w: np.nanmean(w, (1, 2)))
            inner = 1 if self.selective else stride
            kernel = self.at(self.params, (*path, 'downsample_0'))['kernel']
            shortcut = self.norm(convolution(shortcut, kernel, inner), (*path, 'downsample_1'))
        if self.bottleneck:
            x = self.layer(x, path, 1)
            x = (
                self.selective_kernels(x, (*path, 'conv2'), stride)
                if self.selective
                else self.layer(x, path, 2, stride)
            )
            return relu(shortcut + self.layer(x, path, 3, rectify=False))
        return relu(shortcut + self.layer(self.layer(x, path, 1, stride), path, 2, rectify=False))

    def selective_kernels(self, x, path, stride):
        params = self.at(self.params, path)
        both = relu(self.norm(convolution(x, params['conv']['kernel'], stride), (*path, 'bn')))
        first, second = np.split(both, 2, axis=-1)
        pooled = (first + second).mean((1, 2), keepdims=True)
        pooled = relu(self.norm(pooled @ params['squeeze']['kernel'][0, 0], (*path, 'squeeze_bn')))
        logits = np.split(pooled @ params['expand']['kernel'][0, 0], 2, axis=-1)
        share = 1 / (1 + np.exp(logits[1] - logits[0]))
        return share * first + (1 - share) * second

    def layer(self, x, path, number, stride=1, rectify=True):
        kernel = self.at(self.params, (*path, f'conv{number}'))['kernel']
        x = self.norm(convolution(x, kernel, stride), (*path, f'bn{number}'))
        return relu(x) if rectify else x

    def norm(self, x, path):
        params, stats = self.at(self.params, path), self.at(self.stats, path)
        deviation = np.sqrt(np.float64(stats['var']) + 1e-5)
        return (x - stats['mean']) / deviation * params['scale'] + params['bias']

    @staticmethod
    def at(tree, path):
        for name in path:
            tree = tree[name]
        return tree
