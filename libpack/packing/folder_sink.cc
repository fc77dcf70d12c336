#include <limits>

#include "packing/shard_sink.h"

namespace packhorse {

namespace fs = std::filesystem;

namespace {

/// All shards stay in the staging directory until it is published, so nothing is done before that.
class FolderSink final : public ShardSink {
 public:
  FolderSink(fs::path source, fs::path out, bool overwrite)
      : source_(std::move(source)), out_(std::move(out)), overwrite_(overwrite) {}

  void refuse_existing() const override { check_target(source_, out_, overwrite_); }
  void refuse_finished(const Splits&) const override {}  // refuse_existing() has seen to it
  bool is_taken() const override { return !overwrite_ && fs::exists(fs::symlink_status(out_)); }
  void join(const std::string&) override {}  // the staging directory names the job

  bool holds(const std::string&, const ShardRecord&) const override { return false; }
  bool bring(const Staging&, const std::string&, std::size_t, const fs::path&) const override {
    return false;
  }
  void bring_all(const Staging&, const Splits&) const override {}

  std::size_t most_waiting() const override { return std::numeric_limits<std::size_t>::max(); }
  void add(const Staging&, const Finished&) override {}
  std::size_t held_back() const override { return 0; }
  void settle(const Staging&, const Finished&) override {}
  void finish() override {}

  void publish(Staging& staging, const std::vector<PackedSplit>&, const Splits&) override {
    staging.publish(overwrite_);
  }
  bool clear_if_finished(const Splits&) override { return false; }

 private:
  const fs::path source_, out_;
  const bool overwrite_;
};

}  // namespace

std::unique_ptr<ShardSink> folder_sink(const fs::path& source, const fs::path& out,
                                       bool overwrite) {
  return std::make_unique<FolderSink>(source, out, overwrite);
}

}  // namespace packhorse
