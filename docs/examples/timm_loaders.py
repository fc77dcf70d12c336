"""The loaders of timm's train.py, by its options. timm's loop does Mixup and CutMix."""

import packhorse


def loaders(args, config):
    size = config["input_size"][-1]
    crop = {"scale": tuple(args.scale), "ratio": tuple(args.ratio), "flip": args.hflip, "interpolation": args.train_interpolation}
    augment = [packhorse.RandomResizedCrop(size, **crop)]
    if args.aa:
        augment.append(args.aa)  # e.g. rand-m9-mstd0.5-inc1
    elif args.color_jitter:
        augment.append(packhorse.ColorJitter(args.color_jitter, args.color_jitter, args.color_jitter))
    if args.reprob:
        augment.append(packhorse.RandomErasing(args.reprob, scale=(0.02, 1 / 3), value=None))  # --remode pixel
    numbers = {"dtype": "float32", "mean": config["mean"], "std": config["std"]}
    train = packhorse.Loader(f"{args.data_dir}/train", args.batch_size, augment=augment, drop_last=True, **numbers)
    whole = packhorse.ResizeCenterCrop(size, int(size / config["crop_pct"]), interpolation=config["interpolation"])
    batch = args.validation_batch_size or args.batch_size
    return train, packhorse.Loader(f"{args.data_dir}/val", batch, augment=whole, shuffle=False, **numbers)
