// Labels that do not come from folders: a table with its columns chosen, a file of ids, a pattern.
// The input's last byte says which.
#include "labels/given_labels.h"
#include "labels/label_file.h"
#include "labels/label_pattern.h"
#include "support/fuzz.h"

namespace {

using namespace packhorse;

Listing made_listing() {
  Listing listing;
  for (const char* split : {"train", "val"}) {
    SplitListing& made = listing.splits.emplace_back();
    made.split = made.origin = split;
    for (const char* name : {"cat_1.jpg", "dog_2.jpg", "dog_3.png"})
      made.entries.add("a", name, {.size = 1});
    made.entries.sort_by_path();
  }
  return listing;
}

void look_at(const LabelOptions& options, std::vector<std::string> classes) {
  Listing listing = made_listing();
  const std::uint64_t seen = listing.seen();
  give_labels({.options = options, .classes = std::move(classes)}, listing);
  fuzz::promise(listing.seen() == seen, "an image has a label or is rejected");
  for (const SplitListing& split : listing.splits) {
    for (const Reject& reject : split.rejects)
      fuzz::promise(!reject.reason.empty(), "a reject has a reason");
    for (std::size_t i = 0; i < split.entries.size(); ++i) {
      const auto label = static_cast<std::size_t>(split.entries.label_of(i));
      fuzz::promise(label < listing.classes.size(), "a label is one of the classes");
    }
  }
}

/// A labels file, with none, some or all of its columns chosen, and labels that may be ids.
void table(const std::filesystem::path& path, Bytes input, fuzz::Choices& choices) {
  static fuzz::MemoryFile ids;
  static constexpr const char* kPaths[] = {"", "file_name", "id", "1", "2"};
  static constexpr const char* kLabels[] = {"", "label", "breed", "2", "3"};
  LabelOptions options;
  options.files[choices.next() % 2 == 0 ? "" : "val"] = path;
  options.path_column = kPaths[choices.next() % std::size(kPaths)];
  options.label_column = kLabels[choices.next() % std::size(kLabels)];
  if (choices.next() % 2 != 0) {
    ids.hold(as_bytes("1 cat\n2 dog\nn01,owl\n"));
    options.ids = ids.path();
  }
  std::vector<std::string> classes;
  if (fuzz::has_long_number(input)) classes = {"cat", "dog"};
  look_at(options, std::move(classes));
}

void ids(const std::filesystem::path& path) {
  for (const auto& [id, name] : read_label_ids(path))
    fuzz::promise(!id.empty() && !name.empty(), "an id stands for a name");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile text, csv("labels.csv"), jsonl("labels.jsonl");
  return fuzz::attempt(data, size, [](Bytes input) {
    fuzz::Choices choices(input);
    const unsigned what = choices.next() % 5;
    if (what == 0) {
      LabelOptions options;
      options.pattern = as_text(input);
      return options.pattern.empty() ? void() : look_at(options, {});
    }
    fuzz::MemoryFile& file = what == 1 ? csv : what == 2 ? jsonl : text;
    if (what == 4) {
      file.hold(input);
      return ids(file.path());
    }
    Bytes head = input.first(input.size() - std::min<std::size_t>(input.size(), 4));
    file.hold(head);
    table(file.path(), head, choices);
  });
}
