#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>

#include "annotations/yolo_labels.h"
#include "base/file.h"
#include "base/option.h"
#include "base/paths.h"
#include "base/printable.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "sources/annotated/annotated_folder.h"
#include "sources/annotated/annotated_kind.h"
#include "sources/layout/folder_roles.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostSplitFolders = 16, kMostNamesLookedAt = 4096;
constexpr std::uintmax_t kMostTextBytes = 4u << 20;
constexpr const char* kNameLists[] = {"classes.txt", "obj.names", "_darknet.labels"};

/// A text that lies beside an image.
std::optional<fs::path> text_in(const fs::path& folder, FolderLook& look) {
  std::optional<fs::path> found;
  std::size_t names = 0;
  if (::access(folder.c_str(), R_OK | X_OK) != 0) return found;  // which is told when it is listed
  look.look_in(folder, [&](const fs::directory_entry& entry) {
    if (naming::has_image_name(entry.path().filename().native())) {
      for (const char* extension : {".txt", ".json", ".xml"}) {
        const fs::path text = fs::path(entry.path()).replace_extension(extension);
        if (!found && is_file(text)) found = text;
      }
    }
    return !found && ++names < kMostNamesLookedAt;
  });
  return found;
}

[[noreturn]] void refuse_text(const fs::path& source, const fs::path& text) {
  std::error_code code;
  const std::string content = fs::file_size(text, code) <= kMostTextBytes ? read_text(text) : "";
  const auto packed = [&](std::vector<std::pair<std::string, std::string>> options) {
    return call({"pack", {source.native(), "OUT"}, std::move(options)});
  };
  const auto kept = [&](const char* field) {
    return packed({{"fields", field}, {"unlabelled", "true"}});
  };
  const std::string extension = text.extension().native();
  std::string kind = "texts";
  std::string advice =
      packed({{"targets", "caption:txt"}, {"fields", "txt"}, {"unlabelled", "true"}});
  if (extension == ".json") {
    kind = "JSON files";
    advice = kept("json");
  } else if (extension == ".xml") {
    kind = "XML files, which are not VOC's,";
    advice = kept("xml");
  } else if (is_yolo_text(content)) {
    kind = "labels of YOLO";
    const auto names = yolo_class_file(source, text);
    advice = packed({{"targets", "yolo"},
                     {"fields", "txt"},
                     {"target_classes", names ? names->native() : "FILE"}}) +
             (names ? "" : ", which names the classes, one a line");
  }
  throw Error(ErrorKind::kUsage,
              fmt::format("the images have {} beside them, such as {}, and nothing says what they "
                          "are for",
                          kind, printable(text.filename().native())),
              source, advice + "; the images alone: " + packed({{"unlabelled", "true"}}));
}

}  // namespace

bool is_yolo_text(const std::string& text) {
  constexpr std::size_t kAnyClasses = 1u << 20;
  ObjectBuilder builder({1000, 1000, kAnyClasses, 0});
  add_yolo_objects(text, {1000, 1000, kAnyClasses, 0}, {}, builder);
  return builder.problems().empty() && builder.take().size() > 0;
}

std::optional<fs::path> yolo_class_file(const fs::path& source, const fs::path& labels) {
  for (const fs::path& folder : {labels.parent_path(), source})
    for (const char* name : kNameLists)
      if (is_file(folder / name)) return folder / name;
  return std::nullopt;
}

void refuse_texts_beside_images(const fs::path& source, FolderLook& look) {
  const std::vector<std::string> folders = look.folders_in(source);
  const bool splits_alone = std::ranges::none_of(
      folders, [](const std::string& folder) { return split_named(folder).empty(); });
  if (!splits_alone || folders.size() > kMostSplitFolders) return;
  if (const auto text = text_in(source, look)) refuse_text(source, *text);
  for (const std::string& folder : folders)
    if (const auto text = text_in(source / folder, look)) refuse_text(source, *text);
}

}  // namespace packhorse
