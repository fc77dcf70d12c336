#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace packhorse {

/// The ids of one of COCO's lists, and the place of each in it. Some files write an id as a number
/// in one list and as a text in another: such an id is found where just one has its characters.
class CocoIdTable {
 public:
  struct Found {
    std::uint32_t place = 0;
    bool other_type = false;  ///< it is a text here and a number there
  };
  /// `id` as id_of() gives it. False where it is there already.
  bool add(std::string id, std::uint32_t place);
  /// To be called when all are there: until then find() knows no other types.
  void index_characters();
  std::optional<Found> find(const std::string& id) const;

 private:
  std::unordered_map<std::string, std::uint32_t> places_, by_characters_;
};

}  // namespace packhorse
