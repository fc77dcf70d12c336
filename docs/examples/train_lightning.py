import lightning
import packhorse
import torch
import torchvision


class Classifier(lightning.LightningModule):
    def __init__(self, classes):
        super().__init__()
        self.model = torchvision.models.resnet18(num_classes=classes)

    def training_step(self, batch, number):
        images, labels = batch
        return torch.nn.functional.cross_entropy(self.model(images), labels)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


loader = packhorse.Loader("packed/train", 32, augment=packhorse.RandomResizedCrop(224), dtype="float32")
every_step = lightning.pytorch.callbacks.ModelCheckpoint("checkpoints", save_last=True, every_n_train_steps=1)
trainer = lightning.Trainer(max_epochs=2, callbacks=[every_step])
trainer.fit(Classifier(len(loader.dataset.classes)), loader, ckpt_path="last")
