#include "common/terminal.h"

#include <fmt/format.h>
#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "base/printable.h"

namespace packhorse::program {

bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

namespace {

bool is_utf8_start(char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; }

bool is_set(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

/// Whether the user's locale has UTF-8, whatever locale the program itself runs in.
bool text_is_utf8() {
  const locale_t locale = ::newlocale(LC_CTYPE_MASK, "", nullptr);
  if (locale == nullptr) return false;
  const bool utf8 = std::string_view(::nl_langinfo_l(CODESET, locale)) == "UTF-8";
  ::freelocale(locale);
  return utf8;
}

}  // namespace

namespace {

/// 0 if stdout is no terminal.
int stdout_width() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) != 1 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

}  // namespace

Style stdout_style() {
  Style style;
  if (const int width = stdout_width(); width > 0) style.width = width;
  if (::isatty(STDOUT_FILENO) != 1) return style;
  const char* const kind = std::getenv("TERM");
  style.colour =
      !is_set("NO_COLOR") && kind != nullptr && std::string_view(kind) != "dumb" && *kind != '\0';
  style.blocks = text_is_utf8();
  return style;
}

std::string painted(const std::string& text, Paint paint, const Style& style) {
  static constexpr std::array kCodes = {"", "1", "2", "36"};
  if (!style.colour || paint == Paint::kPlain) return text;
  return fmt::format("\x1b[{}m{}\x1b[0m", kCodes[static_cast<std::size_t>(paint)], text);
}

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, is_utf8_start));
}

std::string one_line(std::string_view name, std::size_t columns) {
  const std::string text = printable(name);
  const bool cut = columns_of(text) > columns && columns > 3;
  std::string line;
  std::size_t shown = 0;
  for (const char c : text) {
    if (is_utf8_start(c) && shown++ == columns - (cut ? 3 : 0)) break;
    line += c;
  }
  return cut ? line + "..." : line;
}

std::string with_commas(std::uint64_t value) {
  std::string text = std::to_string(value);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string count_text(std::uint64_t n, const std::string& noun) {
  return with_commas(n) + " " + noun + (n == 1 ? "" : noun.ends_with('s') ? "es" : "s");
}

std::string bytes_text(std::uint64_t bytes) {
  static constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string seconds_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.2f} s", seconds);
  const auto whole = static_cast<std::uint64_t>(seconds);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

namespace {

/// "...photos/train" for a path of more than `room` columns. Other names are kept: the beginnings
/// of hashes and formats matter.
std::string short_path(const std::string& name, std::size_t room) {
  std::size_t columns = columns_of(name), at = 0;
  if (columns <= room || name.find('/') == std::string::npos) return name;
  for (; columns > room - 3 || !is_utf8_start(name[at]); ++at)
    if (is_utf8_start(name[at])) --columns;
  return "..." + name.substr(at);
}

/// Shortens the paths of the first column where the table is wider than the terminal, unless two
/// would look alike.
void shorten_paths(std::vector<std::vector<std::string>>& rows, std::vector<std::size_t>& widths) {
  constexpr std::size_t kLeast = 12;
  std::size_t width = 0;
  for (const std::size_t each : widths) width += each + (width == 0 ? 0 : 2);
  const auto most = static_cast<std::size_t>(stdout_width());
  if (most == 0 || width <= most || widths[0] <= kLeast) return;
  const std::size_t room = std::max(kLeast, widths[0] - std::min(widths[0], width - most));
  std::set<std::string> names, shortened;
  for (const std::vector<std::string>& row : rows) {
    names.insert(row[0]);
    shortened.insert(short_path(row[0], room));
  }
  if (names.size() != shortened.size()) return;
  widths[0] = 0;
  for (std::vector<std::string>& row : rows) {
    row[0] = short_path(row[0], room);
    widths[0] = std::max(widths[0], columns_of(row[0]));
  }
}

}  // namespace

int text_width() {
  const int asked = is_set("COLUMNS") ? std::atoi(std::getenv("COLUMNS")) : 0;
  return asked > 0 ? asked : stdout_style().width;
}

std::string table_text(std::vector<std::vector<std::string>> rows) {
  for (std::vector<std::string>& row : rows)
    std::transform(row.begin(), row.end(), row.begin(), printable_text);
  std::vector<std::size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], columns_of(row[c]));
  }
  shorten_paths(rows, widths);
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string padding(widths[c] - columns_of(row[c]), ' ');
      line += c == 0 ? row[c] + padding : "  " + padding + row[c];
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

ProgressLine::ProgressLine(const Progress& progress, std::string doing, bool quiet)
    : progress_(progress), doing_(std::move(doing)), terminal_(stderr_is_terminal()) {
  if (!quiet) thread_ = std::thread([this] { loop(); });
}

ProgressLine::~ProgressLine() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  ended_.notify_one();
  thread_.join();
  if (terminal_) std::fputs("\r\x1b[K", stderr);
}

void ProgressLine::loop() {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const auto interval =
      terminal_ ? std::chrono::milliseconds(200) : std::chrono::milliseconds(10'000);
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, interval, [this] { return ending_; })) {
    const std::string text = line(std::chrono::duration<double>(Clock::now() - begin).count());
    std::fputs((terminal_ ? "\r" + text + "\x1b[K" : text + "\n").c_str(), stderr);
    std::fflush(stderr);
  }
}

std::string ProgressLine::line(double seconds) const {
  const std::uint64_t done = progress_.samples, total = progress_.total_samples;
  const char* phase = progress_.phase;
  const std::string doing = phase != nullptr ? doing_ + ": " + phase : doing_;
  if (total == 0) return fmt::format("{}: listing, {}", doing, seconds_text(seconds));
  const double rate = static_cast<double>(done) / seconds;
  std::string text = fmt::format(
      "{}: {} of {} images ({:.0f} %), {}/s, {}/s", doing, with_commas(done), with_commas(total),
      100.0 * static_cast<double>(done) / static_cast<double>(total),
      with_commas(static_cast<std::uint64_t>(rate)),
      bytes_text(static_cast<std::uint64_t>(static_cast<double>(progress_.bytes) / seconds)));
  if (done > 0 && done < total)
    text += ", " + seconds_text(static_cast<double>(total - done) / rate) + " left";
  if (progress_.rejected > 0) text += fmt::format(", {} rejected", with_commas(progress_.rejected));
  return text;
}

void StatusLine::show(const std::string& text) const {
  if (!shown_) return;
  std::fputs(("\r" + printable_text(text) + "\x1b[K").c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace packhorse::program
