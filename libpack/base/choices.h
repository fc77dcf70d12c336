#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Suggestions for a name that is not one of the choices.
namespace packhorse {

/// The choice that `word` is most likely a typing error for: the one at the smallest edit distance
/// (insertions, deletions, substitutions, swaps of neighbours; letter case is ignored), at most a
/// third of the word's length, or else the only one that begins with the word. Empty when there is
/// none.
std::string nearest(std::string_view word, const std::vector<std::string>& choices);

/// The advice of an Error: "did you mean wds? choose one of: wds, lmdb", or without the question.
std::string choice_advice(std::string_view word, const std::vector<std::string>& choices);

}  // namespace packhorse
