#include "packhorse/reader/sampling.h"

#include <algorithm>

#include "base/choices.h"
#include "packhorse/base/error.h"

namespace packhorse::reader {

namespace {

[[noreturn]] void refuse_sampling(const std::string& what, const std::string& advice = {}) {
  throw Error(ErrorKind::kUsage, what, {}, advice);
}

}  // namespace

void Sampling::validate(OrderKind order) const {
  if (repeats < 1) refuse_sampling("a sample must be repeated once or more, not 0 times");
  const bool of_samples = by == By::kSamples || by == By::kField;
  if (replacement && !of_samples && by != By::kBalanced && by != By::kSqrt && by != By::kClasses)
    refuse_sampling("`replacement=` is about weights of classes or samples",
                    "give `weights=`, or leave it out");
  if ((by == By::kClasses || by == By::kSamples) && !weights)
    refuse_sampling("the weights are missing");
  if (weights && by != By::kClasses && by != By::kSamples && by != By::kMembers)
    refuse_sampling("weights of nothing are given");
  if ((by == By::kField) != !field.empty())
    refuse_sampling("weights in a field need its name, and others have none");
  if (until != Until::kFirst && by != By::kMembers)
    refuse_sampling("`until=` is about several datasets", "leave it out");
  if (until != Until::kFirst && num_samples > 0)
    refuse_sampling("`num_samples=` says when an epoch ends, and `until=`, too",
                    "give one of them");
  if (by == By::kNone || order == OrderKind::kGlobal) return;
  if (order == OrderKind::kSequential)
    refuse_sampling("in stored order nothing is drawn by weight",
                    "leave out `order=sequential` or the weights");
  if (by != By::kMembers)
    refuse_sampling("weights of classes or samples draw no windows of neighbours",
                    "give `order=global`");
}

Sampling::Weights class_weights(const Dataset& dataset,
                                const std::map<std::string, double>& by_name) {
  const std::vector<std::string>& classes = dataset.classes();
  auto weights = std::make_shared<std::vector<double>>();
  for (const std::string& name : classes) {
    const auto found = by_name.find(name);
    if (found == by_name.end())
      refuse_sampling("the class '" + name + "' has no weight",
                      "give one for each class; 0 leaves a class out");
    weights->push_back(found->second);
  }
  for (const auto& [name, weight] : by_name) {
    if (std::ranges::find(classes, name) == classes.end())
      refuse_sampling("there is no class '" + name + "'", choice_advice(name, classes));
  }
  return weights;
}

OrderKind usual_order(const Dataset& dataset, const Sampling& sampling) {
  const bool mixes = sampling.by == Sampling::By::kNone || sampling.by == Sampling::By::kMembers;
  return mixes ? dataset.usual_order() : OrderKind::kGlobal;
}

}  // namespace packhorse::reader
