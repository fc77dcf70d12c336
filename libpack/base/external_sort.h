#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/scratch_file.h"
#include "base/stop.h"

namespace packhorse {

/// Sorts any number of records of one size: in memory what fits there, and the rest by way of a
/// ScratchFile. One thread.
///
///     ExternalSort<Pair> pairs(memory, scratch, "the pairs of samples");
///     for (...) pairs.add({...});
///     Pair pair;
///     for (auto sorted = pairs.sorted(); sorted.next(pair);) ...
template <class T>
class ExternalSort {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// `memory`: bytes that it may take. `scratch`, `holds`: as ScratchFile has them.
  ExternalSort(std::uint64_t memory, std::filesystem::path scratch, std::string holds)
      : most_(std::max<std::uint64_t>(memory / 2 / sizeof(T), 64)),
        file_(std::make_unique<ScratchFile>(std::move(scratch), std::move(holds),
                                            "give more `memory=`")) {}

  void add(const T& record) {
    obey_stop();
    if (records_.size() == most_) close_run();
    records_.push_back(record);
    ++size_;
  }
  std::uint64_t size() const { return size_; }
  bool in_file() const { return !runs_.empty(); }

  /// Goes through all records in their order, those that are equal in any.
  class Cursor {
   public:
    /// Returns false at the end.
    bool next(T& record) {
      if (heap_.empty()) return false;
      obey_stop();
      std::pop_heap(heap_.begin(), heap_.end(), later);
      Run* run = heap_.back();
      record = run->left.front();
      if (run->advance(*file_)) {
        std::push_heap(heap_.begin(), heap_.end(), later);
      } else {
        heap_.pop_back();
      }
      return true;
    }

   private:
    friend class ExternalSort;
    struct Run {
      std::uint64_t offset = 0, in_file = 0;  ///< bytes of the file that were not read yet
      std::vector<T> records = {};
      std::span<const T> left = {};

      bool advance(ScratchFile& file) {
        left = left.subspan(left.empty() ? 0 : 1);
        if (!left.empty()) return true;
        if (in_file == 0) return false;
        records.resize(std::min<std::uint64_t>(records.capacity(), in_file / sizeof(T)));
        const auto bytes = std::as_writable_bytes(std::span(records));
        file.read(offset, bytes);
        file.remove(offset, bytes.size());
        offset += bytes.size();
        in_file -= bytes.size();
        left = records;
        return true;
      }
    };
    static bool later(const Run* a, const Run* b) { return b->left.front() < a->left.front(); }

    std::unique_ptr<ScratchFile> file_;
    std::vector<std::unique_ptr<Run>> runs_;
    std::vector<Run*> heap_;
  };

  /// All records in order, where in_file() is false. Nothing can be added after this.
  std::vector<T> in_memory() {
    std::sort(records_.begin(), records_.end());
    return std::move(records_);
  }

  /// The records in order. Nothing can be added after this.
  Cursor sorted() {
    Cursor cursor;
    if (runs_.empty()) {
      auto run = std::make_unique<typename Cursor::Run>();
      run->records = in_memory();
      run->left = run->records;
      cursor.runs_.push_back(std::move(run));
    } else {
      if (!records_.empty()) close_run();
      records_ = {};
      const std::uint64_t share = std::max<std::uint64_t>(most_ / runs_.size(), 512);
      for (const auto& [offset, bytes] : runs_) {
        auto run = std::make_unique<typename Cursor::Run>();
        run->offset = offset;
        run->in_file = bytes;
        run->records.reserve(share);
        run->advance(*file_);
        cursor.runs_.push_back(std::move(run));
      }
    }
    for (const auto& run : cursor.runs_)
      if (!run->left.empty()) cursor.heap_.push_back(run.get());
    std::make_heap(cursor.heap_.begin(), cursor.heap_.end(), Cursor::later);
    cursor.file_ = std::move(file_);
    return cursor;
  }

 private:
  void close_run() {
    std::sort(records_.begin(), records_.end());
    const Bytes bytes = std::as_bytes(std::span(records_));
    runs_.emplace_back(file_->append(bytes), bytes.size());
    records_.clear();
  }

  const std::uint64_t most_;  ///< records at once
  std::uint64_t size_ = 0;
  std::vector<T> records_;
  std::unique_ptr<ScratchFile> file_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> runs_;  ///< offset and bytes
};

}  // namespace packhorse
