import packhorse
import timm.data
import timm.optim
import torch

dataset = packhorse.Dataset("packed/train")
model = timm.create_model("resnet18", num_classes=len(dataset.classes))
config = timm.data.resolve_data_config(model=model)
size = config["input_size"][-1]
loader = packhorse.Loader(dataset, 32, augment=packhorse.RandomResizedCrop(size), dtype="float32", mean=config["mean"], std=config["std"])

optimizer = timm.optim.create_optimizer_v2(model, opt="adamw", lr=1e-3)
for images, labels in loader:
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
