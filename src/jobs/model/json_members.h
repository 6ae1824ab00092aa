#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// JSON taken apart without being understood: the bytes of a member, as they were given, so that a
// payload comes back as it went in, large numbers and all.
namespace cairn::jobs {

struct RawMember {
  std::string name;       // decoded
  std::string_view json;  // its value, without blanks around it; into the text
};
// The members of an object, in order, a repeated one as often as it is there; nullopt for text that
// is no JSON object.
std::optional<std::vector<RawMember>> MembersOf(std::string_view text);
// The name of a member that is there twice. Readers of JSON differ in which of the two they go by,
// so what has both means one thing to one and another to the next.
std::optional<std::string> FindRepeated(const std::vector<RawMember>& members);
// The items of an array; nullopt for text that is no JSON array.
std::optional<std::vector<std::string_view>> ItemsOf(std::string_view text);

// A JSON string, decoded; nullopt for another value.
std::optional<std::string> StringOf(std::string_view json);

}  // namespace cairn::jobs
