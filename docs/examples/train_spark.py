import pyspark.sql
from pyspark.ml.torch.distributor import TorchDistributor


def train():
    import packhorse, torch, torchvision

    torch.distributed.init_process_group("gloo")
    loader = packhorse.Loader("/data/packed/train", 32, augment=packhorse.RandomResizedCrop(224), dtype="float32", drop_last=True)
    model = torchvision.models.resnet18(num_classes=len(loader.dataset.classes)).to(memory_format=torch.channels_last)
    model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        for images, labels in loader:
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    torch.distributed.destroy_process_group()
    return f"{loader.world_size} workers: loss {loss.item():.3f}"


spark = pyspark.sql.SparkSession.builder.getOrCreate()
print(TorchDistributor(num_processes=2, local_mode=False, use_gpu=False).run(train))
