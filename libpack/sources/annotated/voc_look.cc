#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "annotations/sample_targets.h"
#include "annotations/voc_file.h"
#include "base/option.h"
#include "base/parallel.h"
#include "base/printable.h"
#include "base/resources.h"
#include "base/stop.h"
#include "listing/names.h"
#include "packhorse/base/error.h"
#include "sources/annotated/annotated_readings.h"

namespace packhorse {

namespace {

constexpr std::size_t kAtOnce = 256;  // files that a thread takes

/// What some of the files say.
struct Seen {
  std::set<std::string> classes;
  std::string from_zero;  ///< the first image, by its path, with a corner of 0
  std::string damaged;    ///< the first image whose file cannot be read, and why

  void add(const VocFile& file, const std::string& image) {
    for (const VocFile::Object& object : file.objects) classes.insert(object.name);
    if (file.from_zero && (from_zero.empty() || image < from_zero)) from_zero = image;
  }
  void add(Seen&& other) {
    classes.merge(other.classes);
    if (from_zero.empty() || (!other.from_zero.empty() && other.from_zero < from_zero))
      from_zero = std::move(other.from_zero);
    if (damaged.empty() || (!other.damaged.empty() && other.damaged < damaged))
      damaged = std::move(other.damaged);
  }
};

Seen look(const Source& source, const SplitListing& split, std::size_t field, std::size_t begin,
          std::size_t end) {
  Seen seen;
  std::vector<std::byte> bytes;
  for (std::size_t i = begin; i < end; ++i) {
    if ((split.entries.facts(i).fields >> field & 1) == 0) continue;
    const std::string image = naming::join(split.prefix(), split.entries.path_of(i));
    try {
      source.read_field(split, i, field, bytes);
      seen.add(parse_voc(as_text(bytes)), image);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kInterrupted) throw;
      if (seen.damaged.empty()) seen.damaged = printable(image) + ": " + error.what();
      if (error.kind() != ErrorKind::kUnsupported) continue;
      throw Error(
          ErrorKind::kUsage,
          "the XML file of the image " + printable(image) + " cannot be read: " + error.what(),
          error.path(), error.advice());
    }
  }
  return seen;
}

void name_classes(const Seen& seen, Listing& listing, TargetOptions& targets) {
  const std::set<std::string>& names = seen.classes;
  if (names.empty())
    throw Error(ErrorKind::kUsage,
                "no annotation names a class" +
                    (seen.damaged.empty() ? "" : "; the first cannot be read: " + seen.damaged),
                {}, "give `targets=voc` `target_classes=FILE`, a name a line");
  targets.classes.assign(names.begin(), names.end());
  listing.notes.push_back(class_note(opt("targets", "voc"), targets.classes));
}

}  // namespace

void look_at_voc(const Source& source, Listing& listing, TargetOptions& targets) {
  const auto place = std::ranges::find(listing.fields, targets.field());
  if (place == listing.fields.end()) return;  // which is refused later
  const auto field = static_cast<std::size_t>(place - listing.fields.begin());
  Seen all;
  std::mutex mutex;
  for (const SplitListing& split : listing.splits) {
    run_batches(available_cpus(), split.entries.size(), kAtOnce,
                [&](std::size_t begin, std::size_t end) {
                  Seen seen = look(source, split, field, begin, end);
                  const std::scoped_lock lock(mutex);
                  all.add(std::move(seen));
                });
  }
  if (targets.classes.empty()) name_classes(all, listing, targets);
  targets.voc_from_zero = !all.from_zero.empty();
  if (targets.voc_from_zero)
    listing.notes.push_back(
        "the corners of all boxes count from 0, as edges, since one is 0 in the annotations of " +
        all.from_zero + ": a box is from xmin, ymin to xmax, ymax");
}

}  // namespace packhorse
