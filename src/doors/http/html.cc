#include "doors/http/html.h"

#include "base/check.h"

namespace cairn::doors {

std::string EscapeHtml(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

Html HtmlOf(std::string_view pattern, std::initializer_list<HtmlPart> parts) {
  Html made;
  std::string_view rest = pattern;
  for (const HtmlPart& part : parts) {
    const size_t place = rest.find("{}");
    CAIRN_CHECK(place != std::string_view::npos, "too many parts for {}", pattern);
    made.text += rest.substr(0, place);
    made.text += part.html();
    rest.remove_prefix(place + 2);
  }
  CAIRN_CHECK(rest.find("{}") == std::string_view::npos, "too few parts for {}", pattern);
  made.text += rest;
  return made;
}

Html Prose(std::string_view text) {
  Html made;
  while (!text.empty()) {
    const size_t open = text.find('`');
    const size_t close = open == std::string_view::npos ? open : text.find('`', open + 1);
    if (close == std::string_view::npos) break;
    made += HtmlOf("{}<code>{}</code>",
                   {text.substr(0, open), text.substr(open + 1, close - open - 1)});
    text.remove_prefix(close + 1);
  }
  made.text += EscapeHtml(text);
  return made;
}

}  // namespace cairn::doors
