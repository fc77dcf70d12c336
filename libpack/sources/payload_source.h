#pragma once

#include <optional>

#include "archive/payloads.h"
#include "sources/source.h"

namespace packhorse {

/// A source that reads from archives; list() fills `payloads_`.
class PayloadSource : public Source {
 public:
  void read(const SplitListing& split, std::size_t i, Input& out) const override {
    payloads_->read(split.entries.facts(i), out);
  }
  bool prefetch(const SplitListing& split, std::size_t i) const override {
    payloads_->prefetch(split.entries.facts(i));
    return true;
  }

 protected:
  std::optional<Payloads> payloads_;
};

}  // namespace packhorse
