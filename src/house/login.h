#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "house/terminal.h"

// What the command line remembers of a server: `cairn auth login`. One file of the user's,
// cairn/auth.json in the directory for configuration ($XDG_CONFIG_HOME, or ~/.config), which nobody
// else can read:
//
//   {"url":"https://cairn.example.com:8080","token":"ck_…","tenant":"t_abc123",
//    "namespace":"payments","ca_file":"/etc/ca.pem"}
//
// Variables of the environment override it, and flags override these.
namespace cairn::house {

inline constexpr std::string_view kUrlVariable = "CS_API_URL";
inline constexpr std::string_view kTokenVariable = "CS_TOKEN";
inline constexpr std::string_view kTenantVariable = "CS_TENANT";
inline constexpr std::string_view kNamespaceVariable = "CS_NAMESPACE";

// Empty if it is not set.
std::string ValueOf(const Environment& environment, std::string_view variable);

// Members that are empty are not in the file; `url` always is.
struct Login {
  std::string url;
  std::string token;  // a key or the server's password
  std::string tenant;
  std::string ns;
  std::string ca_file;
  friend bool operator==(const Login&, const Login&) = default;
};

// Where the login is kept; kNotFound if the environment names no home.
Result<std::string> LoginFile(const Environment& environment);
// nullopt: there is none. kForbidden for a file that others can read, and kInvalid for one that
// makes no sense; both say what to do.
Result<std::optional<Login>> ReadLogin(const Environment& environment);
// Replaces what was there, at once or not at all.
Result<void> WriteLogin(const Environment& environment, const Login& login);
// Whether there was one.
Result<bool> RemoveLogin(const Environment& environment);

}  // namespace cairn::house
