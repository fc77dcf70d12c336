import os
import packhorse
import torch
import torchvision

torch.distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
device = f"cuda:{os.environ['LOCAL_RANK']}" if torch.cuda.is_available() else "cpu"

crop = packhorse.RandomResizedCrop(224)
loader = packhorse.Loader("packed/train", 96 // world, augment=crop, dtype="float32", drop_last=True)
model = torchvision.models.resnet18(num_classes=len(loader.dataset.classes)).to(device, memory_format=torch.channels_last)
model = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

if os.path.exists("last.pt"):
    saved = torch.load("last.pt", map_location=device)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    loader.load_state_dict(saved["loader"])


def save():
    if rank == 0:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "loader": loader.state_dict()}, "last.pt.new")
        os.replace("last.pt.new", "last.pt")


while loader.epoch < 2:
    for step, (images, labels) in enumerate(loader, 1):
        loss = torch.nn.functional.cross_entropy(model(images.to(device)), labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            save()
    save()
torch.distributed.destroy_process_group()
