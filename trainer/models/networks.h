#pragma once

#include "models/archs.h"

/// Declares every network. Each is defined in a file of its own; archs.cc lists them.
namespace packhorse::trainer {

extern const Arch kSmallNet;
extern const Arch kResNet18, kResNet34, kResNet50, kResNet101;
extern const Arch kResNet18Cifar;
extern const Arch kMobileNetV2;
extern const Arch kVitS16;
extern const Arch kScript;
extern const Arch kYoloxNano, kYoloxTiny, kYoloxS;
extern const Arch kFcosResNet50;

}  // namespace packhorse::trainer
