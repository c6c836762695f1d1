"""The convolutional network of Proficz 2018 for images of 32 x 32 pixels in 10 classes."""

from __future__ import annotations

import torch
from torch import nn

PAPERS_PARAMETERS = 145_578


def network(seed: int = 1) -> nn.Sequential:
    """3 convolutions, each with an average pooling behind it, and 2 dense layers; same seed, same
    weights.
    """
    torch.manual_seed(seed)
    layers: list[nn.Module] = []
    for before, after in ((3, 32), (32, 32), (32, 64)):
        layers += [nn.Conv2d(before, after, 5, padding=2), nn.ReLU(), nn.AvgPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(1024, 64), nn.ReLU(), nn.Linear(64, 10))


def parameters(of: nn.Module) -> int:
    """The number of parameters."""
    return sum(each.numel() for each in of.parameters())
