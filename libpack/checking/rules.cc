#include "checking/rules.h"

#include <algorithm>
#include <array>
#include <utility>

namespace packhorse {

namespace {

using enum Severity;

constexpr CheckRule kRules[] = {
    {"PH001", kError, "source cannot be read as a dataset", "sources cannot be read as a dataset",
     "Nothing can be packed or trained on.", "do what the line below it says"},
    {"PH002", kError, "doubt about what the folders are", "doubts about what the folders are",
     "The folders may not be the classes, so labels would be silently wrong.",
     "name the folders: `split_folders=`, `classes_at=`, `labels=` or `exclude=`"},

    {"PH101", kError, "file is empty", "files are empty",
     "A download or a copy was cut short. The sample cannot be used.",
     "fetch the file again, or delete it"},
    {"PH102", kError, "file is not an image", "files are not images",
     "The name promises an image and the first bytes are something else, often a web page with an "
     "error.",
     "fetch the file again, or delete it"},
    {"PH103", kError, "image is damaged", "images are damaged",
     "Loaders fail on it in the middle of an epoch, or show grey where pixels are missing.",
     "fetch the file again, or leave it out: `exclude=`"},
    {"PH104", kError, "image is of a kind or form that is not supported",
     "images are of kinds or forms that are not supported", "The sample cannot be decoded.",
     "convert the file to PNG or JPEG"},
    {"PH105", kError, "file holds several pictures", "files hold several pictures",
     "It is unclear which of them is the sample.",
     "take the first of each: `first_frame=`; or extract the pictures"},
    {"PH106", kError, "image has pixels that are not colours",
     "images have pixels that are not colours",
     "Floating-point numbers and further bands have no 8-bit colours.", "keep them: `bands=`"},
    {"PH107", kError, "image is larger than the limits", "images are larger than the limits",
     "Decoding it takes gigabytes or minutes.",
     "make the image smaller, or raise the limit: `max_pixels=`"},
    {"PH108", kError, "file cannot be read", "files cannot be read",
     "It is missing, is not a regular file, or the storage fails.",
     "correct the permissions, the links or the list"},
    {"PH109", kError, "file has a name or place that cannot be packed",
     "files have names or places that cannot be packed",
     "The path is absolute, has '..' in it, or is too deep.", "rename the file"},
    {"PH110", kError, "sample has the key of another", "samples have the keys of others",
     "One of the two would be lost.", "rename one of them"},
    {"PH111", kError, "row or sample names no image", "rows or samples name no image",
     "The table or the shard is incomplete.", "complete it, or delete the row"},
    {"PH120", kWarning, "image has the extension of another kind",
     "images have the extension of another kind",
     "packhorse looks at the bytes. Other tools believe the name and fail.", "rename the file"},
    {"PH121", kWarning, "image is of one colour", "images are of one colour",
     "It shows nothing that could be learnt: often a placeholder for a missing photo.",
     "look at it, and delete it"},
    {"PH122", kWarning, "image is smaller than 8 pixels in width or height",
     "images are smaller than 8 pixels in width or height",
     "It is probably an icon or a tracking pixel.", "look at it, and delete it"},
    {"PH123", kNote, "image has more than 50 million pixels",
     "images have more than 50 million pixels",
     "Decoding it takes longer than a batch of others, again in each epoch.",
     "store it smaller: `pack(SOURCE, OUT, image=resize)`"},
    {"PH124", kNote, "file is not a sample and is left out",
     "files are not samples and are left out",
     "Usually right: lists, licences, hidden files. Look once whether an image is among them.",
     "nothing, unless one of them is a sample"},

    {"PH201", kNote, "image is turned by its EXIF orientation",
     "images are turned by their EXIF orientation",
     "packhorse turns it. Tools that ignore EXIF, OpenCV's imdecode among them with some flags, "
     "show it otherwise.",
     "turn the files, if other tools read them"},
    {"PH202", kNote, "image has 16 bits, which colours scale to 8",
     "images have 16 bits, which colours scale to 8",
     "The lower 8 bits are lost, and images that use few levels become nearly black.",
     "keep all bits: `bands=`"},
    {"PH203", kWarning, "image has transparent pixels", "images have transparent pixels",
     "Transparent pixels become black. Other tools make them white, or drop the alpha and show "
     "what "
     "is hidden behind it.",
     "flatten the images onto the background that you want"},
    {"PH204", kWarning, "image is CMYK", "images are CMYK",
     "It is converted without a colour profile, so its colours are not those of a viewer.",
     "convert it to RGB"},

    {"PH302", kWarning, "name differs from another only in case",
     "names differ from others only in case",
     "On file systems that ignore case one file replaces the other.", "rename one of them"},

    {"PH401", kError, "image has no label", "images have no label", "The sample cannot be used.",
     "give labels: `labels=FILE`; or delete the image"},
    {"PH402", kError, "label cannot be used", "labels cannot be used",
     "It is empty, or not a line of text.", "correct the table of labels"},
    {"PH403", kError, "group of identical files has several labels",
     "groups of identical files have several labels",
     "At least one of the labels is wrong, and training learns both.",
     "choose one class, and delete the other copies"},
    {"PH404", kWarning, "class has less than a hundredth of the largest class's images",
     "classes have less than a hundredth of the largest class's images",
     "A model learns to ignore it, and accuracy hides that.",
     "weight the classes: `stats(DATASET)` prints weights"},
    {"PH405", kWarning, "class has fewer than 5 images", "classes have fewer than 5 images",
     "A model can hardly learn it, and a score of it means nothing.",
     "add images, or merge or leave out the class"},
    {"PH406", kWarning, "doubt about classes without images", "doubts about classes without images",
     "The model has an output that nothing trains.", "delete the folder, or add images"},
    {"PH407", kWarning, "class is called by a number, and is not numbered in that order",
     "classes are called by numbers, and are not numbered in that order",
     "Classes are numbered in byte order, as in torchvision: '10' comes before '2'. Code that "
     "takes "
     "the folder's name for the label is wrong.",
     "give the order: `classes=FILE`"},
    {"PH408", kNote, "doubt about a single class", "doubts about a single class",
     "A model has nothing to distinguish.", "check whether you meant the folder above it"},
    {"PH409", kWarning, "doubt about the names of classes", "doubts about the names of classes",
     "Folders called train, images or masks are seldom classes.",
     "name the folders: `split_folders=`, or allow it: `allow_odd_classes=`"},
    {"PH410", kError, "image lacks a field or has one that is too large",
     "images lack a field or have one that is too large", "The sample would be incomplete.",
     "complete it, or leave the field out: `fields=`"},

    {"PH501", kError, "group of identical files is in several splits",
     "groups of identical files are in several splits", "Evaluation then rewards memorised images.",
     "keep one of each: `pack(SOURCE, OUT, deduplicate=drop)`"},
    {"PH502", kWarning, "image looks like one in another split",
     "images look like ones in other splits",
     "Frames of one film, or one photo in two sizes: evaluation then rewards memorised images.",
     "look at the pairs, and keep one of each"},
    {"PH503", kError, "doubt about the classes of a split", "doubts about the classes of splits",
     "A class that training never sees counts as wrong in evaluation.",
     "add it to train, or leave it out"},
    {"PH504", kWarning, "doubt about splits without images", "doubts about splits without images",
     "Its folder is empty. Perhaps it is not unpacked yet.", "fill it, or delete it"},
    {"PH505", kNote, "class of train is missing in another split",
     "classes of train are missing in other splits", "A model learns it, and nothing evaluates it.",
     "add images of it to that split"},
    {"PH506", kNote, "group of identical files is in one class",
     "groups of identical files are in one class", "These samples count several times.",
     "keep one of each: `pack(SOURCE, OUT, deduplicate=drop)`"},

    {"PH601", kError, "image has annotations that cannot be right",
     "images have annotations that cannot be right",
     "A box outside the image, an unknown class, or text that cannot be read.",
     "correct the annotation, or leave the image out: `exclude=`"},
    {"PH602", kError, "image has no annotation", "images have no annotations",
     "It is unknown whether it has no objects or was not annotated.",
     "add an annotation, if only an empty one"},
    {"PH603", kNote, "image has no objects", "images have no objects",
     "Such backgrounds are useful, if they are meant.", "look at some of them"},
    {"PH604", kWarning, "image has objects of less than 2 pixels",
     "images have objects of less than 2 pixels",
     "A click without a drag. Losses and anchors fail on such boxes.",
     "delete these objects, or leave them out in training: TargetRules(min_side=2)"},
    {"PH605", kWarning, "image has the same object twice", "images have the same object twice",
     "The second counts as missed in evaluation.", "delete one of the two"},
    {"PH606", kNote, "image has an object that covers it whole",
     "images have objects that cover them whole",
     "Close-ups have such boxes. So have images that somebody labelled as a whole.",
     "look at some of them"},
    {"PH607", kWarning, "image is turned by EXIF, and nothing says whether its objects are",
     "images are turned by EXIF, and nothing says whether their objects are",
     "Objects and pixels may not fit each other.",
     "look at some: `inspect(DATASET, sheet=FILE)`; then turn the images and delete the tag"},
    {"PH608", kWarning, "class of objects has no object", "classes of objects have no object",
     "The detector has an output that nothing trains.", "leave it out: `target_classes=`"},
    {"PH609", kWarning, "image has a polygon that leaves its box",
     "images have polygons that leave their boxes", "The box or the outline was changed alone.",
     "draw one of them again"},

    {"PH801", kNote, "source is many small files", "sources are many small files",
     "Each epoch opens every file again. On network storage and disks that takes most of the time.",
     "pack it: `pack(SOURCE, OUT)`; `measure` says what it gains"},
    {"PH802", kNote, "folder has more than 50,000 files", "folders have more than 50,000 files",
     "Every program takes long to list it on network storage.", "pack it"},
};

constexpr std::pair<char, std::string_view> kFamilies[] = {
    {'0', "source"}, {'1', "files"},  {'2', "pixels"},  {'3', "names"},
    {'4', "labels"}, {'5', "splits"}, {'6', "objects"}, {'8', "storage"}};

constexpr std::array<std::string_view, 3> kSeverities = {"note", "warning", "error"};

}  // namespace

std::string_view name_of(Severity severity) {
  return kSeverities[static_cast<std::size_t>(severity)];
}

std::span<const CheckRule> check_rules() { return kRules; }

const CheckRule* find_check_rule(std::string_view code) {
  const auto* const found = std::ranges::find(kRules, code, &CheckRule::code);
  return found == std::end(kRules) ? nullptr : found;
}

std::string_view family_of(std::string_view code) {
  return std::ranges::find(kFamilies, code[2], &std::pair<char, std::string_view>::first)->second;
}

const CheckRule& check_rule(std::string_view code) { return *find_check_rule(code); }

const CheckRule& rule_of(Reason reason) { return check_rule(row_of(reason).finding); }

const CheckRule& rule_of(Doubt::Kind doubt) {
  switch (doubt) {
    case Doubt::Kind::kLayout:
      break;
    case Doubt::Kind::kSplitClasses:
      return check_rule("PH503");
    case Doubt::Kind::kClassName:
      return check_rule("PH409");
    case Doubt::Kind::kEmptySplit:
      return check_rule("PH504");
    case Doubt::Kind::kEmptyClass:
      return check_rule("PH406");
    case Doubt::Kind::kOneClass:
      return check_rule("PH408");
  }
  return check_rule("PH002");
}

}  // namespace packhorse
