#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace packhorse {

/// Where labels come from instead of the source's folders: from files, or from the images' paths.
struct LabelOptions {
  /// Labels files by split; "" = one file for the whole source. The other splits keep the labels
  /// that their folders give.
  std::map<std::string, std::filesystem::path> files = {};
  /// The columns of the labels files, by their names in the header, or by their numbers, counted
  /// from 1, where there is none. Empty: found by the usual names.
  std::string path_column = {}, label_column = {};
  /// The column of the labels files that has each image's split. Empty: the one called "split", if
  /// there is one. "none": no column.
  std::string split_column = {};
  /// A file of lines `ID NAME`: the classes of the labels in the labels files. Empty: labels are
  /// class names, or places among the classes.
  std::filesystem::path ids = {};
  /// A regular expression (PCRE2). What its group "class", or else its first group, matches in an
  /// image's name is the image's class. With a slash in it, it is matched against the path in the
  /// source.
  std::string pattern = {};
  /// The images have no classes: all get the one class kUnlabelled, or the one in
  /// ListOptions::classes.
  bool unlabelled = false;
  static constexpr const char* kUnlabelled = "unlabelled";

  bool empty() const { return files.empty() && pattern.empty() && !unlabelled; }
  bool for_all() const { return !pattern.empty() || unlabelled || files.contains(""); }
  bool covers(const std::string& split) const { return for_all() || files.contains(split); }
  /// Throws Error(kUsage) for options that contradict each other or change nothing.
  void validate() const;
};

/// Parses each value of --labels: "FILE", "val=FILE" or "train=FILE,val=FILE". A value that is the
/// name of an existing file means that file. Throws Error(kUsage).
std::map<std::string, std::filesystem::path> parse_labels(const std::vector<std::string>& values);

}  // namespace packhorse
