#pragma once

#include <string_view>

namespace cairn::doors {

// Whether `text` as a whole matches a pattern of Redis's kind: * any bytes, ? any byte, [abc] [a-z]
// [^a] one byte of a set, \x the byte x itself. A set that is not closed ends with the pattern.
// Takes at most about pattern.size() * text.size() steps, whatever the pattern.
bool GlobMatch(std::string_view pattern, std::string_view text);

// The bytes that every match begins with: "user:" of "user:*". What an ordered store has to visit
// lies under them.
std::string_view GlobLiteralPrefix(std::string_view pattern);

}  // namespace cairn::doors
