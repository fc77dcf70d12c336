#pragma once

#include <string>
#include <vector>

#include "packhorse/reader/loader.h"

/// What `packhorse bench --augment` makes of the pictures.
namespace packhorse::bench {

/// The names; augments_text() also says what each of them is.
std::vector<std::string> augment_names();
std::string augments_text();

/// "640" or "480x640", height first, as typed; empty: the augmentation's usual size. Throws
/// Error(kUsage) for anything else, and for rectangles where the augmentation makes squares.
reader::ImageSize size_of(const std::string& augment, const std::string& text);

/// Sets what `augment`, one of the names, does to the samples.
void choose_augment(const std::string& augment, reader::ImageSize size,
                    reader::LoaderOptions& options);

}  // namespace packhorse::bench
