#pragma once

#include <map>
#include <string>
#include <string_view>

#include "doors/access/name_patterns.h"

namespace cairn::doors {

// What somebody may touch, by kind of resource. Layers name the kinds; each kind's names are
// patterns:
//
//   key     cart:*,user:*
//   event   summer-2026
//
// A kind that is not listed is closed. Whoever may touch everything has no grants: a null pointer
// wherever they are asked for. A value; a constant one is safe to use from any thread.
class Grants {
 public:
  void Add(std::string kind, NamePatterns names);

  // Null: nothing of this kind.
  const NamePatterns* Find(std::string_view kind) const;
  // "event summer-2026; key cart:*,user:*"
  std::string Describe() const;

 private:
  std::map<std::string, NamePatterns, std::less<>> names_;
};

// The names of `kind` that somebody with `grants` may touch. Null: all of them, because there are
// no grants.
const NamePatterns* NamesOf(const Grants* grants, std::string_view kind);

// What a row of a table touches of the resources that grants speak of. A row that does not say so
// touches anything: it is closed to everybody with grants, so that a row which forgets to say
// gives nothing away.
class Touches {
 public:
  static constexpr Touches Anything() { return Touches("*"); }
  static constexpr Touches Nothing() { return Touches(""); }
  // Its operation checks each name, and refuses or leaves out the others.
  static constexpr Touches Only(std::string_view kind) { return Touches(kind); }

  // Whether somebody with these grants, which may be null, gets as far as the row's operation.
  bool OpenTo(const Grants* grants) const;
  // The kind; "*" for anything, "" for nothing.
  std::string_view kind() const { return kind_; }
  friend bool operator==(const Touches&, const Touches&) = default;

 private:
  explicit constexpr Touches(std::string_view kind) : kind_(kind) {}
  std::string_view kind_;
};

}  // namespace cairn::doors
