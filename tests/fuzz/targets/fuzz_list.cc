// A list file: CSV, TSV or JSON Lines, by the input's last byte.
#include "labels/label_names.h"
#include "listing/listed_path.h"
#include "sources/list/list_file.h"
#include "support/fuzz.h"

namespace {

using namespace packhorse;

void look_at(const std::filesystem::path& path, std::vector<std::string> classes) {
  const ListFile list(path, {});
  LabelNames names(std::move(classes));
  ListedPaths paths("/data/lists");
  std::vector<ListRow> rows;
  ListRow row;
  for (ListFile::Reader reader = list.rows(); reader.next(row); rows.push_back(row)) {
    names.add(row.label);
    if (row.problem.empty()) paths.add(paths.place(row.path));
  }
  names.finish();
  paths.finish();
  for (const ListRow& known : rows) {
    const ListRow again = list.row_at(known.offset);
    fuzz::promise(again.path == known.path && again.label == known.label,
                  "a row is the same when it is read again");
    Problem problem;
    const bool labelled = names.label(known.label, problem).has_value();
    fuzz::promise(labelled || !problem.empty(), "a label is one, or there is a reason");
    if (!known.problem.empty()) continue;
    const std::string inside = "/" + paths.stored(paths.place(known.path)) + "/";
    fuzz::promise(inside.find("/../") == std::string::npos, "a stored path leads nowhere else");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile files[] = {fuzz::MemoryFile("list.csv"), fuzz::MemoryFile("list.tsv"),
                                     fuzz::MemoryFile("list.jsonl")};
  return fuzz::attempt(data, size, [](Bytes input) {
    fuzz::MemoryFile& file = files[fuzz::Choices(input).next() % std::size(files)];
    file.hold(input);
    std::vector<std::string> classes;
    if (fuzz::has_long_number(input)) classes = {"cat", "dog"};
    look_at(file.path(), std::move(classes));
  });
}
