#include "formats/wds/layout.h"
#include "listing/names.h"

namespace packhorse::wds {

std::optional<MemberName> cut_member_name(std::string_view name) {
  // The expression is greedy: the longest directory part first, then shorter ones, then none. Its
  // "." matches no line break, so a directory part has none in it.
  std::size_t directory = name.rfind('/');
  while (true) {
    const std::size_t begin = directory == std::string_view::npos ? 0 : directory + 1;
    const std::size_t dot = name.find('.', begin);
    if (dot != std::string_view::npos && dot > begin &&
        name.find('/', dot) == std::string_view::npos &&
        name.substr(0, begin).find('\n') == std::string_view::npos) {
      return MemberName{std::string(name.substr(0, dot)), lower_case(name.substr(dot + 1))};
    }
    if (begin == 0) return std::nullopt;
    directory = directory == 0 ? std::string_view::npos : name.rfind('/', directory - 1);
  }
}

bool is_meta_name(std::string_view name) {
  const std::string_view first = name.substr(0, name.find('/'));
  return first.size() >= 4 && first.starts_with("__") && first.ends_with("__");
}

}  // namespace packhorse::wds
