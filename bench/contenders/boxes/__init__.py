"""Loaders of pictures with boxes, one file each, as their documentation has them. A file has PACKAGES, and

    batches(folder, options)   an endless iterator of (images, boxes): a uint8 array or tensor of a batch, and the number
                               of boxes in it; options.workload is letterbox or mosaic
"""
