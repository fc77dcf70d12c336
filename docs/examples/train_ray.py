import ray.train.torch


def train():
    import packhorse, torch, torchvision

    loader = packhorse.Loader("/data/packed/train", 32, augment=packhorse.RandomResizedCrop(224), dtype="float32", drop_last=True)
    model = torchvision.models.resnet18(num_classes=len(loader.dataset.classes)).to(memory_format=torch.channels_last)
    model = ray.train.torch.prepare_model(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        for images, labels in loader:
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}, {loader.world_size} workers: loss {loss.item():.3f}")


workers = ray.train.ScalingConfig(num_workers=2)
ray.train.torch.TorchTrainer(train, scaling_config=workers).fit()
