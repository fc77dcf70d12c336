#pragma once

#include <string>
#include <vector>

#include "packhorse/storage/object_store.h"

namespace packhorse {

/// A page of ListObjectsV2.
struct ListPage {
  std::vector<ListedObject> objects;  ///< by their whole keys
  std::vector<std::string> folders;   ///< what keys have in common up to a slash, with it
  std::string next;                   ///< the token of the next page; empty: this is the last
};

/// Parses the XML of a page. Objects whose keys end in a slash stand for folders and are left out.
/// Throws Error(kCorrupt) for what is no such page, for keys that do not begin with `prefix`, and
/// for a page that has a next one but says not where. `shown` is the place for messages.
ListPage parse_list_page(Bytes xml, const std::string& prefix, const std::string& shown);

}  // namespace packhorse
