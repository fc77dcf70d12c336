#pragma once

#include "packhorse/jpeg/decoder.h"

namespace packhorse::jpeg {

/// Takes the coefficients of a picture as they are decoded.
class CoefficientSink {
 public:
  virtual ~CoefficientSink() = default;
  /// Takes the next row of MCUs, from the top. `blocks` has all its blocks in scan order, including
  /// those beyond the picture's edges: 64 quantised coefficients each, row by row of the block. It
  /// is valid until this returns. What this throws comes out of decode_coefficients().
  virtual void take_mcu_row(const std::int16_t* blocks) = 0;
};

/// Decodes the coefficients of the files that decode() takes, and refuses the same ones. When the
/// result is done(), every bit of the scan up to EOI has been accounted for. Otherwise `sink` may
/// already have been given rows, which are to be thrown away. Any thread.
Result decode_coefficients(Bytes file, CoefficientSink& sink, Scratch& scratch);

}  // namespace packhorse::jpeg
