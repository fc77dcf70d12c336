#include "train/run_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "checkpoint/checkpoint.h"
#include "packhorse/base/error.h"

namespace packhorse::trainer {
namespace {

using nlohmann::json;

json to_json_value(const EpochLog& log, TaskKind task) {
  json value = {{"epoch", log.epoch},
                {"step", log.step},
                {"lr", log.lr},
                {"train_loss", log.train_loss},
                {"seconds", log.seconds},
                {"images_per_s", log.images_per_s},
                {"data_wait_share", log.data_wait_share}};
  const auto names = score_names(task);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool defined = log.scores && std::isfinite(log.scores->values.at(i));
    value[log_key(names[i])] = defined ? json(log.scores->values[i]) : json();
  }
  if (log.scores) value["val_images"] = log.scores->images;
  return value;
}

EpochLog to_epoch_log(const json& value, TaskKind task) {
  EpochLog log;
  value.at("epoch").get_to(log.epoch);
  value.at("step").get_to(log.step);
  value.at("lr").get_to(log.lr);
  value.at("train_loss").get_to(log.train_loss);
  value.at("seconds").get_to(log.seconds);
  value.at("images_per_s").get_to(log.images_per_s);
  value.at("data_wait_share").get_to(log.data_wait_share);
  Scores scores{.task = task, .images = value.value("val_images", std::uint64_t{0})};
  for (const ScoreName& name : score_names(task)) {
    const json& score = value.at(log_key(name));
    scores.values.push_back(score.is_null() ? std::nan("") : score.get<double>());
  }
  const auto undefined = [](double score) { return std::isnan(score); };
  if (scores.images > 0 || !std::ranges::all_of(scores.values, undefined))
    log.scores = std::move(scores);
  return log;
}

void check_recipe(const Recipe& recipe, const std::filesystem::path& path) try {
  recipe.validate();
} catch (const Error& error) {
  throw Error(ErrorKind::kCorrupt,
              std::string("the checkpoint's recipe makes no sense: ") + error.what(), path,
              "use another checkpoint");
}

}  // namespace

json to_meta(const RunState& state) {
  json history = json::array();
  for (const EpochLog& log : state.history)
    history.push_back(to_json_value(log, state.recipe.task));
  return {{"arch", state.recipe.arch},
          {"image_size", state.recipe.image_size},
          {"recipe", state.recipe},
          {"classes", state.classes},
          {"train_samples", state.train_samples},
          {"data", state.data},
          {"epoch", state.epoch},
          {"done", state.done},
          {"step", state.step},
          {"best_score", state.best_score},
          {"loss_sum", state.loss_sum},
          {"loss_steps", state.loss_steps},
          {"epoch_seconds", state.epoch_seconds},
          {"epoch_wait_s", state.epoch_wait_s},
          {"history", history}};
}

RunState from_meta(const json& meta, const std::filesystem::path& path) try {
  RunState state;
  meta.at("recipe").get_to(state.recipe);
  check_recipe(state.recipe, path);
  meta.at("classes").get_to(state.classes);
  meta.at("train_samples").get_to(state.train_samples);
  state.data = meta.value("data", std::string());
  meta.at("epoch").get_to(state.epoch);
  meta.at("done").get_to(state.done);
  meta.at("step").get_to(state.step);
  // Version 0.1.0 had top-1 alone.
  meta.at(meta.contains("best_score") ? "best_score" : "best_top1").get_to(state.best_score);
  meta.at("loss_sum").get_to(state.loss_sum);
  meta.at("loss_steps").get_to(state.loss_steps);
  meta.at("epoch_seconds").get_to(state.epoch_seconds);
  meta.at("epoch_wait_s").get_to(state.epoch_wait_s);
  for (const json& log : meta.at("history"))
    state.history.push_back(to_epoch_log(log, state.recipe.task));
  return state;
} catch (const json::exception& error) {
  throw Error(ErrorKind::kCorrupt,
              fmt::format("the checkpoint is incomplete: {}", json_problem(error)), path);
}

RunState read_run_state(const std::filesystem::path& path) {
  return from_meta(read_checkpoint(path).meta, path);
}

std::string history_jsonl(const std::vector<EpochLog>& history, TaskKind task) {
  std::string text;
  for (const EpochLog& log : history) text += to_json_value(log, task).dump() + "\n";
  return text;
}

std::string history_csv(const std::vector<EpochLog>& history, TaskKind task) {
  std::string names, text;
  for (const ScoreName& name : score_names(task)) names += "," + log_key(name);
  for (const EpochLog& log : history) {
    text += fmt::format("{},{},{:.6g},{:.6g}", log.epoch, log.step, log.lr, log.train_loss);
    for (std::size_t i = 0; i < score_names(task).size(); ++i) {
      const bool defined = log.scores && std::isfinite(log.scores->values.at(i));
      text += defined ? fmt::format(",{:.6g}", log.scores->values[i]) : ",";
    }
    text +=
        fmt::format(",{:.3f},{:.1f},{:.4f}\n", log.seconds, log.images_per_s, log.data_wait_share);
  }
  return fmt::format("epoch,step,lr,train_loss{},seconds,images_per_s,data_wait_share\n{}", names,
                     text);
}

}  // namespace packhorse::trainer
