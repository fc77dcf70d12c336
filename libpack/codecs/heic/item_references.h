#pragma once

#include "codecs/image_header.h"

/// Private to libpack/codecs/heic.
namespace packhorse::codecs {

/// Whether the pictures of a file are made of others over at most four levels, such as a grid with
/// alpha and its tiles. libheif follows such references without an end: to decode a picture that is
/// made of itself, or is the alpha of its alpha, overflows the stack.
bool has_few_levels(Bytes file);

}  // namespace packhorse::codecs
