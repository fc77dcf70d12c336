import packhorse
import torch
import torchvision

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
numbers = {"dtype": "float32", "mean": MEAN, "std": STD}
train = packhorse.Loader("packed/train", 256, augment=packhorse.RandomResizedCrop(224), drop_last=True, **numbers)
val = packhorse.Loader("packed/val", 256, augment=packhorse.ResizeCenterCrop(224, 256), shuffle=False, **numbers)

device = "cuda" if torch.cuda.is_available() else "cpu"
model = torchvision.models.resnet18(num_classes=len(train.dataset.classes)).to(device, memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)

for epoch in range(2):
    model.train()
    for images, labels in train:
        loss = torch.nn.functional.cross_entropy(model(images.to(device)), labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    right = 0
    with torch.no_grad():
        for images, labels in val:
            right += (model(images.to(device)).argmax(1).cpu() == labels).sum().item()
    print(f"epoch {epoch}: {right} of {len(val.dataset)} right")
