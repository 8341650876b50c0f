"""The step of `benchmarks.train` in PyTorch, with lightly's loss and torchvision's crops."""

import torch
from lightly.loss import NTXentLoss
from torch import nn
from torchvision.transforms import v2


class Pairs(torch.utils.data.Dataset):
    """Two random crops of each image in memory."""

    def __init__(self, images):
        self.images = images
        self.crop = v2.RandomResizedCrop(
            28, scale=(0.5, 1.0), ratio=(3 / 4, 4 / 3), antialias=False
        )

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return self.crop(self.images[index]), self.crop(self.images[index])


def network():
    """The RandBit notebook's network and projection head."""

    def convolution(channels, out):
        layers = [nn.Conv2d(channels, out, 3, 2, bias=False), nn.BatchNorm2d(out, 1e-3, 0.1)]
        return [*layers, nn.ReLU()]

    def dense(width, out):
        return [nn.Linear(width, out, bias=False), nn.BatchNorm1d(out, 1e-3, 0.1), nn.ReLU()]

    return nn.Sequential(
        *convolution(1, 32), *convolution(32, 64), *convolution(64, 64), nn.Flatten(),
        *dense(256, 128), *dense(128, 256), nn.Linear(256, 64, bias=False),
    )  # fmt: skip


def trainer(images, workers, steps, batch_size):
    """A function that trains so many steps on images uint8 [n, h, w, c]."""
    pairs = Pairs(torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255)
    loader = torch.utils.data.DataLoader(
        pairs, batch_size, shuffle=True, drop_last=True, num_workers=workers,
        persistent_workers=workers > 0, multiprocessing_context='spawn' if workers else None,
    )  # fmt: skip
    encoder = network().train()
    criterion = NTXentLoss(temperature=0.2)
    optimizer = torch.optim.Adam(encoder.parameters(), lr=3e-3)

    def endless():
        while True:
            yield from loader

    feed = endless()

    def train():
        for _ in range(steps):
            first, second = next(feed)
            z = encoder(torch.cat([first, second]))
            loss = criterion(z[:batch_size], z[batch_size:])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return train
