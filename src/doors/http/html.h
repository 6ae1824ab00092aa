#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

// HTML made of patterns. What is put into a pattern is escaped, unless it is HTML already: nothing
// that a table or a client says can become markup.
//
//   HtmlOf("<li><code>{}</code> {}</li>", {name, Prose(summary)})
namespace cairn::doors {

struct Html {
  std::string text;

  Html& operator+=(const Html& more) {
    text += more.text;
    return *this;
  }
};

// For text between tags and between quotes in a tag.
std::string EscapeHtml(std::string_view text);

class HtmlPart {
 public:
  HtmlPart(std::string_view text) : html_(EscapeHtml(text)) {}
  HtmlPart(const std::string& text) : html_(EscapeHtml(text)) {}
  HtmlPart(const char* text) : html_(EscapeHtml(text)) {}
  HtmlPart(Html html) : html_(std::move(html.text)) {}

  const std::string& html() const { return html_; }

 private:
  std::string html_;
};

// The pattern with a part in place of each {}. Another number of parts is a bug of the caller and
// stops the process.
Html HtmlOf(std::string_view pattern, std::initializer_list<HtmlPart> parts);

// A sentence of a table, in which `this` is code.
Html Prose(std::string_view text);

}  // namespace cairn::doors
