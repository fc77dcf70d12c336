#pragma once

#include <array>
#include <filesystem>
#include <string>

#include "sources/folder_look.h"
#include "sources/layout/source_contents.h"
#include "sources/source.h"

/// The kinds of source, each in a folder of its own: what tells it, and what opens it. All look at
/// a path by one FolderLook.
namespace packhorse {

/// A dataset that packhorse wrote, in any format, or a directory of such datasets, one for each
/// split. Samples come in their stored order, with their keys.
namespace packed {
bool probe(const std::filesystem::path& path, FolderLook& look);
std::unique_ptr<Source> open(const std::filesystem::path& path);
}  // namespace packed

inline constexpr SourceKind kPackedSource = {"packed", "a dataset packhorse wrote", packed::probe,
                                             packed::open};

/// WebDataset shards, whoever wrote them: one tar (plain or compressed), a folder of them, or a
/// pattern like "shards/train-{000000..000146}.tar".
namespace webdataset {
bool probe(const std::filesystem::path& path, FolderLook& look);
std::unique_ptr<Source> open(const std::filesystem::path& path);

/// What the first members of an archive look like.
enum class Look { kSamples, kClassFolders, kBareImages, kUnclear };
Look look_at(const std::filesystem::path& archive);
/// Whether `path` is an archive that begins with images outside any folder, and nothing beside
/// them: shards without labels, or the images of a labels file. False for a damaged archive.
bool holds_bare_images(const std::filesystem::path& path);
}  // namespace webdataset

inline constexpr SourceKind kWebDatasetSource = {"webdataset",
                                                 "WebDataset shards (a tar, a folder, a pattern)",
                                                 webdataset::probe, webdataset::open};

/// Arrays of pixels with an array of labels for each: a .npz, or a folder of .npy and .npz files.
/// Each image is read as a PNG of the same pixels.
namespace arrays {
bool probe(const std::filesystem::path& path, FolderLook& look);
std::unique_ptr<Source> open(const std::filesystem::path& path);
}  // namespace arrays

inline constexpr SourceKind kArraysSource = {
    "arrays", "arrays of pixels and labels (.npz, or a folder of .npy and .npz files)",
    arrays::probe, arrays::open};

/// One archive file of class folders or of class archives: zip, or tar, plain or compressed with
/// gzip, zstd or xz. Nothing is ever extracted under a name that is in the archive.
namespace archive_file {
bool probe(const std::filesystem::path& path, FolderLook& look);
std::unique_ptr<Source> open(const std::filesystem::path& path);
}  // namespace archive_file

inline constexpr SourceKind kArchiveSource = {
    "archive", "an archive of class folders (tar, tar.gz, tar.zst, tar.xz, zip)",
    archive_file::probe, archive_file::open};

/// A list file: one row for each sample, with its path, its label and its extra fields.
namespace list_file {
bool probe(const std::filesystem::path& path, FolderLook& look);
std::unique_ptr<Source> open(const std::filesystem::path& path);
bool may_name_urls(const std::filesystem::path& path);
}  // namespace list_file

inline constexpr SourceKind kListSource = {
    "list", "a .csv, .tsv or .jsonl list of path,label[,split][,field...]", list_file::probe,
    list_file::open, list_file::may_name_urls};

/// Folders of images with COCO's files: `annotations/instances_NAME.json` for the images in NAME or
/// images/NAME, `annotations/instances.json` for those in images, or `_annotations.coco.json` in
/// the folder of each split. Captions are read where each of these has a `captions_NAME.json`
/// beside it.
namespace coco {
bool probe(const std::filesystem::path& path, FolderLook& look);
std::unique_ptr<Source> open(const std::filesystem::path& path);
}  // namespace coco

inline constexpr SourceKind kCocoSource = {
    .name = "coco",
    .summary = "a folder of images and COCO's annotations/instances_*.json",
    .probe = coco::probe,
    .open = coco::open,
    .has_annotation_file = true};

/// Folders of images with Hugging Face's `metadata.jsonl` that says which objects are in them: one
/// in the folder of each split, or one for all.
namespace hf {
bool probe(const std::filesystem::path& path, FolderLook& look);
std::unique_ptr<Source> open(const std::filesystem::path& path);
/// Throws Error(kUsage), with the readings, where there are labels of the images, too.
void refuse_labels_too(const std::filesystem::path& path, FolderLook& look);
}  // namespace hf

inline constexpr SourceKind kHfSource = {
    .name = "hf",
    .summary = "a folder of images and a metadata.jsonl with objects (Hugging Face)",
    .probe = hf::probe,
    .open = hf::open,
    .has_annotation_file = true};

/// Images with labels of YOLO, and the data.yaml that names both: the file itself, or a folder that
/// holds it.
namespace yolo {
bool probe(const std::filesystem::path& path, FolderLook& look);
std::unique_ptr<Source> open(const std::filesystem::path& path);
/// The images in the folder `source` that the file `data` names.
std::unique_ptr<Source> open(const std::filesystem::path& source,
                             const std::filesystem::path& data);
}  // namespace yolo

inline constexpr SourceKind kYoloSource = {
    "yolo", "a data.yaml of YOLO, or the folder that holds it", yolo::probe, yolo::open};

/// A folder of Pascal VOC: JPEGImages, Annotations with an XML file for each image, and the lists
/// of splits in ImageSets/Main; or just one folder with images and one with XML files, however they
/// are called; or XML files beside the images, in folders of splits or in none. There may be
/// folders around it alone (VOCdevkit/VOC2012).
namespace voc {
bool probe(const std::filesystem::path& path, FolderLook& look);
std::unique_ptr<Source> open(const std::filesystem::path& path);
}  // namespace voc

inline constexpr SourceKind kVocSource = {"voc", "a folder of Pascal VOC", voc::probe, voc::open};

/// Folders of images with annotations of a tool that are its own notation: beside the images, or in
/// the folder of each split. ExportNotation says how each is told.
namespace exports {
bool probe(TargetOptions::Notation notation, const std::filesystem::path& path, FolderLook& look);
std::unique_ptr<Source> open(TargetOptions::Notation notation, const std::filesystem::path& path);

template <TargetOptions::Notation kNotation>
constexpr SourceKind kind(std::string_view name, std::string_view summary) {
  return {.name = name,
          .summary = summary,
          .probe = [](const std::filesystem::path& path,
                      FolderLook& look) { return probe(kNotation, path, look); },
          .open = [](const std::filesystem::path& path) { return open(kNotation, path); },
          .has_annotation_file = true};
}
}  // namespace exports

inline constexpr std::array kExportSources = {
    exports::kind<TargetOptions::Notation::kLabelMe>("labelme", "images with LabelMe's JSON"),
    exports::kind<TargetOptions::Notation::kCvat>("cvat", "images and CVAT's XML"),
    exports::kind<TargetOptions::Notation::kTable>("table", "images and a CSV with a row a box"),
    exports::kind<TargetOptions::Notation::kLabelStudio>("label-studio",
                                                         "images and Label Studio's JSON"),
    exports::kind<TargetOptions::Notation::kVia>("via", "images and VIA's JSON or CSV"),
    exports::kind<TargetOptions::Notation::kDota>("dota", "images and DOTA's labelTxt"),
    exports::kind<TargetOptions::Notation::kKitti>("kitti", "KITTI's image_2 and label_2"),
    exports::kind<TargetOptions::Notation::kCreateMl>("createml", "images and CreateML's JSON")};

/// A folder of class folders, at any depth, or a folder of split folders ("train", "val", ...) that
/// hold class folders.
namespace folder {
bool probe(const std::filesystem::path& path, FolderLook& look);
std::unique_ptr<Source> open(const std::filesystem::path& path);
/// Refusals tell those readings, too.
std::unique_ptr<Source> open_with(const std::filesystem::path& path,
                                  SourceContents::AnnotatedReadings readings);
}  // namespace folder

inline constexpr SourceKind kFolderSource = {"folder", "a folder of class folders", folder::probe,
                                             folder::open};

/// What lies at a URL. Not a line of all_sources(): a URL is told from a path before any kind is
/// asked.
namespace objects {

/// A packed dataset, an archive, or class folders of objects in a bucket. `named` is a name of
/// all_sources(), or empty. Throws as open_source() does, and as open_remote().
std::unique_ptr<Source> open(const std::filesystem::path& url, std::string_view named);

}  // namespace objects

}  // namespace packhorse
