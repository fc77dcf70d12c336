#include "watch/advice.h"

#include <fmt/format.h>

#include "base/option.h"

namespace packhorse::trainer {
namespace {

/// A larger share of reading in the time for reading and decoding means that the storage is the
/// limit.
/// up.
constexpr double kReadBound = 0.5;
/// Workers that are idle for a larger share have enough time, yet training waits.
constexpr double kMostlyIdle = 0.5;
/// Stored images smaller than this decode no faster when stored in another way.
constexpr double kSmallImageBytes = 16e3;

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

/// The figures that the rules use.
struct Picture {
  double read_share = 0;   ///< of the time in reading and decoding
  double idle_share = 0;   ///< of the workers' time, waiting for a free slot
  double bytes_per_s = 0;  ///< read from storage
  double image_bytes = 0;  ///< mean
};

Picture look_at(const LoadFacts& facts) {
  const reader::LoaderCounters& c = facts.counters;
  const auto seconds = [](std::uint64_t ns) { return static_cast<double>(ns) * 1e-9; };
  const double read = seconds(c.read_ns), decode = seconds(c.decode_ns);
  const auto bytes = static_cast<double>(c.bytes);
  return {.read_share = share(read, read + decode),
          .idle_share = share(seconds(c.slot_wait_ns), read + decode + seconds(c.slot_wait_ns)),
          .bytes_per_s = share(bytes, facts.seconds),
          .image_bytes = share(bytes, static_cast<double>(c.samples))};
}

Advice when_reading_is_slow(const LoadFacts& facts, const Picture& picture) {
  const std::string seen =
      fmt::format("reading takes {:.0f} % of the reader threads' working time ({:.0f} MB/s)",
                  100 * picture.read_share, picture.bytes_per_s / 1e6);
  if (facts.one_file_a_sample) {
    return {Remedy::kPack, seen + ": pack the folder into shards (packhorse pack)"};
  }
  if (facts.image_mode == "raw") {
    return {
        Remedy::kFewerBytes,
        seen + fmt::format(", {:.0f} kB per image: pack with `image=resize` or roi instead of raw",
                           picture.image_bytes / 1e3)};
  }
  if (facts.from_afar) {
    return {
        Remedy::kStorage,
        seen +
            ", from a URL: what the cache has is read from the disk (`cache=`, `cache_size=`), and "
            "without it long pieces come fastest (`order=window`)"};
  }
  return {Remedy::kStorage,
          seen + ": put the shards on faster storage, or read longer pieces (`order=window`)"};
}

Advice when_decoding_is_slow(const LoadFacts& facts, const Picture& picture) {
  const std::string seen =
      fmt::format("decoding takes {:.0f} % of the reader threads' working time",
                  100 * (1 - picture.read_share));
  if (facts.workers < facts.cpus) {
    return {Remedy::kWorkers,
            fmt::format("{}, and there are only {} of them for {} CPUs: use `workers={}`", seen,
                        facts.workers, facts.cpus, facts.cpus)};
  }
  if (facts.gpu_decode_offered) {
    return {Remedy::kGpuDecode, seen + " on all CPUs: let the GPU decode (`gpu_decode=auto`)"};
  }
  const bool large = picture.image_bytes >= kSmallImageBytes;
  if (large && facts.image_mode == "original") {
    return {Remedy::kSmallerImages,
            fmt::format("{} on all CPUs, with {:.0f} kB per image: pack with `image=roi` (a crop "
                        "decodes alone), or with `image=resize` for smaller images",
                        seen, picture.image_bytes / 1e3)};
  }
  if (large && facts.image_mode == "roi") {
    return {Remedy::kSmallerImages,
            fmt::format(
                "{} on all CPUs, with {:.0f} kB per image: pack smaller images with `image=resize`",
                seen, picture.image_bytes / 1e3)};
  }
  return {Remedy::kCpus,
          seen + " on all CPUs: give this job more CPUs, or use a smaller `image_size=`"};
}

Advice pick(const LoadFacts& facts) {
  const Picture picture = look_at(facts);
  if (facts.workers == 0) {
    return {Remedy::kWorkers,
            "the training thread reads and decodes: give it reader threads (`workers=-1`)"};
  }
  if (picture.idle_share > kMostlyIdle) {
    return {Remedy::kLongerEpochs,
            fmt::format(
                "the reader threads are idle for {:.0f} % of the time, so the wait is for the "
                "first batches of each epoch: use a smaller `batch_size=`, or more data per epoch",
                100 * picture.idle_share)};
  }
  if (picture.read_share > kReadBound) return when_reading_is_slow(facts, picture);
  return when_decoding_is_slow(facts, picture);
}

}  // namespace

std::optional<Advice> advise(const LoadFacts& facts) {
  if (facts.data_wait_share <= kFineWaitShare || facts.counters.samples == 0) return std::nullopt;
  Advice advice = pick(facts);
  advice.sentence = spelled(fmt::format("training waits for data {:.0f} % of the time; {}",
                                        100 * facts.data_wait_share, advice.sentence));
  return advice;
}

reader::LoaderCounters counters_between(const reader::LoaderCounters& before,
                                        const reader::LoaderCounters& after) {
  reader::LoaderCounters between = after;
  between.samples -= before.samples;
  between.bytes -= before.bytes;
  between.read_ns -= before.read_ns;
  between.decode_ns -= before.decode_ns;
  between.slot_wait_ns -= before.slot_wait_ns;
  between.consumer_wait_ns -= before.consumer_wait_ns;
  between.batches -= before.batches;
  between.ready_batches_sum -= before.ready_batches_sum;
  between.bad_samples -= before.bad_samples;
  between.prefetched_bytes -= before.prefetched_bytes;
  return between;
}

}  // namespace packhorse::trainer
