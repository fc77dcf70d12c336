// A labels file, and the same bytes as a list of classes.
#include "dataset/class_list.h"
#include "labels/label_file.h"
#include "labels/text_file.h"
#include "sources/source.h"
#include "support/fuzz.h"

using namespace packhorse;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile file;
  fuzz::attempt(data, size, [](Bytes input) {
    file.hold(input);
    // A class list, where one is given, decides the labels completely.
    std::vector<std::string> classes;
    if (fuzz::has_long_number(input)) classes = {"cat", "dog"};
    LabelFile labels(file.path(), classes);
    for (const std::string_view path : {"a.jpg", "b/a.jpg", "c/d.png"}) labels.mark(path);
    for (const std::string_view path : {"a.jpg", "b/a.jpg", "c/d.png"}) {
      Problem problem;
      const auto label = labels.take(path, problem);
      fuzz::promise(label
                        ? *label >= 0 && static_cast<std::size_t>(*label) < labels.classes().size()
                        : !problem.empty(),
                    "a label is one of the classes, or there is a reason");
    }
    std::vector<std::string> notes;
    labels.note_unused(notes, "image");
  });
  return fuzz::attempt(data, size, [](Bytes) {
    const std::vector<std::string> classes = read_class_file(file.path());
    fuzz::promise(!classes.empty(), "a class list names a class");
    fuzz::touch(class_list_text(classes));
  });
}
