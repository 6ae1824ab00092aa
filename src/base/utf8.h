#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cairn {

// The length of the well-formed UTF-8 sequence at the start of `text`, which is not empty; 0 if
// there is none.
size_t Utf8SequenceLength(std::string_view text);

bool IsUtf8(std::string_view text);

// `text` as UTF-8 of at most `limit` bytes: what is not well-formed becomes U+FFFD, and no
// character is cut in two.
std::string CleanText(std::string_view text, size_t limit);

}  // namespace cairn
