"""As timm's recipe A3 of "ResNet strikes back" (arXiv:2110.00476): Mixup, CutMix, binary cross-entropy, LAMB."""

import packhorse
import timm.data
import timm.loss
import timm.optim

dataset = packhorse.Dataset("packed/train")
model = timm.create_model("resnet18", num_classes=len(dataset.classes))
config = timm.data.resolve_data_config(model=model)
size = config["input_size"][-1]
loader = packhorse.Loader(
    dataset,
    32,
    augment=packhorse.RandomResizedCrop(size),
    dtype="float32",
    mean=config["mean"],
    std=config["std"],
    mixup=0.1,
    cutmix=1.0,
)

loss_of = timm.loss.BinaryCrossEntropy(target_threshold=0.2)
optimizer = timm.optim.create_optimizer_v2(model, opt="lamb", lr=8e-3, weight_decay=0.02)
for images, targets in loader:  # targets: float32 [batch, classes]
    loss = loss_of(model(images), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
