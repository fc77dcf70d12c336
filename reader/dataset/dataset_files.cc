#include "base/file.h"
#include "packhorse/base/error.h"
#include "packhorse/reader/dataset.h"

namespace packhorse::reader {

namespace fs = std::filesystem;

namespace {

class Files final : public Dataset {
 public:
  explicit Files(std::vector<fs::path> files) : files_(std::move(files)) {
    for (const fs::path& file : files_) {
      if (!fs::exists(file))
        throw Error(ErrorKind::kNotFound, "the image does not exist", file, "check the path");
      if (!fs::is_regular_file(file))
        throw Error(ErrorKind::kUsage, "this is not a file", file, "give images");
      sizes_.push_back(fs::file_size(file));
    }
  }

  std::size_t size() const override { return files_.size(); }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::int64_t label(std::size_t) const override { return 0; }
  std::uint64_t bytes(std::size_t i) const override { return sizes_.at(i); }
  void read(std::size_t i, std::vector<std::byte>& out) const override {
    out = read_file(files_.at(i));
  }
  std::string describe(std::size_t i) const override { return files_.at(i).string(); }
  std::vector<fs::path> files() const override { return files_; }
  bool one_file_a_sample() const override { return true; }
  std::string format() const override { return "files"; }
  std::string image_mode() const override { return "original"; }

 private:
  std::vector<fs::path> files_;
  std::vector<std::uint64_t> sizes_;
  std::vector<std::string> classes_;
};

}  // namespace

std::shared_ptr<const Dataset> Dataset::of_files(std::vector<fs::path> files) {
  return std::make_shared<Files>(std::move(files));
}

}  // namespace packhorse::reader
