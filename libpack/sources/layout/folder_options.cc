#include <algorithm>

#include "base/text.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "sources/layout/layout.h"
#include "sources/source.h"

namespace packhorse {

namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::kUsage, "`split_folders=`: " + what, {},
              "say which folder of the source is which split, e.g. train=Training,val=Testing; "
              "none if no folder is");
}

SplitFolder parse_one(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string split = text.substr(0, equals);
  const std::string name = equals == std::string::npos ? text : text.substr(equals + 1);
  const std::optional<std::string> folder = naming::clean_path(name);
  if (!folder) refuse("'" + text + "' does not name a folder of the source");
  if (!naming::is_split_name(split))
    refuse("'" + split + "' is not a valid split name (letters, digits, '.', '_' and '-')");
  return {split, *folder};
}

}  // namespace

std::vector<SplitFolder> parse_split_folders(const std::string& text) {
  std::vector<SplitFolder> folders;
  if (text == "none") return folders;
  for (const std::string_view part : split_text(text, ',')) {
    const SplitFolder one = parse_one(std::string(part));
    for (const SplitFolder& other : folders) {
      if (other.split == one.split)
        refuse("two folders are given for the split '" + one.split + "'");
      if (naming::lies_in(one.folder, other.folder) || naming::lies_in(other.folder, one.folder))
        refuse("'" + one.folder + "' and '" + other.folder + "' hold the same images");
    }
    folders.push_back(one);
  }
  std::ranges::sort(folders, {}, &SplitFolder::split);
  return folders;
}

void refuse_folder_options(const ListOptions& options, const std::filesystem::path& source) {
  if (!options.fields.places.empty()) {
    throw Error(ErrorKind::kUsage,
                "`field_from=` needs a folder or an archive of images, and the source is neither",
                source, "leave it out; `fields=` selects the fields that the source has");
  }
  if (!options.split_folders && !options.allow_odd_classes && options.classes_at == 0) return;
  throw Error(ErrorKind::kUsage,
              std::string(options.split_folders    ? "`split_folders=`"
                          : options.classes_at > 0 ? "`classes_at=`"
                                                   : "`allow_odd_classes=true`") +
                  " needs class folders, and the source has none",
              source, "leave it out");
}

std::filesystem::path only_labels_file(const LabelOptions& labels,
                                       const std::filesystem::path& source) {
  if (labels.unlabelled) {
    throw Error(ErrorKind::kUsage,
                "`unlabelled=true` needs folders of images, and this source has none", source,
                "leave it out");
  }
  const auto file = labels.files.find("");
  const bool plain =
      labels.path_column.empty() && labels.label_column.empty() && labels.ids.empty();
  if (file != labels.files.end() && plain) return file->second;
  throw Error(ErrorKind::kUsage,
              plain ? "the samples of shards cannot be labelled by split or by pattern"
                    : "the labels file of shards has two columns: key and label",
              source, "give `labels=FILE` with lines `key label`");
}

}  // namespace packhorse
