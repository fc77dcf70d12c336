#pragma once

#include <libheif/heif.h>
#include <libheif/heif_plugin.h>

#include <string>

#include "codecs/shared_library.h"

/// Private to libpack/codecs/heic.
namespace packhorse::codecs {

/// The functions of libheif that are called here.
struct Heif {
  Heif();  ///< registers kHevcDecoder
  SharedLibrary library{PACKHORSE_LIBHEIF};
  PACKHORSE_SYMBOL(alloc, heif_context_alloc);
  PACKHORSE_SYMBOL(free, heif_context_free);
  PACKHORSE_SYMBOL(read, heif_context_read_from_memory_without_copy);
  PACKHORSE_SYMBOL(set_threads, heif_context_set_max_decoding_threads);
  PACKHORSE_SYMBOL(pictures, heif_context_get_number_of_top_level_images);
  PACKHORSE_SYMBOL(primary, heif_context_get_primary_image_handle);
  PACKHORSE_SYMBOL(release_handle, heif_image_handle_release);
  PACKHORSE_SYMBOL(width, heif_image_handle_get_width);
  PACKHORSE_SYMBOL(height, heif_image_handle_get_height);
  PACKHORSE_SYMBOL(coded_width, heif_image_handle_get_ispe_width);
  PACKHORSE_SYMBOL(coded_height, heif_image_handle_get_ispe_height);
  PACKHORSE_SYMBOL(has_alpha, heif_image_handle_has_alpha_channel);
  PACKHORSE_SYMBOL(is_premultiplied, heif_image_handle_is_premultiplied_alpha);
  PACKHORSE_SYMBOL(bits, heif_image_handle_get_luma_bits_per_pixel);
  PACKHORSE_SYMBOL(make_options, heif_decoding_options_alloc);
  PACKHORSE_SYMBOL(free_options, heif_decoding_options_free);
  PACKHORSE_SYMBOL(decode, heif_decode_image);
  PACKHORSE_SYMBOL(create, heif_image_create);
  PACKHORSE_SYMBOL(release, heif_image_release);
  PACKHORSE_SYMBOL(add_plane, heif_image_add_plane);
  PACKHORSE_SYMBOL(image_width, heif_image_get_width);
  PACKHORSE_SYMBOL(image_height, heif_image_get_height);
  PACKHORSE_SYMBOL(image_bits, heif_image_get_bits_per_pixel_range);
  PACKHORSE_SYMBOL(plane, heif_image_get_plane);
  PACKHORSE_SYMBOL(make_nclx, heif_nclx_color_profile_alloc);
  PACKHORSE_SYMBOL(free_nclx, heif_nclx_color_profile_free);
  PACKHORSE_SYMBOL(set_primaries, heif_nclx_color_profile_set_color_primaries);
  PACKHORSE_SYMBOL(set_transfer, heif_nclx_color_profile_set_transfer_characteristics);
  PACKHORSE_SYMBOL(set_matrix, heif_nclx_color_profile_set_matrix_coefficients);
  PACKHORSE_SYMBOL(set_nclx, heif_image_set_nclx_color_profile);
  PACKHORSE_SYMBOL(add_decoder, heif_register_decoder_plugin);
  std::string why_not;  ///< files cannot be decoded; empty when they can
};

const Heif& heif();

}  // namespace packhorse::codecs
