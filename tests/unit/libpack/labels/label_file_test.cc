#include "labels/label_file.h"

#include "labels/text_file.h"
#include "support/support.h"

namespace packhorse {

namespace {

using test::kind_of_error;
using test::put;
using test::TemporaryDirectory;
using Names = std::vector<std::string>;

/// A labels file with this text.
LabelFile labels(const std::string& text, Names classes = {}) {
  const TemporaryDirectory folder;
  put(folder / "labels.txt", text);
  return {folder / "labels.txt", std::move(classes)};
}

/// The message of the Error that reading the text throws.
std::string refusal(const std::string& text, Names classes = {}) {
  try {
    labels(text, std::move(classes));
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kUsage);
    return error.what();
  }
  return {};
}

/// Label of an image, or -1.
std::int64_t label(const LabelFile& file, std::string_view path) {
  Problem problem;
  return file.take(path, problem).value_or(-1);
}

}  // namespace

TEST_CASE("label file: a tab, a comma or a space separates, with or without a header") {
  for (const char* text : {"a.jpg 1\nx/b.jpg 0\n", "path,label\r\na.jpg,1\r\nx/b.jpg,0\r\n",
                           "a.jpg\t1\nx/b.jpg\t0", "file Label\na.jpg   1  \nx/b.jpg 0\n"}) {
    const LabelFile file = labels(text);
    CHECK(file.classes() == Names{"0", "1"});
    CHECK(label(file, "a.jpg") == 1);
    CHECK(label(file, "x/b.jpg") == 0);
    CHECK(label(file, "c.jpg") == -1);
  }
}

TEST_CASE("label file: paths may have spaces, and with tabs or quotes commas and classes too") {
  CHECK(label(labels("my cat.jpg 1\nb.jpg 0\n"), "my cat.jpg") == 1);
  const LabelFile tabs = labels("a, b.jpg\tgolden retriever\nc.jpg\tcat\n");
  CHECK(tabs.classes() == Names{"cat", "golden retriever"});
  CHECK(label(tabs, "a, b.jpg") == 1);
  CHECK(label(labels("\"a, b.jpg\",dog\nc.jpg,cat\n"), "a, b.jpg") == 1);
}

TEST_CASE("label names: integers without a class list are the labels, up to the largest") {
  CHECK(labels("a 3\nb 1\n").classes() == Names{"0", "1", "2", "3"});
}

TEST_CASE("label names: integers and names side by side are refused, with a cell of each kind") {
  CHECK(
      refusal("a 3\nb x\n") ==
      "labels are all integers or all names, and there are the integer '3' in line 1 and the name "
      "'x' in line 2");
  for (const char* other : {"nan", "3.0", "03", "+3", "1e3"}) {
    const std::string text = std::string("a,0\nb,1\nc,") + other + "\n";
    CHECK_MESSAGE(refusal(text).find(other) != std::string::npos, other);
  }
  CHECK(refusal("a 3.0\nb 4.0\n") ==
        "labels are integers or names, and the number '3.0' in line 1 is neither");
  CHECK(labels("a,\" 3\"\nb, 1 \n").classes() == Names{"0", "1", "2", "3"});
  CHECK(labels("a 3\nb x\n", {"3", "x"}).classes() == Names{"3", "x"});
}

TEST_CASE("label names: digits of one length with leading zeros are names, in their order") {
  const LabelFile file = labels("a 00\nb 10\nc 02\n");
  CHECK(file.classes() == Names{"00", "02", "10"});
  CHECK(file.note().find("label 2 is '10'") != std::string::npos);
  CHECK(refusal("a 007\nb 1\n").find("'007'") != std::string::npos);
}

TEST_CASE("label names: integers that do not all occur are told") {
  CHECK(labels("a 90209\nb 3\n").note().find("90210 classes, of which 2 occur") !=
        std::string::npos);
  CHECK(labels("a 1\nb 2\n").note().find("3 classes, of which 2 occur") != std::string::npos);
  CHECK(labels("a 1\nb 0\n").note().find("occur") == std::string::npos);
}

