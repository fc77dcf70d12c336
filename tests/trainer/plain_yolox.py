"""YOLOX (Ge et al. 2021) as plainly as can be, one picture and one object at a time: what the trainer's is held against."""

import torch
from torch import nn
from torch.nn import functional

SIZES = {"yolox-nano": (0.33, 0.25, True), "yolox-tiny": (0.33, 0.375, False), "yolox-s": (0.33, 0.5, False)}
STRIDES = (8, 16, 32)


class Base(nn.Module):
    def __init__(self, c_in, c_out, kernel, stride=1, groups=1):
        super().__init__()
        self.conv = nn.Conv2d(c_in, c_out, kernel, stride, kernel // 2, groups=groups, bias=False)
        self.bn = nn.BatchNorm2d(c_out, eps=1e-3, momentum=0.03)

    def forward(self, x):
        return functional.silu(self.bn(self.conv(x)))


class Depthwise(nn.Module):
    def __init__(self, c_in, c_out, kernel, stride=1):
        super().__init__()
        self.dconv = Base(c_in, c_in, kernel, stride, groups=c_in)
        self.pconv = Base(c_in, c_out, 1)

    def forward(self, x):
        return self.pconv(self.dconv(x))


class Bottleneck(nn.Module):
    def __init__(self, conv, channels, shortcut):
        super().__init__()
        self.conv1, self.conv2, self.shortcut = Base(channels, channels, 1), conv(channels, channels, 3), shortcut

    def forward(self, x):
        y = self.conv2(self.conv1(x))
        return y + x if self.shortcut else y


class Csp(nn.Module):
    def __init__(self, conv, c_in, c_out, blocks, shortcut):
        super().__init__()
        half = c_out // 2
        self.conv1, self.conv2, self.conv3 = Base(c_in, half, 1), Base(c_in, half, 1), Base(2 * half, c_out, 1)
        self.m = nn.Sequential(*(Bottleneck(conv, half, shortcut) for _ in range(blocks)))

    def forward(self, x):
        return self.conv3(torch.cat([self.m(self.conv1(x)), self.conv2(x)], 1))


class Focus(nn.Module):
    def __init__(self, c_out):
        super().__init__()
        self.conv = Base(12, c_out, 3)

    def forward(self, x):
        corners = [x[..., row::2, column::2] for row, column in ((0, 0), (1, 0), (0, 1), (1, 1))]
        return self.conv(torch.cat(corners, 1))


class Spp(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1, self.conv2 = Base(channels, channels // 2, 1), Base(channels * 2, channels, 1)

    def forward(self, x):
        x = self.conv1(x)
        return self.conv2(torch.cat([x, *(functional.max_pool2d(x, k, 1, k // 2) for k in (5, 9, 13))], 1))


class Darknet(nn.Module):
    def __init__(self, conv, depth, width):
        super().__init__()
        c, n = int(width * 64), max(round(depth * 3), 1)
        self.stem = Focus(c)
        self.dark2 = nn.Sequential(conv(c, c * 2, 3, 2), Csp(conv, c * 2, c * 2, n, True))
        self.dark3 = nn.Sequential(conv(c * 2, c * 4, 3, 2), Csp(conv, c * 4, c * 4, 3 * n, True))
        self.dark4 = nn.Sequential(conv(c * 4, c * 8, 3, 2), Csp(conv, c * 8, c * 8, 3 * n, True))
        self.dark5 = nn.Sequential(conv(c * 8, c * 16, 3, 2), Spp(c * 16), Csp(conv, c * 16, c * 16, n, False))

    def forward(self, x):
        fine = self.dark3(self.dark2(self.stem(x)))
        middle = self.dark4(fine)
        return fine, middle, self.dark5(middle)


class Pafpn(nn.Module):
    def __init__(self, conv, depth, width):
        super().__init__()
        a, b, c, n = int(width * 256), int(width * 512), int(width * 1024), max(round(depth * 3), 1)
        self.backbone = Darknet(conv, depth, width)
        self.lateral_conv0 = Base(c, b, 1)
        self.C3_p4 = Csp(conv, 2 * b, b, n, False)
        self.reduce_conv1 = Base(b, a, 1)
        self.C3_p3 = Csp(conv, 2 * a, a, n, False)
        self.bu_conv2 = conv(a, a, 3, 2)
        self.C3_n3 = Csp(conv, 2 * a, b, n, False)
        self.bu_conv1 = conv(b, b, 3, 2)
        self.C3_n4 = Csp(conv, 2 * b, c, n, False)

    def forward(self, x):
        fine, middle, coarse = self.backbone(x)
        twice = nn.Upsample(scale_factor=2, mode="nearest")
        top = self.lateral_conv0(coarse)
        centre = self.reduce_conv1(self.C3_p4(torch.cat([twice(top), middle], 1)))
        out_fine = self.C3_p3(torch.cat([twice(centre), fine], 1))
        out_middle = self.C3_n3(torch.cat([self.bu_conv2(out_fine), centre], 1))
        return out_fine, out_middle, self.C3_n4(torch.cat([self.bu_conv1(out_middle), top], 1))


class Head(nn.Module):
    def __init__(self, conv, width, classes):
        super().__init__()
        c = int(256 * width)
        self.stems = nn.ModuleList(Base(int(n * width), c, 1) for n in (256, 512, 1024))
        self.cls_convs = nn.ModuleList(nn.Sequential(conv(c, c, 3), conv(c, c, 3)) for _ in STRIDES)
        self.reg_convs = nn.ModuleList(nn.Sequential(conv(c, c, 3), conv(c, c, 3)) for _ in STRIDES)
        self.cls_preds = nn.ModuleList(nn.Conv2d(c, classes, 1) for _ in STRIDES)
        self.reg_preds = nn.ModuleList(nn.Conv2d(c, 4, 1) for _ in STRIDES)
        self.obj_preds = nn.ModuleList(nn.Conv2d(c, 1, 1) for _ in STRIDES)

    def forward(self, levels):
        rows = []
        for i, (stride, level) in enumerate(zip(STRIDES, levels, strict=True)):
            x = self.stems[i](level)
            box = self.reg_convs[i](x)
            raw = torch.cat([self.reg_preds[i](box), self.obj_preds[i](box), self.cls_preds[i](self.cls_convs[i](x))], 1)
            _, _, height, width = raw.shape
            for y in range(height):
                for x in range(width):
                    at = raw[:, :, y, x]
                    centre = (at[:, :2] + torch.tensor([x, y])) * stride
                    rows.append(torch.cat([centre, at[:, 2:4].exp() * stride, at[:, 4:]], 1))
        return torch.stack(rows, 1)


class Yolox(nn.Module):
    def __init__(self, name, classes):
        super().__init__()
        depth, width, separable = SIZES[name]
        conv = Depthwise if separable else Base
        self.backbone, self.head = Pafpn(conv, depth, width), Head(conv, width, classes)

    def forward(self, images):
        return self.head(self.backbone(images))


def places_of(height, width):
    """x, y, stride of each place."""
    return [((x + 0.5) * s, (y + 0.5) * s, s) for s in STRIDES for y in range(height // s) for x in range(width // s)]


def iou(a, b):
    """Of two boxes (centre, sides), differentiable."""
    low = torch.maximum(a[:2] - a[2:] / 2, b[:2] - b[2:] / 2)
    high = torch.minimum(a[:2] + a[2:] / 2, b[:2] + b[2:] / 2)
    both = (high - low).clamp(min=0).prod()
    return both / (a[2:].prod() + b[2:].prod() - both + 1e-16)


def near(box, place):
    x, y, stride = place
    return abs(box[0] - x) < 1.5 * stride and abs(box[1] - y) < 1.5 * stride


@torch.no_grad()
def assign(predictions, boxes, labels, places):
    """SimOTA of one picture: {place: (object, overlap)}."""
    candidates = [a for a, place in enumerate(places) if any(near(box, place) for box in boxes)]
    cost, overlap = {}, {}
    for g, (box, label) in enumerate(zip(boxes, labels, strict=True)):
        for a in candidates:
            overlap[g, a] = iou(box, predictions[a, :4])
            scores = (predictions[a, 5:].sigmoid() * predictions[a, 4].sigmoid()).sqrt()
            wanted = functional.one_hot(label, len(scores)).float()
            of_class = functional.binary_cross_entropy(scores, wanted, reduction="sum")
            cost[g, a] = of_class - 3 * (overlap[g, a] + 1e-8).log() + (0 if near(box, places[a]) else 1e6)
    wish = {}
    for g in range(len(boxes)):
        best = sorted((overlap[g, a].item() for a in candidates), reverse=True)[:10]
        count = max(int(torch.tensor(best).sum()), 1)
        for a in sorted(candidates, key=lambda a: cost[g, a].item())[:count]:
            wish.setdefault(a, []).append(g)
    found = {}
    for a, objects in wish.items():
        # Of a place that several want, the cheapest of all objects has it, even one that did not want it.
        g = objects[0] if len(objects) == 1 else min(range(len(boxes)), key=lambda g: cost[g, a].item())
        found[a] = (g, overlap[g, a])
    return found


def losses(predictions, truth, places):
    """`truth`: (boxes, labels) of each picture. Sums over the batch, by the number of places with an object."""
    parts = dict.fromkeys(("box", "object", "classes", "offsets"), torch.zeros(()))
    assigned = [assign(p, *t, places) for p, t in zip(predictions, truth, strict=True)]
    for rows, (boxes, labels), found in zip(predictions, truth, assigned, strict=True):
        for a, (x, y, stride) in enumerate(places):
            there = torch.tensor(float(a in found))
            parts["object"] = parts["object"] + functional.binary_cross_entropy_with_logits(rows[a, 4], there)
            if a not in found:
                continue
            g, overlap = found[a]
            parts["box"] = parts["box"] + 1 - iou(rows[a, :4], boxes[g]) ** 2
            wanted = functional.one_hot(labels[g], rows.shape[1] - 5) * overlap
            parts["classes"] = parts["classes"] + functional.binary_cross_entropy_with_logits(
                rows[a, 5:], wanted, reduction="sum")  # fmt: skip
            corner = torch.tensor([x, y]) / stride - 0.5
            raw = torch.cat([rows[a, :2] / stride - corner, (rows[a, 2:4] / stride).log()])
            target = torch.cat([boxes[g][:2] / stride - corner, (boxes[g][2:] / stride + 1e-8).log()])
            parts["offsets"] = parts["offsets"] + (raw - target).abs().sum()
    count = max(sum(map(len, assigned)), 1)
    parts = {name: value / count for name, value in parts.items()}
    parts["total"] = 5 * parts["box"] + parts["object"] + parts["classes"] + parts["offsets"]
    return parts, assigned
