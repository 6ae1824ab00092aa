#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "base/json_text.h"

namespace cairn {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

}  // namespace

std::string FormatLogLine(LogFormat format, std::string_view message,
                          const std::vector<LogField>& fields) {
  std::string line;
  if (format == LogFormat::kText) {
    line = message;
    for (const LogField& field : fields) {
      const bool plain = field.value.find_first_of(" \t\r\n\"=") == std::string::npos;
      line += plain ? fmt::format(" {}={}", field.name, field.value)
                    : fmt::format(" {}={}", field.name, JsonString(field.value));
    }
    return line;
  }
  line = fmt::format(R"("message":{})", JsonString(message));
  for (const LogField& field : fields) {
    line += field.quoted ? fmt::format(R"(,"{}":{})", field.name, JsonString(field.value))
                         : fmt::format(R"(,"{}":{})", field.name, field.value);
  }
  return line;
}

Log::Log(LogLevel level, LogFormat format) : format_(format) {
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  logger_ = std::make_shared<spdlog::logger>("cairn", std::move(sink));
  logger_->set_level(ToSpdlog(level));
  logger_->set_pattern(format == LogFormat::kJson
                           ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",%v})"
                           : "%H:%M:%S.%e %^%-5l%$ %v");
  logger_->flush_on(spdlog::level::debug);
}

Log Log::Silent() { return Log(); }

bool Log::enabled(LogLevel level) const {
  return logger_ != nullptr && logger_->should_log(ToSpdlog(level));
}

void Log::Write(LogLevel level, std::string_view message,
                const std::vector<LogField>& fields) const {
  if (enabled(level)) logger_->log(ToSpdlog(level), FormatLogLine(format_, message, fields));
}

void Log::Debug(std::string_view message, const std::vector<LogField>& fields) const {
  Write(LogLevel::kDebug, message, fields);
}
void Log::Info(std::string_view message, const std::vector<LogField>& fields) const {
  Write(LogLevel::kInfo, message, fields);
}
void Log::Warn(std::string_view message, const std::vector<LogField>& fields) const {
  Write(LogLevel::kWarn, message, fields);
}
void Log::Error(std::string_view message, const std::vector<LogField>& fields) const {
  Write(LogLevel::kError, message, fields);
}

}  // namespace cairn