TEST_CASE("label names: a cell without a value is no class unless the class list has it") {
  for (const char* none : {"NaN", "nan", "None", "NULL", "N/A", "<NA>"}) {
    const std::string text = std::string("a.jpg,cat\nb.jpg,") + none + "\n";
    CHECK(refusal(text) == "the label '" + std::string(none) +
                               "' in line 2 may be a class, or say that there is no label");
    CHECK(label(labels(text, {none, "cat"}), "b.jpg") == 0);
  }
  CHECK(labels("a.jpg,nano\nb.jpg,nonesuch\n").classes() == Names{"nano", "nonesuch"});
}

TEST_CASE("label names: a list of other labels is no class unless the class list has it") {
  for (const char* list : {"cat|dog", "cat;dog", "cat, dog", "dog|cow|cat"}) {
    const std::string text = std::string("a.jpg\t") + list + "\nb.jpg\tcat\n";
    CHECK(refusal(text) == "the label '" + std::string(list) +
                               "' in line 1 may be one class, or several: 'cat' in line 2 is a "
                               "label, too");
    CHECK(label(labels(text, {"cat", list}), "a.jpg") == 1);
  }
  CHECK(labels("a.jpg\tcrane, bird\nb.jpg\tcrane, machine\n").classes() ==
        Names{"crane, bird", "crane, machine"});
}

TEST_CASE("label names: a class name is UTF-8, without control characters") {
  CHECK(refusal("a,caf\xe9\nb,x\n") == "line 1: the class name 'caf\\xe9' is not UTF-8");
  CHECK(refusal("a,x\nb,\"x\ny\"\n").find("line 2: the class name 'x\\x0ay'") == 0);
}

TEST_CASE("class file: UTF-8 or UTF-16, and anything else is refused with its line") {
  const TemporaryDirectory directory;
  const auto read = [&](std::string_view text) {
    put(directory / "classes.txt", text);
    return read_class_file(directory / "classes.txt");
  };
  CHECK(read("\xef\xbb\xbf"
             "caf\xc3\xa9\r\ntea\r\n") == Names{"caf\xc3\xa9", "tea"});
  CHECK(read(std::string_view("\xff\xfe"
                              "c\0\xe9\0\n\0t\0\n\0",
                              12)) == Names{"c\xc3\xa9", "t"});
  CHECK_THROWS_WITH_AS(read("tea\ncaf\xe9\n"), "line 2: the class name 'caf\\xe9' is not UTF-8",
                       Error);
  CHECK(kind_of_error([&] { read("a\nb\tc\n"); }) == ErrorKind::kUsage);
}

