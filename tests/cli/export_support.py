"""Exports of annotation tools for the images of annotated_support: a cat and a dog in each, as each tool writes them."""

import json

from annotated_support import BOXES, CLASSES, SIZE, images, text

NAMES = ["1.jpg", "2.jpg"]
WIDTH, HEIGHT = SIZE


def labelme_text(name, shapes=None, **more):
    made = [{"label": CLASSES[label], "points": [[left, top], [right, bottom]], "group_id": None, "shape_type": "rectangle", "flags": {}}
            for label, (left, top, right, bottom) in BOXES]
    return json.dumps({"version": "5.4.1", "flags": {}, "shapes": made if shapes is None else shapes, "imagePath": name, "imageData": None,
                       "imageHeight": HEIGHT, "imageWidth": WIDTH, **more})


def labelme(root, names=NAMES, **more):
    images(root, *names)
    for name in names:
        text((root / name).with_suffix(".json"), labelme_text(name.rsplit("/", 1)[-1], **more))


def cvat_text(names=NAMES, shapes=None, head="", more=""):
    made = "".join(f'<box label="{CLASSES[label]}" source="manual" occluded="0" xtl="{left}.00" ytl="{top}.00" xbr="{right}.00" ybr="{bottom}.00" z_order="0"></box>'
                   for label, (left, top, right, bottom) in BOXES)
    body = "".join(f'<image id="{i}" name="{name}" width="{WIDTH}" height="{HEIGHT}" {more}>{made if shapes is None else shapes}</image>'
                   for i, name in enumerate(names))
    return f'<?xml version="1.0" encoding="utf-8"?>\n<annotations><version>1.1</version><meta>{head}</meta>{body}</annotations>'


def cvat(root, names=NAMES, **more):
    images(root / "images", *names)
    text(root / "annotations.xml", cvat_text(names, **more))


def table_text(names=NAMES, header="filename,width,height,class,xmin,ymin,xmax,ymax", row=None):
    """row: the text of a box, from its name, class and corners."""
    row = row or (lambda name, label, left, top, right, bottom: f"{name},{WIDTH},{HEIGHT},{label},{left},{top},{right},{bottom}")
    rows = [row(name, CLASSES[label], *corners) for name in names for label, corners in BOXES]
    return "\n".join([header, *rows] if header else rows) + "\n"


def table(root, names=NAMES, file="_annotations.csv", **more):
    images(root, *names)
    text(root / file, table_text(names, **more))


def label_studio_region(label, left, top, right, bottom, **more):
    value = {"x": 100 * left / WIDTH, "y": 100 * top / HEIGHT, "width": 100 * (right - left) / WIDTH, "height": 100 * (bottom - top) / HEIGHT,
             "rotation": 0, "rectanglelabels": [label]}
    return {"id": f"r{left}", "type": "rectanglelabels", "from_name": "label", "to_name": "image", "original_width": WIDTH, "original_height": HEIGHT,
            "image_rotation": 0, "value": value, **more}


def label_studio_text(names=NAMES, regions=None, address="/data/local-files/?d="):
    made = [label_studio_region(CLASSES[label], *corners) for label, corners in BOXES] if regions is None else regions
    return json.dumps([{"id": i, "data": {"image": address + name}, "predictions": [],
                        "annotations": [{"id": i, "was_cancelled": False, "result": made}]} for i, name in enumerate(names)])


def label_studio(root, names=NAMES, **more):
    images(root / "images", *names)
    text(root / "project-1-at-2026-01-01.json", label_studio_text(names, **more))


def via_region(label, left, top, right, bottom):
    return {"shape_attributes": {"name": "rect", "x": left, "y": top, "width": right - left, "height": bottom - top},
            "region_attributes": {"class": label}}


def via_entries(names=NAMES, regions=None):
    made = [via_region(CLASSES[label], *corners) for label, corners in BOXES] if regions is None else regions
    return {f"{name}99": {"filename": name, "size": 99, "regions": made, "file_attributes": {}} for name in names}


def via(root, names=NAMES, **more):
    images(root, *names)
    text(root / "via_project.json", json.dumps({"_via_settings": {}, "_via_img_metadata": via_entries(names, **more), "_via_attributes": {}}))


def via_csv(root, names=NAMES):
    images(root, *names)
    rows = ["filename,file_size,file_attributes,region_count,region_id,region_shape_attributes,region_attributes"]
    for name in names:
        for i, region in enumerate(via_entries([name])[f"{name}99"]["regions"]):
            cells = [json.dumps(region[key]).replace('"', '""') for key in ("shape_attributes", "region_attributes")]
            rows.append(f'{name},99,"{{}}",2,{i},"{cells[0]}","{cells[1]}"')
    text(root / "via_export_csv.csv", "\n".join(rows) + "\n")


def dota_line(label, left, top, right, bottom, difficult=0):
    return f"{left} {top} {right} {top} {right} {bottom} {left} {bottom} {label} {difficult}\n"


def dota(root, names=NAMES, lines=None):
    made = "imagesource:GoogleEarth\ngsd:0.1\n" + "".join(dota_line(CLASSES[label], *corners) for label, corners in BOXES)
    images(root / "images", *names)
    for name in names:
        text((root / "labelTxt" / name).with_suffix(".txt"), made if lines is None else lines)


def kitti_line(label, left, top, right, bottom, truncated=0, occluded=0):
    return f"{label} {truncated:.2f} {occluded} -10 {left}.00 {top}.00 {right}.00 {bottom}.00 -1 -1 -1 -1000 -1000 -1000 -10\n"


def kitti(root, names=NAMES, lines=None):
    images(root / "image_2", *names)
    for name in names:
        text((root / "label_2" / name).with_suffix(".txt"), "".join(kitti_line(CLASSES[label], *corners) for label, corners in BOXES) if lines is None else lines)


def create_ml_text(names=NAMES, **more):
    made = [{"label": CLASSES[label], "coordinates": {"x": (left + right) / 2, "y": (top + bottom) / 2, "width": right - left, "height": bottom - top}}
            for label, (left, top, right, bottom) in BOXES]
    return json.dumps([{"image": name, "annotations": made, **more} for name in names])


def create_ml(root, names=NAMES, **more):
    images(root, *names)
    text(root / "_annotations.createml.json", create_ml_text(names, **more))


#: What writes a kind, whole.
KINDS = {"labelme": labelme, "cvat": cvat, "table": table, "label-studio": label_studio, "via": via, "dota": dota, "kitti": kitti, "createml": create_ml}
#: The same data set's places for --targets.
PLACES = {"labelme": "", "cvat": "annotations.xml", "table": "_annotations.csv", "label-studio": "project-1-at-2026-01-01.json", "via": "via_project.json",
          "dota": "labelTxt", "kitti": "label_2", "createml": "_annotations.createml.json"}
