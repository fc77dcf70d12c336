#include "base/stop.h"

#include <fcntl.h>

#include <future>
#include <thread>
#include <vector>

#include "archive/archive_scan.h"
#include "archive/spool.h"
#include "base/external_sort.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/json_slices.h"
#include "base/parallel.h"
#include "base/permutation.h"
#include "codecs/band_rows.h"
#include "codecs/colour_rows.h"
#include "codecs/described_image.h"
#include "codecs/image_header.h"
#include "codecs/perceptual_hash.h"
#include "labels/row_reader.h"
#include "listing/entry_table.h"
#include "packhorse/dataset/packed_dataset.h"
#include "packhorse/packing/pack.h"
#include "sources/source.h"
#include "storage/cache/byte_locks.h"
#include "storage/http/program_output.h"
#include "support/support.h"

namespace packhorse {

namespace fs = std::filesystem;
using test::kind_of_error;
using test::put;
using test::TemporaryDirectory;

namespace {

/// A stop that was requested before.
struct Stopped {
  Stopped() { source.request_stop(); }
  std::stop_source source;
  StopScope scope{source.get_token()};
};

template <class Work>
bool obeys(const Work& work) {
  work();  // nothing is wrong with it
  const Stopped stopped;
  return kind_of_error(work) == ErrorKind::kInterrupted;
}

ProbeResult header_of(Bytes image) { return probe_image(image, ImageLimits{}); }

}  // namespace

TEST_CASE("stop: reaches a thread through its scopes, and the threads that work for it") {
  std::stop_source outer, inner;
  obey_stop();
  {
    const StopScope scope(outer.get_token());
    {
      const StopScope other(inner.get_token());
      const StopScope nothing({});  // changes nothing
      inner.request_stop();
      CHECK(kind_of_error(obey_stop) == ErrorKind::kInterrupted);
    }
    obey_stop();
    std::atomic<int> calls = 0;
    CHECK(kind_of_error([&] {
            run_parallel(4, 1000, [&](std::size_t i) {
              ++calls;
              if (i == 10) outer.request_stop();
              obey_stop();
            });
          }) == ErrorKind::kInterrupted);
    CHECK(calls < 1000);
  }
  obey_stop();
}

TEST_CASE("stop: what tidies up has a while, and not for ever") {
  const Stopped stopped;
  {
    const StopGrace grace(std::chrono::hours(1));
    obey_stop();
    CHECK_FALSE(current_stop().stop_requested());
  }
  const StopGrace grace(std::chrono::milliseconds(1));
  std::promise<void> over;
  const std::stop_callback told(current_stop(), [&] { over.set_value(); });
  over.get_future().wait();
  CHECK(kind_of_error(obey_stop) == ErrorKind::kInterrupted);
}

TEST_CASE(
    "stop: what tidies up has all the time it needs until a stop, and then as long as granted") {
  {
    const StopGrace grace(std::chrono::milliseconds(0));
    CHECK_FALSE(current_stop().stop_requested());
  }
  std::stop_source source;
  const StopScope scope(source.get_token());
  const StopGrace grace(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  obey_stop();
  std::promise<void> over;
  const std::stop_callback told(current_stop(), [&] { over.set_value(); });
  source.request_stop();
  over.get_future().wait();
  CHECK(kind_of_error(obey_stop) == ErrorKind::kInterrupted);
}

TEST_CASE("stop: another copy of the library is asked where this one knows of none") {
  static std::stop_source elsewhere;
  add_stop_of_other_copy([] { return elsewhere.get_token(); });
  add_stop_of_other_copy([] { return elsewhere.get_token(); });
  obey_stop();
  std::stop_source own;
  elsewhere.request_stop();
  CHECK(current_stop().stop_requested());
  const StopScope scope(own.get_token());
  obey_stop();
  elsewhere = std::stop_source(std::nostopstate);  // for the tests that follow
}

TEST_CASE("stop: is obeyed by what goes through texts") {
  const std::string json = R"([{"a": [1, "b"]}, {"a": [2]}])";
  CHECK(obeys([&] { parse_json("[\"" + std::string(1 << 16, 'x') + "\"]"); }));
  CHECK(obeys([&] { check_json(json); }));
  CHECK(obeys([&] { for_each_element(json, [](std::string_view) {}); }));
  CHECK(obeys([&] {
    for_each_member(R"({"a": 1})", [](std::string_view, std::string_view) { return true; });
  }));
  const TemporaryDirectory folder;
  put(folder / "table.csv", "a,1\nb,2\n");
  CHECK(obeys([&] {
    const UniqueFd fd = open_for_reading(folder / "table.csv");
    RowReader rows(fd.get(), folder / "table.csv", kCommas);
    for (Row row; rows.next(row);) {
    }
  }));
}

TEST_CASE("stop: is obeyed by what goes through files and folders") {
  const TemporaryDirectory folder;
  put(folder / "file", std::string(100, 'x'));
  CHECK(obeys([&] { static_cast<void>(sha256_file(folder / "file")); }));
  CHECK(obeys([&] { copy_over(folder / "file", folder / "copy"); }));
  CHECK(obeys([&] { static_cast<void>(entries_below(folder.path())); }));
  CHECK(obeys([&] {
    put(folder / "tree/inside/file", "");
    remove_tree(folder / "tree");
  }));
  CHECK(fs::exists(folder / "tree/inside/file"));
  CHECK(obeys([&] {
    ExternalSort<int> sort(1 << 20, folder.path(), "numbers");
    sort.add(1);
    int one = 0;
    sort.sorted().next(one);
  }));
  test::make_folder(folder / "source", 2, 3);
  CHECK(obeys([&] { open_source(folder / "source")->list({}); }));
}

TEST_CASE("stop: is obeyed by what goes through a list of samples") {
  const auto made = [] {
    EntryTable table;
    table.add("b", "2", {});
    table.add("a", "1", {});
    return table;
  };
  EntryTable table = made();
  CHECK(obeys([&] { static_cast<void>(table.path_of(0)); }));
  CHECK(obeys([&] { static_cast<void>(table.facts(0)); }));
  CHECK(obeys([&] { made().sort_by_path(); }));
  CHECK(obeys([&] { made().permute(Permutation(2, 1)); }));
  CHECK(obeys([&] { made().relabel([](std::size_t) { return 1; }); }));
}

TEST_CASE("stop: is obeyed by what decodes") {
  for (const char* name : {"shapes/train/balls", "shapes/train/bricks"}) {
    const fs::directory_iterator first(test::samples() / name);
    const std::vector<std::byte> bytes = read_file(first->path());
    const ImageInfo info = header_of(bytes).info.value();
    CHECK(obeys([&] { decode_strictly(bytes, info); }));
    CHECK(obeys([&] { open_colours(bytes, info)->next_row(); }));
  }
  const std::string ppm = "P6\n2 2\n255\n" + std::string(12, 'x');
  const ImageInfo info = header_of(as_bytes(ppm)).info.value();
  CHECK(obeys([&] { decode_strictly(as_bytes(ppm), info); }));
  CHECK(obeys([&] { open_colours(as_bytes(ppm), info)->next_row(); }));
  CHECK(obeys([&] {
    std::vector<float> row(6);
    const std::vector<int> bands = {0, 1, 2};
    open_bands(as_bytes(ppm), info, {}, bands)->next_row(row.data());
  }));
  CHECK(obeys([] { static_cast<void>(near_pairs({1, 2, 3}, 7, 1)); }));
}

TEST_CASE("stop: is obeyed by those who read a dataset") {
  const TemporaryDirectory folder;
  test::make_folder(folder / "source", 2, 3);
  PackOptions options;
  options.format = "wds";
  options.list.allow_odd_classes = true;
  pack(folder / "source", folder / "out", options);
  const PackedDataset dataset(folder / "out");
  CHECK(obeys([&] { static_cast<void>(dataset.view(0)); }));
  CHECK(obeys([&] { const PackedDataset again(folder / "out"); }));
}

TEST_CASE("stop: is obeyed by who waits for a lock that another holds") {
  const TemporaryDirectory folder;
  put(folder / "file", "x");
  const UniqueFd one = open_file(folder / "file", O_RDWR),
                 other = open_file(folder / "file", O_RDWR);
  wait_lock(one.get(), {0, 1}, LockKind::kAlone, folder / "file");
  std::stop_source stop;
  auto waits = std::async(std::launch::async, [&] {
    const StopScope scope(stop.get_token());
    return kind_of_error([&] {
      wait_lock(other.get(), {0, 1}, LockKind::kShared, folder / "file");
    });
  });
  stop.request_stop();
  CHECK(waits.get() == ErrorKind::kInterrupted);
  unlock(one.get(), {0, 1});
  wait_lock(other.get(), {0, 1}, LockKind::kShared, folder / "file");
}

TEST_CASE("stop: is obeyed by who waits for a program") {
  std::stop_source stop;
  auto waits = std::async(std::launch::async, [&] {
    const StopScope scope(stop.get_token());
    return kind_of_error([] { output_of({"/bin/sleep", "600"}, 10, std::chrono::hours(1), true); });
  });
  stop.request_stop();
  CHECK(waits.get() == ErrorKind::kInterrupted);
}

}  // namespace packhorse
