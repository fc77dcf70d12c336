#include "loader/loader_table.h"

#include "base/option_values.h"
#include "packhorse/reader/loader.h"
#include "packhorse/reader/sampling.h"

namespace packhorse::reader {

namespace {

using Value = LoaderOption::Value;
namespace values = option_values;

constexpr std::pair<std::string_view, PixelType> kTypes[] = {{"uint8", PixelType::kUint8},
                                                             {"uint16", PixelType::kUint16},
                                                             {"float32", PixelType::kFloat32},
                                                             {"float16", PixelType::kFloat16}};

template <class Member>
constexpr Value plain(Member member) {
  return values::plain<LoaderOptions>(member);
}

constexpr Value kTypeName = values::choice<LoaderOptions, kTypes>(PACKHORSE_MEMBER(format.type));

/// Colours have no 16 bits: of all bands.
constexpr Value kType = {
    [](LoaderOptions& options, const OptionValues& given, const Option& option) {
      kTypeName.set(options, given, option);
      if (options.format.type == PixelType::kUint16) options.bands.emplace();
    },
    kTypeName.text};

constexpr Value kBands = {
    [](LoaderOptions& options, const OptionValues& given, const Option& option) {
      options.bands.emplace();
      if (given.front() == "all") return;
      for (const double number : values::numbers_of(given.front(), option)) {
        const int band = number >= 0 && number <= 254 ? static_cast<int>(number) : -1;
        if (band < 0 || band != number)
          values::refuse(option, given.front(),
                         "give \"all\", or the numbers of bands, counted from 0 to 254");
        options.bands->numbers.push_back(band);
      }
    },
    [](const LoaderOptions& options) {
      if (!options.bands) return std::string();
      std::string text;
      for (const int band : options.bands->numbers)
        text += (text.empty() ? "" : ",") + std::to_string(band);
      return text.empty() ? "all" : text;
    }};

constexpr Value kMixedBits = {
    [](LoaderOptions& options, const OptionValues&, const Option& option) {
      if (!options.bands)
        throw Error(ErrorKind::kUsage, opt(option.name) + " is about bands", {}, "give `bands=`");
      options.bands->mixed_bits = true;
    },
    [](const LoaderOptions& options) {
      return std::string(options.bands && options.bands->mixed_bits ? "given" : "");
    }};

constexpr Value kHugePages = {[](LoaderOptions& options, const OptionValues&, const Option&) {
                                options.allocator = huge_page_allocator();
                              },
                              [](const LoaderOptions& options) {
                                return std::string(options.allocator.allocate ? "given" : "");
                              }};

constexpr Value kWeights = {[](LoaderOptions& options, const OptionValues& given, const Option&) {
                              Sampling& sampling = options.sampling;
                              sampling.field.clear();
                              if (given.front() == "balanced") {
                                sampling.by = Sampling::By::kBalanced;
                              } else if (given.front() == "sqrt") {
                                sampling.by = Sampling::By::kSqrt;
                              } else {
                                sampling.by = Sampling::By::kField;
                                sampling.field = given.front();
                              }
                            },
                            [](const LoaderOptions& options) {
                              const Sampling& sampling = options.sampling;
                              return sampling.by == Sampling::By::kBalanced
                                         ? std::string("balanced")
                                     : sampling.by == Sampling::By::kSqrt ? std::string("sqrt")
                                                                          : sampling.field;
                            }};

/// 0 is the default, and no number that anybody can give.
constexpr Value kNumSamples = {plain(PACKHORSE_MEMBER(sampling.num_samples)).set,
                               [](const LoaderOptions& options) {
                                 const std::uint64_t samples = options.sampling.num_samples;
                                 return samples == 0 ? std::string() : values::text_of(samples);
                               }};

constexpr std::pair<std::string_view, Sampling::Until> kUntils[] = {
    {"first", Sampling::Until::kFirst}, {"all", Sampling::Until::kAll}};

constexpr Value kMaxBad = {[](LoaderOptions& options, const OptionValues& given, const Option&) {
                             options.bad_samples = BadSampleOptions::parse(given.front());
                           },
                           [](const LoaderOptions& options) {
                             const BadSampleOptions& bad = options.bad_samples;
                             return bad.policy == BadSamplePolicy::kFail ? "0" : bad.limit.text();
                           }};

template <auto kGiven, class Member>
constexpr Value instead(Member member) {
  return values::instead<LoaderOptions, kGiven>(member);
}

}  // namespace

std::span<const LoaderOption> loader_options() {
  using enum Option::Kind;
  static const std::vector<LoaderOption> kTable = {
      {{.name = "batch_size",
        .help = "Images per batch",
        .kind = kInteger,
        .least = 1,
        .most = 1u << 20,
        .shows_default = true},
       plain(PACKHORSE_MEMBER(batch_size))},
      {{.name = "order",
        .help = "global: any sample may come next; window: large reads, mixed within 256 MiB, for "
                "disks and network storage; window-first: the first epoch by windows, the others "
                "global; sequential: as stored; default: global, and for datasets at URLs "
                "window-first, or window where no cache holds them",
        .kind = kChoice,
        .choices = values::words_of<order_names>},
       values::named<LoaderOptions, order_names>(PACKHORSE_MEMBER(order))},
      {{.name = "shuffle",
        .help = "The same as `order=sequential`",
        .kind = kOff,
        .off = "sequential",
        .excludes = {"order"}},
       instead<OrderKind::kSequential>(PACKHORSE_MEMBER(order))},
      {{.name = "weights",
        .help = "balanced: all classes come equally often; sqrt: as the square root of the number "
                "of their samples; or a field with a number in each sample, its weight",
        .kind = kText},
       kWeights},
      {{.name = "replacement",
        .help =
            "With weights of classes: draw each sample from all. Otherwise the samples of a class "
            "come equally often, or once more. Weights of samples always draw so",
        .kind = kFlag},
       values::flag<LoaderOptions>(PACKHORSE_MEMBER(sampling.replacement))},
      {{.name = "repeats",
        .help = "Repeated augmentation: each sample comes so many times, one after the other, each "
                "time augmented in another way. With several ranks these are on different ones. "
                "An epoch gets no longer, so it has fewer different samples",
        .kind = kInteger,
        .least = 1,
        .most = 1024,
        .shows_default = true},
       plain(PACKHORSE_MEMBER(sampling.repeats))},
      {{.name = "num_samples",
        .help = "Samples in an epoch, repeats included; default: those of the dataset; of several "
                "datasets with weights, as `until=` says",
        .kind = kInteger,
        .least = 1,
        .most = (std::uint64_t{1} << 52) - 1},
       kNumSamples},
      {{.name = "until",
        .help = "When an epoch of several datasets with weights ends: when the first of them ends, "
                "or when all have ended; shorter ones begin again",
        .kind = kChoice,
        .choices = values::words<kUntils>,
        .shows_default = true},
       values::choice<LoaderOptions, kUntils>(PACKHORSE_MEMBER(sampling.until))},
      {{.name = "seed",
        .help = "Seed of the order, and of what is done to the samples",
        .kind = kInteger,
        .shows_default = true},
       plain(PACKHORSE_MEMBER(seed))},
      {{.name = "drop_last",
        .help = "Leave out a last, short batch. Otherwise it is delivered, and with several ranks "
                "filled up with samples of the epoch's start, so that all ranks have the same "
                "number of batches",
        .kind = kFlag},
       instead<Tail::kDrop>(PACKHORSE_MEMBER(tail))},
      {{.name = "workers",
        .help = "Reader threads; -1: one for each CPU this process may use; 0: none, batches are "
                "made by the thread that takes them",
        .kind = kInteger,
        .least = -1,
        .most = 1024,
        .shows_default = true},
       plain(PACKHORSE_MEMBER(workers))},
      {{.name = "slots",
        .help = "Batches in memory: finished, in progress, or in use by the caller",
        .kind = kInteger,
        .least = 2,
        .most = 65536,
        .shows_default = true},
       plain(PACKHORSE_MEMBER(slots))},
      {{.name = "rank",
        .help = "Which of `world_size=` processes this is, counted from 0; default: "
                "torch.distributed's, or RANK and WORLD_SIZE of the environment",
        .kind = kInteger},
       plain(PACKHORSE_MEMBER(rank))},
      {{.name = "world_size",
        .help = "Processes that share each epoch; default: as for `rank=`",
        .kind = kInteger,
        .least = 1},
       plain(PACKHORSE_MEMBER(world))},
      {{.name = "max_bad",
        .help = "Damaged images per epoch to replace with others, e.g. 10 or 0.1%; one more is an "
                "error",
        .kind = kScalar,
        .shows_default = true},
       kMaxBad},
      {{.name = "huge_pages", .help = "Keep batches in memory pages of 2 MiB", .kind = kFlag},
       kHugePages},
      {{.name = "dtype",
        .help = "Type of the images' numbers: uint8, 0 to 255; float32 or float16, scaled to 0..1; "
                "uint16, 0 to 65535, of all bands, or those of `bands=`",
        .kind = kChoice,
        .choices = values::words<kTypes>,
        .shows_default = true},
       kType},
      {{.name = "mean",
        .help = "Three numbers, or one for each band: with `std=`, normalise floating-point images "
                "by (x / 255 - mean) / std. Bit for bit what torchvision's ToTensor() and "
                "Normalize() make of the pixels; float16 is that, rounded",
        .kind = kNumbers},
       plain(PACKHORSE_MEMBER(format.mean))},
      {{.name = "std", .help = "The same for the standard deviation", .kind = kNumbers},
       plain(PACKHORSE_MEMBER(format.deviation))},
      {{.name = "channels_last",
        .help = "Images as planes, one channel after the other, instead of interleaved pixels; "
                "packhorse.Batch shows the shapes",
        .kind = kOff,
        .off = "planes"},
       instead<PixelLayout::kPlanes>(PACKHORSE_MEMBER(format.layout))},
      {{.name = "bands",
        .help = "The samples as they are stored, instead of colours of 8 bits: all, or bands, "
                "counted from 0. Floats are as they are stored, integers of 16 bits are 0..1 of "
                "65535 as float32. All images must have these bands, and as many bits. No "
                "ColorJitter and the like",
        .kind = kNumbers},
       kBands},
      {{.name = "mixed_bits",
        .help = "With `bands=`: take images of 8 and 16 bits together",
        .kind = kFlag},
       kMixedBits},
      {{.name = "mixup",
        .help = "Mix whole batches by Mixup, with shares from Beta(alpha, alpha); 0: not. Labels "
                "are then what each image is trained towards, float32 [batch, classes]",
        .kind = kNumber,
        .range = {.least = 0}},
       plain(PACKHORSE_MEMBER(mix.mixup_alpha))},
      {{.name = "cutmix",
        .help = "The same for CutMix. With both, each batch is mixed in one of the two ways",
        .kind = kNumber,
        .range = {.least = 0}},
       plain(PACKHORSE_MEMBER(mix.cutmix_alpha))},
      {{.name = "mix_prob",
        .help = "Probability that a batch is mixed",
        .kind = kNumber,
        .shows_default = true,
        .range = {.least = 0, .most = 1}},
       plain(PACKHORSE_MEMBER(mix.probability))},
      {{.name = "switch_prob",
        .help = "Probability of CutMix instead of Mixup, with both",
        .kind = kNumber,
        .shows_default = true,
        .range = {.least = 0, .most = 1}},
       plain(PACKHORSE_MEMBER(mix.cutmix_share))},
      {{.name = "label_smoothing",
        .help = "Share of mixed labels that is spread over all classes",
        .kind = kNumber,
        .shows_default = true,
        .range = {.least = 0, .most = 1, .below = true}},
       plain(PACKHORSE_MEMBER(label_smoothing))},
      {{.name = "fields",
        .help = "Fields that batches have, too, e.g. caption or emb.npy: batch.fields",
        .kind = kTexts},
       plain(PACKHORSE_MEMBER(fields))},
      {{.name = "close_mosaic_from",
        .help = "From this epoch on, samples are of one picture: no mosaic, copy_paste or mixup",
        .kind = kInteger},
       plain(PACKHORSE_MEMBER(close_mosaic_from))},
  };
  return kTable;
}

}  // namespace packhorse::reader
