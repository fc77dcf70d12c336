#pragma once

#include "packhorse/jpeg/decoder.h"

namespace packhorse::jpeg {

/// Takes the coefficients of a picture as they are decoded.
class CoefficientSink {
 public:
  virtual ~CoefficientSink() = default;
  /// The next row of MCUs, from the top, there until this returns: all its blocks as they stand in
  /// the scan, of 64 coefficients each, row by row of the block, quantised; those beyond the
  /// picture's edges, too. What it throws comes out of decode_coefficients().
  virtual void take_mcu_row(const std::int16_t* blocks) = 0;
};

/// Decodes the coefficients of what decode() takes, and refuses what that refuses: when the result
/// is done(), every bit of the scan up to EOI has been accounted for. Otherwise `sink` may have
/// been given rows nevertheless, which are to be thrown away. Any thread.
Result decode_coefficients(Bytes file, CoefficientSink& sink, Scratch& scratch);

}  // namespace packhorse::jpeg
