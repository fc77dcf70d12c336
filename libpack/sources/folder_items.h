#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace packhorse {

/// What a directory holds, sorted by name, in 48 bytes an item plus its name. Links are followed.
class FolderItems {
 public:
  enum class Type : std::uint8_t {
    kDirectory,
    kFile,
    kOther,
    kBroken,     ///< nothing can be learnt about it
    kPassedOver  ///< hidden or junk by its name (naming::passed_over); not looked at
  };
  struct Item {
    std::uint64_t size = 0, inode = 0;
    std::int64_t stamp = 0;
    std::uint64_t name = 0;  ///< where it starts in names_
    std::uint32_t length = 0;
    std::int32_t error = 0;  ///< errno of a broken one
    Type type = Type::kOther;
  };

  /// Reads the directory open as `fd`, looking at the files of a large one from up to `threads`
  /// threads. What was read before an error is kept.
  FolderItems(int fd, int threads);

  int error() const { return error_; }  ///< errno, 0 = read whole
  std::size_t size() const { return items_.size(); }
  const Item& operator[](std::size_t i) const { return items_[i]; }
  std::string_view name(std::size_t i) const {
    return std::string_view(names_).substr(items_[i].name, items_[i].length);
  }
  const char* c_name(std::size_t i) const { return names_.c_str() + items_[i].name; }
  std::optional<std::size_t> find(std::string_view name) const;
  std::vector<std::string> folders() const;

 private:
  void read_names(int fd);
  void look_at(int fd, Item& item) const;

  std::string names_;  ///< each with a zero behind it
  std::vector<Item> items_;
  int error_ = 0;
};

}  // namespace packhorse
