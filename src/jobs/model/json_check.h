#pragma once

#include <cstdint>
#include <string_view>

namespace cairn::jobs {

enum class JsonKind : uint8_t { kAny, kObject };
// Whether the text is one JSON value, of this kind, no deeper than 256. Makes no copy of it.
bool IsJson(std::string_view text, JsonKind kind = JsonKind::kAny);

}  // namespace cairn::jobs
