#include <array>

#include "watch/step_metrics.h"

namespace packhorse::trainer {
namespace {

constexpr const char* kCounter = "counter";
constexpr const char* kGauge = "gauge";
using Json = nlohmann::ordered_json;
using Metrics = StepMetrics;

/// The whole definition of each figure: a new one is a row here, and one in
/// docs/reference/metrics.md.
constexpr auto kFigures = std::to_array<Figure>({
    {nullptr, "epoch", "packhorse_train_epoch", kGauge, "The running epoch, counted from 1.",
     [](const Metrics& m) -> Json { return m.epoch; }},
    {nullptr, nullptr, "packhorse_train_epochs", kGauge, "Epochs of the whole run.",
     [](const Metrics& m) -> Json { return m.epochs; }},
    {nullptr, "step", "packhorse_train_steps_total", kCounter, "Steps done in the whole run.",
     [](const Metrics& m) -> Json { return m.step; }},
    {nullptr, nullptr, "packhorse_train_epoch_progress_ratio", kGauge,
     "Share of the epoch done, 0 to 1.",
     [](const Metrics& m) -> Json {
       return m.epoch_steps > 0 ? double(m.epoch_step) / double(m.epoch_steps) : 0;
     }},
    {"train/loss", "loss", "packhorse_train_loss", kGauge, "Mean training loss of the last steps.",
     [](const Metrics& m) -> Json { return m.loss; }},
    {"train/lr", "lr", "packhorse_train_learning_rate", kGauge, "Learning rate of the last step.",
     [](const Metrics& m) -> Json { return m.lr; }},
    {"train/images_per_s", "images_per_s", "packhorse_train_images_per_second", kGauge,
     "Images trained on a second, by all processes together.",
     [](const Metrics& m) -> Json { return m.images_per_s; }},
    {"train/data_wait_share", "data_wait_share", "packhorse_train_data_wait_ratio", kGauge,
     "Share of the time that training waited for data, 0 to 1.",
     [](const Metrics& m) -> Json { return m.data_wait_share; }},
    {"device/memory_gib", nullptr, nullptr, kGauge, "",
     [](const Metrics& m) -> Json {
       if (m.device_memory_bytes == 0) return nullptr;
       return double(m.device_memory_bytes) / (1 << 30);
     }},
    {nullptr, "device_memory_bytes", "packhorse_train_device_memory_bytes", kGauge,
     "Most memory of the device that LibTorch had reserved at once, its cache included; 0 on the "
     "CPU.",
     [](const Metrics& m) -> Json { return m.device_memory_bytes; }},
    {nullptr, "device_memory_allocated_bytes", "packhorse_train_device_memory_allocated_bytes",
     kGauge, "Most memory of the device that tensors had in use at once; 0 on the CPU.",
     [](const Metrics& m) -> Json { return m.device_memory_allocated_bytes; }},
});

}  // namespace

std::span<const Figure> step_figures() { return kFigures; }

}  // namespace packhorse::trainer
