#pragma once

#include <nvjpeg.h>

/// Loads nvJPEG when it is needed: programs run without it.
namespace packhorse::trainer {

struct NvJpegLibrary {
  decltype(&nvjpegCreateEx) create_ex = nullptr;
  decltype(&nvjpegDestroy) destroy = nullptr;
  decltype(&nvjpegJpegStateCreate) state_create = nullptr;
  decltype(&nvjpegJpegStateDestroy) state_destroy = nullptr;
  decltype(&nvjpegJpegStreamCreate) stream_create = nullptr;
  decltype(&nvjpegJpegStreamDestroy) stream_destroy = nullptr;
  decltype(&nvjpegJpegStreamParse) stream_parse = nullptr;
  decltype(&nvjpegDecodeBatchedSupported) batched_supported = nullptr;
  decltype(&nvjpegDecodeBatchedInitialize) batched_initialize = nullptr;
  decltype(&nvjpegDecodeBatched) batched = nullptr;

  /// Throws Error(kUnsupported) when the library cannot be loaded.
  static const NvJpegLibrary& get();
};

}  // namespace packhorse::trainer