TEST_CASE("class file: lines that are more than names are refused with their line") {
  const TemporaryDirectory directory;
  const auto read = [&](const std::string& text) {
    put(directory / "classes.txt", text);
    return read_class_file(directory / "classes.txt");
  };
  const auto said = [&](const std::string& text) {
    try {
      read(text);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kUsage);
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(said("0 cat\n1 dog\n") ==
        "line 1 of the class list, '0 cat', has a number in front of its name, as all others have");
  for (const char* text :
       {"1,cat\n2,dog\n", "1\tcat\n2\tdog\n", "0: cat\n1: dog\n", "1. cat\n2. dog\n", "0 cat\n",
        "1 person\n2 car\n13 stop sign\n", "id,name\n0,cat\n1,dog\n", "id,name\n3,cat\n7,dog\n"})
    CHECK_MESSAGE(said(text).find("in front of its name") != std::string::npos, text);
  for (const char* text : {"cat 0\ndog 1\n", "cat,0\ndog,1\n", "class,index\ncat,0\ndog,1\n"})
    CHECK_MESSAGE(said(text).find("behind its name") != std::string::npos, text);
  for (const char* text : {"name\ncat\n", "Class\ncat\n", "class_name\ncat\n"})
    CHECK_MESSAGE(said(text).find("looks like a header") != std::string::npos, text);
  for (const char* text : {"# classes\ncat\n", "cat\n#dogs\ndog\n", "# x\n"})
    CHECK_MESSAGE(said(text).find("is a comment") != std::string::npos, text);
  for (const char* text : {"\"cat\"\n\"dog\"\n", "'cat'\n'dog'\n", "cat\n\"tench, Tinca\"\n"})
    CHECK_MESSAGE(said(text).find("is in quotes") != std::string::npos, text);
  for (const char* text :
       {"names:\n- cat\n", "- cat\n- dog\n", "[\"cat\",\n\"dog\"]\n", "[\ncat\n]\n",
        "['cat', 'dog']\n", "[cat, dog]\n", "{\"0\": \"cat\"}\n", "cat,\ndog,\n",
        "nc: 2\nnames: [cat, dog]\n", "names:\n  0: cat\n  1: dog\n"})
    CHECK_MESSAGE(said(text).find("another notation") != std::string::npos, text);
  for (const Names& names :
       {Names{"tench, Tinca tinca", "goldfish, Carassius auratus"}, Names{"0", "1", "2"},
        Names{"1 euro", "2 euro"}, Names{"class 0", "class 1"}, Names{"3d", "4d"},
        Names{"1967 Ford", "1970 Dodge"}, Names{"1,2-dichloroethane", "2,3-dichloropropane"},
        Names{"Boeing 737", "Airbus 320"}, Names{"#love", "#peace"}, Names{"[UNK]", "<unk>", "O"},
        Names{"00", "01"}, Names{"AM General Hummer SUV 2000", "Acura RL Sedan 2012"},
        Names{"cat", "name"}}) {
    std::string text;
    for (const std::string& name : names) text += name + "\n";
    CHECK_MESSAGE(read(text) == names, text);
  }
  CHECK(read("cat \n\tdog\r\n") == Names{"cat", "dog"});
  CHECK(said("cat\ncat \n").find("a second time in line 2") != std::string::npos);
}

TEST_CASE("label names: names that differ in letter case or Unicode form alone are refused") {
  CHECK(refusal("a cat\nb Cat\n") ==
        "the classes 'Cat' in line 2 and 'cat' in line 1 differ only in letter case, in blanks or "
        "in their Unicode form");
  CHECK(refusal("a caf\xc3\xa9\nb cafe\xcc\x81\n").find("differ only") != std::string::npos);
  CHECK(labels("a cat\nb Cat\n", {"cat", "Cat"}).classes() == Names{"cat", "Cat"});
}

TEST_CASE("label file: semicolons separate, and quotes hold anything, also behind blanks") {
  const LabelFile file = labels("Filename;Width;Class\n1.png;4,5; \"a;b\"\n2.png;4,6;c\n");
  CHECK(file.classes() == Names{"a;b", "c"});
  CHECK(file.note() ==
        "labels file 'labels.txt': semicolons, a header, 3 columns: the path is 'Filename', the "
        "label is 'Class'; not used: 'Width'");
  CHECK(labels("1.png, \"cat\"\n2.png, \"dog\"\n").classes() == Names{"cat", "dog"});
  CHECK(labels("1.png \"gold fish\"\n\"2 3.png\" dog\n").classes() == Names{"dog", "gold fish"});
  CHECK(label(labels("1.png \"gold fish\"\n\"2 3.png\" dog\n"), "2 3.png") == 0);
  CHECK(refusal("1.png \"gold fish\n2.png dog\n").empty() == false);
}

TEST_CASE(
    "label file: commas and semicolons in every line are told apart by the images or refused") {
  CHECK(labels("a.png,x;y\nb.png,x;z\n").classes() == Names{"x;y", "x;z"});
  CHECK(labels("a.png;1,5\nb.png;1,6\n", {"1,5", "1,6"}).classes() == Names{"1,5", "1,6"});
  CHECK(refusal("a,x;y\nb,x;z\n").find("commas or by semicolons") != std::string::npos);
}

TEST_CASE("label file: the number of a column is no name of one, and a header names no image") {
  const TemporaryDirectory folder;
  const auto read = [&](const std::string& text, const char* path, const char* label) {
    put(folder / "labels.csv", text);
    LabelFile file(folder / "labels.csv", LabelColumns{path, label});
    return file.labels();
  };
  CHECK(read("a.ppm,cat,2,5\nb.ppm,dog,3,1\n", "1", "2") == Names{"cat", "dog"});
  CHECK(read("1,2,3\na.ppm,cat,2\n", "1", "2") == Names{"2", "cat"});
  CHECK(read("file;x;class\na.ppm;4;cat\n", "1", "3") == Names{"cat"});
  CHECK(kind_of_error([&] { read("a.ppm,cat\nb.ppm,dog\n", "", "cat"); }) == ErrorKind::kUsage);
}

TEST_CASE(
    "label file: a line that fits an image in another case or Unicode form refuses the file") {
  const auto unused = [](LabelFile& file, std::initializer_list<const char*> paths) {
    std::vector<std::string> notes;
    for (const char* path : paths) file.mark(path);
    file.note_unused(notes, "image");
    Problem problem;
    for (const char* path : paths) file.take(path, problem);
  };
  LabelFile upper = labels("a.jpg x\nB.JPG y\n");
  CHECK(kind_of_error([&] { unused(upper, {"a.jpg", "b.jpg"}); }) == ErrorKind::kUsage);
  LabelFile form = labels("a/caf\xc3\xa9.jpg x\n");
  CHECK(kind_of_error([&] { unused(form, {"a/cafe\xcc\x81.jpg"}); }) == ErrorKind::kUsage);
  LabelFile fine = labels("a.jpg x\nc.jpg y\n");
  unused(fine, {"a.jpg", "b.jpg"});
}

TEST_CASE("label file: columns given by their numbers say that the first line is no header") {
  const TemporaryDirectory folder;
  for (const char* text : {"z9,fox\na,cat\nb,dog\n", "# x, y\na,cat\nb,dog\n"}) {
    put(folder / "labels.csv", text);
    for (const bool numbers : {false, true}) {
      LabelFile file(folder / "labels.csv", numbers ? LabelColumns{"1", "2"} : LabelColumns{});
      LabelNames names({});
      file.add_to(names);
      names.finish();
      file.resolve(names);
      for (const char* path : {"a.jpg", "b.jpg"}) file.mark(path, std::string(1, path[0]));
      std::vector<std::string> notes;
      const auto unused = [&] { file.note_unused(notes, "image"); };
      if (numbers)
        unused();
      else
        CHECK(kind_of_error(unused) == ErrorKind::kUsage);
      CHECK(notes.size() == (numbers ? 1 : 0));
    }
  }
}

TEST_CASE("label ids: a name is the rest of its line, with as many commas as it has") {
  const TemporaryDirectory folder;
  const auto read = [&](const char* text) {
    put(folder / "ids.txt", text);
    return read_label_ids(folder / "ids.txt");
  };
  for (const char* text : {"n1 tench, Tinca tinca\nn2 goldfish, Carassius auratus\n",
                           "n1 tench, Tinca tinca\nn2 shark, white, man-eater\n",
                           "n1 tench, x; y\nn2 owl, z; w\n", "n1 tench, \"x\nn2 owl\n"}) {
    const LabelIds ids = read(text);
    CHECK_MESSAGE(ids.size() == 2, text);
    CHECK(ids.at("n1").starts_with("tench, "));
  }
  CHECK(read("1, great owl\n2,\"crane, bird\"\n").at("2") == "crane, bird");
  CHECK(read("n1\ttench, Tinca tinca\nn2\towl, bird\n").at("n1") == "tench, Tinca tinca");
  CHECK(kind_of_error([&] { read(" ;));"); }) == ErrorKind::kUsage);  // no id
}

TEST_CASE("label names: with a class list a text is one of its names, or else a place in it") {
  const LabelFile file = labels("a dog\nb 1\nc 0\n", {"cat", "dog"});
  CHECK(file.classes() == Names{"cat", "dog"});
  CHECK(label(file, "a") == 1);
  CHECK(label(file, "b") == 1);
  CHECK(label(file, "c") == 0);
}

TEST_CASE("label names: integers are all names in the class list, or all places in it") {
  const Names classes = {"1", "2", "3", "A", "B"};
  CHECK(refusal("v0 0\nv1 1\nv3 3\n", classes) ==
        "line 1 of the labels file names no class: the class list has no '0', and has a number for "
        "a name, '1' in line 2 of 'labels.txt', so that no integer is a place in it");
  CHECK(refusal("v0 4\n", classes).find("for a name, '1', so that") != std::string::npos);
  CHECK(refusal("v0 1\n", {"01", "02"}).find("no integer is a place") != std::string::npos);
  const LabelFile names = labels("v1 1\nv3 B\n", classes);
  CHECK(label(names, "v1") == 0);
  CHECK(label(names, "v3") == 4);
}

TEST_CASE("label file: a line that gives no label is refused with its number") {
  CHECK(refusal("a 1\nb\n") == "line 2 of the labels file has no label");
  CHECK(refusal("a,1\nb,1,2\n") == "line 2 of the labels file has 3 columns instead of 2");
  CHECK(refusal("a,1\nb,\n") == "line 2 of the labels file has no label");
  CHECK(refusal("a,1\n,2\n") == "line 2 of the labels file has no path");
  CHECK(refusal("a 1\nb -1\n") ==
        "line 2 of the labels file names no class: the label -1 is negative");
  CHECK(refusal("a 1\nb 5\n", {"x", "y"}) ==
        "line 2 of the labels file names no class: the label 5 is beyond the class list, which has "
        "2");
  CHECK(refusal("a x\nb z\n", {"x", "y"}) ==
        "line 2 of the labels file names no class: the class 'z' is not in the class list");
  CHECK(refusal("a 1\nb 99999999\n").find("larger than 1000000") != std::string::npos);
  for (const char* name : {"../x", "/x", "x/../../y", "..", "."}) {
    CHECK(refusal(std::string("a\tcat\nb\t") + name + "\n") ==
          std::string("line 2 of the labels file names no class: the class '") + name +
              "' cannot be the name of a folder, which it becomes");
  }
  CHECK(labels("a\tAC/DC\n").classes() == Names{"AC/DC"});
  CHECK(refusal("") == "the labels file is empty");
  CHECK(refusal("path,label\n") == "the labels file is empty");
}

TEST_CASE("label file: a path with two labels is refused with both lines, the same twice is fine") {
  CHECK(refusal("a 1\nb 2\n\na 3\n") ==
        "lines 1 and 4 of the labels file give 'a' different labels");
  CHECK(label(labels("a 1\nb 2\na 1\n"), "a") == 1);
}

TEST_CASE("label file: a line without a folder names the one image of that file name") {
  LabelFile file = labels("1.jpg 5\n2.jpg 6\n3.jpg 7\nx/4.jpg 8\nnot-there.jpg 9\n");
  for (const char* path : {"a/1.jpg", "a/2.jpg", "b/2.jpg", "3.jpg", "a/3.jpg", "x/4.jpg"})
    file.mark(path);
  CHECK(label(file, "a/1.jpg") == 5);
  CHECK(label(file, "3.jpg") == 7);
  CHECK(label(file, "x/4.jpg") == 8);
  Problem problem;
  CHECK(!file.take("a/2.jpg", problem));
  CHECK(problem.text ==
        "line 2 of the labels file names it and others by the end of their paths alone");
  CHECK(!file.take("b/2.jpg", problem));
  CHECK(!file.take("a/3.jpg", problem));
  CHECK(problem.text == "not in the labels file");
  std::vector<std::string> notes;
  file.note_unused(notes, "image of the source");
  CHECK(notes ==
        std::vector<std::string>{"1 line of the labels file matched no image of the source"});
}

TEST_CASE("label file: of several names of an image the best one that is a line counts") {
  LabelFile file = labels("a 1\nb/c.jpg 2\nc 3\n");
  const Names whole = {"b/c.jpg", "b/c", "c.jpg", "c"}, other = {"x/c.jpg", "x/c", "c.jpg", "c"};
  const Names one = {"a.jpg", "a"}, two = {"a.png", "a"};
  for (const Names& names : {whole, other, one, two}) file.mark(names);
  Problem problem;
  CHECK(file.take(whole, problem) == 2);
  CHECK(file.take(other, problem) == 3);
  CHECK(!file.take(one, problem));
  CHECK(!file.take(two, problem));
  CHECK(problem.text ==
        "line 1 of the labels file names it and others by the end of their paths alone");
}

TEST_CASE("label file: a first line that nothing is named by may be an unknown header") {
  std::vector<std::string> notes;
  LabelFile file = labels("id_code,diagnosis\na,x\nb,x\n");
  for (const char* path : {"a", "b"}) file.mark(path);
  CHECK(kind_of_error([&] { file.note_unused(notes, "image"); }) == ErrorKind::kUsage);
  LabelFile rows = labels("c.jpg,1\na,0\nb,0\n");
  for (const char* path : {"a", "b"}) rows.mark(path);
  rows.note_unused(notes, "image");
  CHECK(notes == Names{"1 line of the labels file matched no image"});
}

}  // namespace packhorse
