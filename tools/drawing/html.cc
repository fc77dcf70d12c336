#include "drawing/html.h"

#include <openssl/evp.h>

#include "base/printable.h"
#include "drawing/draw_objects.h"

namespace packhorse::drawing {

namespace {

constexpr std::string_view kStyleSheet = R"(
:root { color-scheme: light dark; --paper: #fff; --mat: #f2f3f5; --ink: #1c1e21; --pale: #5f6570;
  --line: #d9dce1; --bar: #2f7fb8; --good: #1a7f37; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --paper: #16181b; --mat: #212428; --ink: #e6e7e9;
  --pale: #9aa1ab; --line: #363a40; --bar: #4a9fd8; --good: #4ac26b; --bad: #ff7b72; } }
body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif;
  max-width: 68rem; margin: 2rem auto; padding: 0 1.5rem; }
h1 { font-size: 1.5rem; margin: 0 0 .2rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; }
h3 { font-size: 1.05rem; margin: 1.6rem 0 .5rem; }
h4 { font-size: 1rem; margin: 1.2rem 0 .4rem; overflow-wrap: anywhere; }
p.note, h4 small { color: var(--pale); font-weight: normal; }
.good { color: var(--good); } .bad { color: var(--bad); }
table { border-collapse: collapse; }
th, td { text-align: left; padding: .2rem 1.2rem .2rem 0; vertical-align: top;
  border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
th { color: var(--pale); font-weight: normal; white-space: nowrap; }
td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.charts { display: flex; flex-wrap: wrap; gap: 1rem 2rem; }
figure { margin: 0; flex: 1 1 26rem; max-width: 34rem; }
.charts.small figure { flex: none; width: 17rem; }
.pair { display: flex; flex-wrap: wrap; gap: .7rem; }
.pair img { max-width: 100%; height: auto; }
.charts figcaption { font-weight: 600; margin-bottom: .3rem; }
svg { width: 100%; height: auto; display: block; font: 13px system-ui, sans-serif; }
svg text { fill: var(--ink); } svg .label { text-anchor: end; } svg tspan { fill: var(--pale); }
svg rect { fill: var(--bar); }
summary { cursor: pointer; margin: .6rem 0; font-weight: 600; }
.tiles { display: flex; flex-wrap: wrap; gap: .7rem; }
.tiles figure { flex: none; width: 112px; }
.tiles .picture { width: 112px; height: 112px; background: var(--mat); display: flex;
  align-items: center; justify-content: center; text-align: center; }
.tiles .picture img { max-width: 100%; max-height: 100%; object-fit: contain; }
.tiles.large figure { width: 240px; }
.tiles.large .picture { width: 240px; height: 240px; }
.legend span { margin-right: 1rem; white-space: nowrap; }
.swatch { display: inline-block; width: .75em; height: .75em; }
.tiles .damaged { border: 2px solid var(--bad); color: var(--bad); box-sizing: border-box; }
.tiles figcaption { color: var(--pale); font-size: 12px; overflow-wrap: anywhere; }
)";

}  // namespace

std::string escaped(std::string_view text) {
  std::string html;
  for (const char c : printable_text(text)) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::string jpeg_uri(Bytes jpeg) {
  std::string text(4 * ((jpeg.size() + 2) / 3) + 1, '\0');
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                     reinterpret_cast<const unsigned char*>(jpeg.data()),
                                     static_cast<int>(jpeg.size()));
  text.resize(static_cast<std::size_t>(length));
  return "data:image/jpeg;base64," + text;
}

std::string number_cell(const std::string& text) {
  return "<td class=\"number\">" + text + "</td>";
}

std::string swatch(std::size_t label) {
  return "<i class=\"swatch\" style=\"background:" + hex_text(class_colour(label)) + "\"></i>";
}

std::string html_page(const std::string& title, const std::string& note, const std::string& body) {
  const std::string heading = escaped(title);
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         heading + "</title>\n<style>" + std::string(kStyleSheet) +
         "</style>\n</head>\n<body>\n<h1>" + heading + "</h1>\n<p class=\"note\">" + escaped(note) +
         "</p>\n" + body + "</body>\n</html>\n";
}

}  // namespace packhorse::drawing
