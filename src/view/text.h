#pragma once

#include <string>
#include <string_view>

// Texts as people read them, and as they type them into a search.
namespace cairn::view {

// The names, strings, numbers, true, false and null of a JSON text, a line each, with nothing
// escaped: "gr\u00fc\u00df" is grüß. Numbers are as written. What is no JSON is returned as it is.
std::string DecodedText(std::string_view json);

// `text` with all letters that differ only in case made the same. What is no UTF-8 stays as it is.
std::string FoldCase(std::string_view text);

// Whether `folded`, which FoldCase has made, is part of `text` or, if that is JSON, of what it
// says.
bool ContainsFolded(std::string_view text, std::string_view folded);
bool JsonContainsFolded(std::string_view json, std::string_view folded);

}  // namespace cairn::view
