#pragma once

#include <string>
#include <string_view>

// Text as a JSON string (RFC 8259). Every JSON that is put together by hand uses this.
namespace cairn {

// Appends `text` with quotes around it. Quotes, backslashes and control bytes are escaped, the
// usual ones in their short form (\n), the others as \u001f. Bytes that are not well-formed UTF-8
// become U+FFFD, one each: the result is valid JSON whatever the text is.
void AppendJsonString(std::string_view text, std::string& out);

// The same as a string of its own.
std::string JsonString(std::string_view text);

}  // namespace cairn
