#pragma once

#include "app/config.h"
#include "app/settings.h"
#include "base/result.h"
#include "house/api_client.h"
#include "house/server_url.h"

namespace cairn::app {

// Where this machine reaches the server that runs with these settings; an error if they let the
// system choose the port.
Result<house::Url> UrlOf(const Config& config);

// The server at `url`, with the settings' password.
Result<house::ServerAccess> AccessTo(const Config& config, const std::string& url,
                                     const std::string& ca_file);

// Which server a command asks, and with what secret. The first of these that is there counts:
//
//   address   `url`, the setting `http` if somebody has set it, CS_API_URL, the login
//   (house/login.h),
//             the default
//   secret    the settings' password, CS_TOKEN, the login's token, if this is the login's server
//
// An error is fit for the command line.
Result<house::ServerAccess> AccessTo(const LoadedConfig& loaded, const std::string& url,
                                     const std::string& ca_file, const Environment& environment);

}  // namespace cairn::app
