#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace packhorse {

/// Why an input is rejected.
enum class Reason : std::uint8_t {
  kNone,  ///< it is not
  kEmptyFile,
  kNotAnImage,
  kDamaged,
  kUnsupported,
  kSeveralPictures,
  kNoColours,
  kFileTooLarge,
  kTooManyPixels,
  kTooManyScanPixels,
  kTooManyDecodedBytes,
  kNotThere,
  kUnreadable,
  kNotRegular,
  kBadPath,
  kTooDeep,
  kBadPlace,
  kRepeated,
  kNoImage,
  kBadRow,
  kNoClassFolder,
  kNoLabel,
  kBadLabel,
  kNoField,
  kFieldsTooLarge,
  kNoAnnotation,
  kBadAnnotation,
};

struct ReasonRow {
  Reason reason;
  std::string_view code;     ///< what programs go by: it stays the same
  std::string_view finding;  ///< the code of `packhorse check`, which explains it
  std::string_view text;     ///< the words, where nothing more is known
};

/// All reasons, in the order of the enum; docs/reference/codes.md lists them, too.
inline constexpr std::array kReasons = {
    ReasonRow{Reason::kNone, "", "", ""},
    ReasonRow{Reason::kEmptyFile, "empty-file", "PH101", "empty file"},
    ReasonRow{Reason::kNotAnImage, "not-an-image", "PH102",
              "not an image: its first bytes are those of no supported kind"},
    ReasonRow{Reason::kDamaged, "damaged", "PH103", "damaged"},
    ReasonRow{Reason::kUnsupported, "unsupported", "PH104", "unsupported"},
    ReasonRow{Reason::kSeveralPictures, "several-pictures", "PH105",
              "unsupported: several pictures"},
    ReasonRow{Reason::kNoColours, "no-colours", "PH106", "unsupported: pixels that are no colours"},
    ReasonRow{Reason::kFileTooLarge, "file-too-large", "PH107",
              "larger than 2 GiB, which no image is that can be read"},
    ReasonRow{Reason::kTooManyPixels, "too-many-pixels", "PH107", "too large"},
    ReasonRow{Reason::kTooManyScanPixels, "too-many-scan-pixels", "PH107", "too long to decode"},
    ReasonRow{Reason::kTooManyDecodedBytes, "too-many-decoded-bytes", "PH107",
              "too large to decode"},
    ReasonRow{Reason::kNotThere, "not-there", "PH108", "the file is not there"},
    ReasonRow{Reason::kUnreadable, "unreadable", "PH108", "unreadable"},
    ReasonRow{Reason::kNotRegular, "not-a-regular-file", "PH108", "not a regular file"},
    ReasonRow{Reason::kBadPath, "bad-path", "PH109", "its name is no path"},
    ReasonRow{Reason::kTooDeep, "too-deep", "PH109", "it lies in more than 200 folders"},
    ReasonRow{Reason::kBadPlace, "bad-place", "PH109", "it lies outside the file"},
    ReasonRow{Reason::kRepeated, "repeated", "PH110", "its key was there before"},
    ReasonRow{Reason::kNoImage, "no-image", "PH111", "no image among its members"},
    ReasonRow{Reason::kBadRow, "bad-row", "PH111", "its row says no sample"},
    ReasonRow{Reason::kNoClassFolder, "no-class-folder", "PH401", "not in a class folder"},
    ReasonRow{Reason::kNoLabel, "no-label", "PH401", "it has no label"},
    ReasonRow{Reason::kBadLabel, "bad-label", "PH402", "its label is no line of text"},
    ReasonRow{Reason::kNoField, "no-field", "PH410", "it has no field "},
    ReasonRow{Reason::kFieldsTooLarge, "fields-too-large", "PH410",
              "its extra fields have more than 4 GiB together"},
    ReasonRow{Reason::kNoAnnotation, "no-annotation", "PH602", "no annotations"},
    ReasonRow{Reason::kBadAnnotation, "bad-annotation", "PH601", "its annotations cannot be right"},
};

constexpr const ReasonRow& row_of(Reason reason) {
  return kReasons[static_cast<std::size_t>(reason)];
}

constexpr std::string_view code_of(Reason reason) { return row_of(reason).code; }

/// Nothing if `code` is unknown.
constexpr std::optional<Reason> parse_reason(std::string_view code) {
  for (const ReasonRow& row : kReasons)
    if (row.code == code) return row.reason;
  return std::nullopt;
}

static_assert([] {
  for (std::size_t i = 0; i < kReasons.size(); ++i)
    if (row_of(static_cast<Reason>(i)).reason != static_cast<Reason>(i)) return false;
  return kReasons.back().reason == Reason::kBadAnnotation;
}());

/// Why one input is rejected: a reason, and the words for people.
struct Problem {
  Problem() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a reason is a problem in its own words
  Problem(Reason why) : code(why), text(row_of(why).text) {}
  Problem(Reason why, std::string words) : code(why), text(std::move(words)) {}

  bool empty() const { return code == Reason::kNone; }
  void clear() { *this = {}; }

  Reason code = Reason::kNone;
  std::string text;
};

}  // namespace packhorse
