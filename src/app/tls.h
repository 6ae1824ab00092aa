#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/settings.h"
#include "base/clock.h"
#include "base/result.h"
#include "net/tls.h"

namespace cairn::app {

// The TLS context that the settings describe; null when they ask for none. An error names the file.
Result<std::shared_ptr<net::TlsContext>> LoadTls(const Config& config);

bool RespSpeaksTls(const Config& config);
bool HttpSpeaksTls(const Config& config);

// Whole days until the first certificate in a PEM file expires, negative when it has; nullopt if
// the file holds none.
std::optional<int> CertificateDaysLeft(const std::string& path, Timestamp now);

}  // namespace cairn::app
