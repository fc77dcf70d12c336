#pragma once

#include "packhorse/reader/loader.h"
#include "packhorse/reader/order.h"

namespace packhorse::reader {

/// The order of an epoch, of which the first `done` samples are left out.
OrderOptions order_options(const LoaderOptions& options, std::uint64_t epoch, std::uint64_t done);

}  // namespace packhorse::reader
