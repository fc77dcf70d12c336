import os
import packhorse
import torch
import torchvision

torch.distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
device = f"cuda:{os.environ['LOCAL_RANK']}" if torch.cuda.is_available() else "cpu"

loader = packhorse.Loader("packed/train", 96 // world, augment=packhorse.RandomResizedCrop(224), dtype="float32", drop_last=True)
model = torchvision.models.resnet18(num_classes=len(loader.dataset.classes)).to(device)
model = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

if os.path.exists("last.pt"):
    saved = torch.load("last.pt", map_location=device)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    loader.load_state_dict(saved["loader"])

while loader.epoch < 2:
    for images, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(images.to(device)), labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "loader": loader.state_dict()}
            torch.save(state, "last.pt.new")
            os.replace("last.pt.new", "last.pt")
torch.distributed.destroy_process_group()
