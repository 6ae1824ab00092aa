#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::house {

// One thing that an operator can choose. One name gives the other two: `tls.cert` in the file is
// CAIRN_TLS_CERT in the environment and --tls-cert on the command line. Help, `cairn config` and
// the table in docs/operations.md are made of the rows.
//
// A layer declares its rows (Declarations::AddSetting) and reads the values in Layer::Configure.
struct Setting {
  // How the value may stand in a TOML file. Elsewhere every value is text.
  enum class Kind : uint8_t {
    kText,    // a string
    kNumber,  // an integer, or a string with a unit
    kSwitch,  // true or false; on the command line a flag without a value
  };

  std::string name;
  Kind kind = Kind::kText;
  std::string value_name;    // in the help: "HOST:PORT"
  std::string accepts;       // after "expected": "an address such as 127.0.0.1:6666"
  std::string initial;       // the value where nobody has set it; empty: none
  std::string default_text;  // the same for people, who may need a sentence
  std::string description;
  bool secret = false;  // never printed

  // The value in its usual form ("1024KiB" is "1MiB"), nullopt for what is not accepted. Every
  // usual form is accepted and stays as it is. Called from any thread.
  std::function<std::optional<std::string>(std::string_view text)> normalize;

  std::string flag() const;         // "--tls-cert"
  std::string environment() const;  // "CAIRN_TLS_CERT"
};

// What every row says, whatever its kind.
struct SettingText {
  std::string_view name;
  std::string_view description;
};

// Rows of the usual kinds. Those without an initial value have none.

// `value_name` is "DIR" or "FILE".
Setting PathSetting(const SettingText& text, std::string value_name);
// A name or a part of one: printable, so that it can be shown and typed again.
Setting NameSetting(const SettingText& text, std::string initial = "");
Setting CountSetting(const SettingText& text, uint64_t initial, uint64_t least, uint64_t most);
Setting SizeSetting(const SettingText& text, uint64_t initial, uint64_t least, uint64_t most);
Setting DurationSetting(const SettingText& text, std::chrono::milliseconds initial,
                        std::chrono::milliseconds least, std::chrono::milliseconds most);
Setting SwitchSetting(const SettingText& text, bool initial);
Setting ChoiceSetting(const SettingText& text, const std::vector<std::string>& choices,
                      std::string initial);
// Any other text; see Setting for the rest.
Setting TextSetting(const SettingText& text, std::string value_name, std::string accepts,
                    std::function<std::optional<std::string>(std::string_view)> normalize);

// For a default that depends on something else.
Setting WithDefaultText(Setting row, std::string default_text);

}  // namespace cairn::house
