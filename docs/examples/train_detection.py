import packhorse
import torch
import torchvision

augment = packhorse.DetectionAugment(640, mosaic=1.0, affine=packhorse.RandomAffine(scale=(0.5, 1.5)), flip=0.5)
loader = packhorse.Loader(
    "packed-objects/train",
    16,
    augment=[augment, packhorse.ColorJitter(brightness=0.4, saturation=0.7, hue=0.015)],
    targets=packhorse.TargetRules(min_side=2, min_visible=0.1),
    close_mosaic_from=90,
    dtype="float32",
    drop_last=True,
)
device = "cuda" if torch.cuda.is_available() else "cpu"
classes = loader.dataset.object_classes
model = torchvision.models.detection.fcos_resnet50_fpn(
    weights=None, weights_backbone=None, num_classes=len(classes), min_size=640, max_size=640
).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)

for epoch in range(100):
    for images, labels, targets in loader:
        losses = model(list(images.to(device)), targets.split(device=device))
        loss = sum(losses.values())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.3f}")
