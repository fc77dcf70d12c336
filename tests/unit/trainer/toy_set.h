#pragma once

#include <filesystem>
#include <string>

namespace packhorse::test {

/// Makes a class folder of 16 x 16 PPM pictures that are easy to tell apart: class c is bright in
/// channel c, with noise. At most three classes.
void make_toy_set(const std::filesystem::path& root, int classes, int images_per_class);

}  // namespace packhorse::test
