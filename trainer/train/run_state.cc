#include "packhorse/trainer/train/run_state.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "packhorse/base/error.h"
#include "packhorse/base/json.h"
#include "packhorse/trainer/checkpoint/checkpoint.h"

namespace packhorse::trainer {
namespace {

using nlohmann::json;

json number_or_null(const std::optional<double>& value) { return value ? json(*value) : json(); }

std::optional<double> optional_number(const json& value) {
  if (value.is_null()) return std::nullopt;
  return value.get<double>();
}

json to_json_value(const EpochLog& log) {
  return {{"epoch", log.epoch},
          {"step", log.step},
          {"lr", log.lr},
          {"train_loss", log.train_loss},
          {"val_loss", number_or_null(log.val_loss)},
          {"top1", number_or_null(log.top1)},
          {"top5", number_or_null(log.top5)},
          {"seconds", log.seconds},
          {"images_per_s", log.images_per_s},
          {"data_wait_share", log.data_wait_share}};
}

EpochLog to_epoch_log(const json& value) {
  EpochLog log;
  value.at("epoch").get_to(log.epoch);
  value.at("step").get_to(log.step);
  value.at("lr").get_to(log.lr);
  value.at("train_loss").get_to(log.train_loss);
  log.val_loss = optional_number(value.at("val_loss"));
  log.top1 = optional_number(value.at("top1"));
  log.top5 = optional_number(value.at("top5"));
  value.at("seconds").get_to(log.seconds);
  value.at("images_per_s").get_to(log.images_per_s);
  value.at("data_wait_share").get_to(log.data_wait_share);
  return log;
}

std::string csv_number(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : "";
}

}  // namespace

json to_meta(const RunState& state) {
  json history = json::array();
  for (const EpochLog& log : state.history) history.push_back(to_json_value(log));
  return {{"arch", state.recipe.arch},
          {"image_size", state.recipe.image_size},
          {"recipe", state.recipe},
          {"classes", state.classes},
          {"train_samples", state.train_samples},
          {"epoch", state.epoch},
          {"done", state.done},
          {"step", state.step},
          {"best_top1", state.best_top1},
          {"loss_sum", state.loss_sum},
          {"loss_steps", state.loss_steps},
          {"epoch_seconds", state.epoch_seconds},
          {"epoch_wait_s", state.epoch_wait_s},
          {"history", history}};
}

RunState from_meta(const json& meta, const std::filesystem::path& path) try {
  RunState state;
  meta.at("recipe").get_to(state.recipe);
  meta.at("classes").get_to(state.classes);
  meta.at("train_samples").get_to(state.train_samples);
  meta.at("epoch").get_to(state.epoch);
  meta.at("done").get_to(state.done);
  meta.at("step").get_to(state.step);
  meta.at("best_top1").get_to(state.best_top1);
  meta.at("loss_sum").get_to(state.loss_sum);
  meta.at("loss_steps").get_to(state.loss_steps);
  meta.at("epoch_seconds").get_to(state.epoch_seconds);
  meta.at("epoch_wait_s").get_to(state.epoch_wait_s);
  for (const json& log : meta.at("history")) state.history.push_back(to_epoch_log(log));
  return state;
} catch (const json::exception& error) {
  throw Error(ErrorKind::kCorrupt,
              fmt::format("the checkpoint is incomplete: {}", json_problem(error)), path);
}

RunState read_run_state(const std::filesystem::path& path) {
  return from_meta(read_checkpoint(path).meta, path);
}

std::string history_jsonl(const std::vector<EpochLog>& history) {
  std::string text;
  for (const EpochLog& log : history) text += to_json_value(log).dump() + "\n";
  return text;
}

std::string history_csv(const std::vector<EpochLog>& history) {
  std::string text =
      "epoch,step,lr,train_loss,val_loss,top1,top5,seconds,images_per_s,data_wait_share\n";
  for (const EpochLog& log : history) {
    text += fmt::format("{},{},{:.6g},{:.6g},{},{},{},{:.3f},{:.1f},{:.4f}\n", log.epoch, log.step,
                        log.lr, log.train_loss, csv_number(log.val_loss), csv_number(log.top1),
                        csv_number(log.top5), log.seconds, log.images_per_s, log.data_wait_share);
  }
  return text;
}

}  // namespace packhorse::trainer
