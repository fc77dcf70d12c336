#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "sources/source.h"

/// The vocabulary of the sources' tests.
namespace packhorse {

using Names = std::vector<std::string>;

/// "path=label" of every entry.
inline Names entries(const SplitListing& split) {
  Names all;
  for (std::size_t i = 0; i < split.entries.size(); ++i)
    all.push_back(split.entries.path_of(i) + "=" + std::to_string(split.entries.label_of(i)));
  return all;
}

/// "path: reason"
inline Names rejects(const SplitListing& split) {
  Names all;
  for (const Reject& reject : split.rejects) all.push_back(reject.path + ": " + reject.reason);
  return all;
}

inline Names sorted(Names names) {
  std::sort(names.begin(), names.end());
  return names;
}

inline ListOptions with_classes(Names classes) {
  ListOptions options;
  options.classes = std::move(classes);
  return options;
}

inline ListOptions with_fields(Names fields) {
  ListOptions options;
  options.fields.names = std::move(fields);
  return options;
}

}  // namespace packhorse
