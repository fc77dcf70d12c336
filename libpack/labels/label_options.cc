#include "packhorse/labels/label_options.h"

#include <algorithm>

#include "base/paths.h"
#include "base/printable.h"
#include "base/text.h"
#include "listing/names.h"
#include "packhorse/base/error.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::kUsage, "`labels=`: " + what, {},
              "give one file for the whole source, `labels=FILE`, or one for each split whose "
              "labels are in a file, `labels=val=FILE`");
}

}  // namespace

void LabelOptions::validate() const {
  const auto unused = [](const std::string& option) {
    throw Error(ErrorKind::kUsage, option + " needs `labels=`: it says how to read that file", {},
                "give `labels=FILE`, or leave it out");
  };
  if (!pattern.empty() && !files.empty()) {
    throw Error(ErrorKind::kUsage, "`label_pattern=` and `labels=` both give the labels", {},
                "give one of them");
  }
  if (unlabelled && !(pattern.empty() && files.empty())) {
    throw Error(ErrorKind::kUsage,
                std::string("`unlabelled=true` says that there are no labels, and ") +
                    (pattern.empty() ? "`labels=`" : "`label_pattern=`") + " gives them",
                {}, "give one of them");
  }
  if (files.empty() && !label_column.empty()) unused("`label_column=`");
  if (files.empty() && !path_column.empty()) unused("`path_column=`");
  if (files.empty() && !split_column.empty()) unused("`split_column=`");
  if (files.empty() && !ids.empty()) unused("`label_ids=`");
  if (files.contains("") && files.size() > 1)
    refuse("there is a file for the whole source, and another for a split");
}

std::map<std::string, fs::path> parse_labels(const std::vector<std::string>& values) {
  std::map<std::string, fs::path> files;
  const auto add = [&](const std::string& split, const std::string& file) {
    if (file.empty()) refuse("a file name is missing");
    if (files.emplace(split, file).second) return;
    refuse(split.empty() ? "there are two files for the whole source"
                         : "there are two files for the split '" + split + "'");
  };
  for (const std::string& value : values) {
    if (value.find('=') == std::string::npos || path_exists(value)) {
      add("", value);
      continue;
    }
    for (const std::string_view one : split_text(value, ',')) {
      const std::size_t equals = std::min(one.find('='), one.size());
      const std::string split(one.substr(0, equals));
      if (equals == one.size() || !naming::is_split_name(split))
        refuse("'" + printable(one) + "' is not SPLIT=FILE");
      add(split, std::string(one.substr(equals + 1)));
    }
  }
  return files;
}

}  // namespace packhorse
