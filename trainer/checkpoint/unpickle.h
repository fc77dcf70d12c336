#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/Storage.h>

#include <functional>
#include <string>

#include "packhorse/base/bytes.h"

namespace packhorse::trainer {

/// Returns the bytes of a storage that a pickle names, e.g. "0".
using StorageSource = std::function<c10::Storage(const std::string& key)>;

/// Reads a value that torch.save() pickled (protocol 2, its default). Numbers, strings, None,
/// lists, tuples, dictionaries, OrderedDicts (as dictionaries) and dense tensors come back; an
/// object of any other class becomes None. No code that the pickle names is ever called, so a file
/// from strangers can do no harm. Source: CPython's Lib/pickletools.py, and torch/_utils.py for the
/// tensors.
///
/// LibTorch's own torch::jit::Unpickler knows no OrderedDict, which is what state_dict() returns.
///
/// Values are nested at most 64 deep, and a walk over the result takes bounded time however its
/// parts are shared, so destroying, copying and printing it may recurse. No tensor has more numbers
/// than its storage.
///
/// Throws std::runtime_error for a pickle that is damaged, of another protocol or beyond these
/// limits.
c10::IValue unpickle(Bytes pickle, const StorageSource& storages);

}  // namespace packhorse::trainer
