#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spdlog {
class logger;
}

namespace cairn {

enum class LogLevel { kDebug, kInfo, kWarn, kError };
enum class LogFormat { kText, kJson };

// One named value of a log line. Numbers and booleans stay such in JSON.
struct LogField {
  template <typename T>
  LogField(std::string_view field_name, const T& field_value)
      : name(field_name),
        value(fmt::format("{}", field_value)),
        quoted(!(std::is_arithmetic_v<T>)) {}

  std::string_view name;
  std::string value;
  bool quoted;
};

// A structured log on stderr: text for people, one JSON object per line for machines.
//   log.Info("listening", {{"protocol", "resp"}, {"address", "127.0.0.1:6666"}});
// Copies share the sink. Safe to use from any thread.
class Log {
 public:
  Log(LogLevel level, LogFormat format);
  // Writes nothing; for tests and tools.
  static Log Silent();

  void Debug(std::string_view message, const std::vector<LogField>& fields = {}) const;
  void Info(std::string_view message, const std::vector<LogField>& fields = {}) const;
  void Warn(std::string_view message, const std::vector<LogField>& fields = {}) const;
  void Error(std::string_view message, const std::vector<LogField>& fields = {}) const;
  bool enabled(LogLevel level) const;

 private:
  Log() = default;
  void Write(LogLevel level, std::string_view message, const std::vector<LogField>& fields) const;

  std::shared_ptr<spdlog::logger> logger_;  // null: silent
  LogFormat format_ = LogFormat::kText;
};

// One log line's payload (without time and level), as `format` has it.
std::string FormatLogLine(LogFormat format, std::string_view message,
                          const std::vector<LogField>& fields);

}  // namespace cairn
