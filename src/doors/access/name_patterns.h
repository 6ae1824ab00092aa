#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cairn::doors {

// A set of names, as text: names with commas between them, where a `*` at the end of one stands for
// anything that begins so.
//
//   emails,reports.*     emails, and every name that begins with "reports."
//
// One without patterns has no name. Where all names are meant, a null pointer stands for it. An
// immutable value once parsed; safe to use from any thread.
class NamePatterns {
 public:
  struct Pattern {
    std::string text;  // the name, or what names begin with
    bool prefix = false;
  };

  // Blanks around the names do not count. kInvalid if there is no name, or one that is not a name;
  // the message continues a sentence that begins with what `text` is for.
  static Result<NamePatterns> Parse(std::string_view text);

  bool Allows(std::string_view name) const;
  std::span<const Pattern> patterns() const { return patterns_; }
  // As given, without the blanks.
  std::string Describe() const;

 private:
  std::vector<Pattern> patterns_;
};

// Whether `names`, which may be null, has the name.
inline bool Allows(const NamePatterns* names, std::string_view name) {
  return names == nullptr || names->Allows(name);
}

}  // namespace cairn::doors
