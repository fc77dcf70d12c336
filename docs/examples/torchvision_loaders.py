"""The loaders of torchvision's references/classification/train.py, by its options."""

import packhorse

NUMBERS = {"dtype": "float32", "mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}


def policy(args):
    if args.auto_augment == "ra":
        return packhorse.RandAugment(magnitude=args.ra_magnitude, interpolation=args.interpolation)
    if args.auto_augment == "ta_wide":
        return packhorse.TrivialAugmentWide(interpolation=args.interpolation)
    if args.auto_augment == "augmix":
        return packhorse.AugMix(severity=args.augmix_severity, interpolation=args.interpolation)
    return packhorse.AutoAugment(args.auto_augment, interpolation=args.interpolation)


def loaders(args):
    augment = [packhorse.RandomResizedCrop(args.train_crop_size, interpolation=args.interpolation)]
    if args.auto_augment:
        augment.append(policy(args))
    if args.random_erase:
        augment.append(packhorse.RandomErasing(args.random_erase, value=(124, 116, 104)))  # 0 after Normalize
    mix = {"mixup": args.mixup_alpha, "cutmix": args.cutmix_alpha}
    train = packhorse.Loader(f"{args.data_path}/train", args.batch_size, augment=augment, **mix, **NUMBERS)
    whole = packhorse.ResizeCenterCrop(args.val_crop_size, args.val_resize_size, interpolation=args.interpolation)
    val = packhorse.Loader(f"{args.data_path}/val", args.batch_size, augment=whole, shuffle=False, **NUMBERS)
    return train, val
