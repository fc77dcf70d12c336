"""smallnet of packhorse-train, written again in PyTorch, and what both train it with."""

from torch import nn

BATCH = 128
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def smallnet(outputs):
    layers, before = [], 3
    for width in (32, 64, 128):
        for stride in (1 if width == 32 else 2, 1):
            layers += [nn.Conv2d(before, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
            nn.init.kaiming_normal_(layers[-3].weight, mode="fan_out", nonlinearity="relu")
            before = width
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, outputs)]
    return nn.Sequential(*layers)
