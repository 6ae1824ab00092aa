#include "app/server_access.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "app/tls.h"
#include "house/login.h"

namespace cairn::app {
namespace {

bool IsSet(const LoadedConfig& loaded, std::string_view setting) {
  const std::vector<Setting>& settings = Settings();
  const auto row = std::ranges::find(settings, setting, &Setting::name);
  return loaded.origins.at(static_cast<size_t>(row - settings.begin())) != "default";
}

bool IsSame(const house::Url& a, const house::Url& b) {
  return a.tls == b.tls && a.address.host == b.address.host && a.address.port == b.address.port;
}

}  // namespace

Result<house::Url> UrlOf(const Config& config) {
  house::Url url{.tls = HttpSpeaksTls(config), .address = config.http};
  if (url.address.host == "0.0.0.0") url.address.host = "127.0.0.1";
  if (url.address.host == "::") url.address.host = "::1";
  if (url.address.port == 0) {
    return Error{ErrorCode::kInvalid,
                 "the settings do not say where the server listens; say so with --url"};
  }
  return url;
}

Result<house::ServerAccess> AccessTo(const Config& config, const std::string& url,
                                     const std::string& ca_file) {
  CAIRN_ASSIGN_OR_RETURN(house::Url place, house::ParseUrl(url));
  return house::ServerAccess{std::move(place), ca_file, config.password};
}

Result<house::ServerAccess> AccessTo(const LoadedConfig& loaded, const std::string& url,
                                     const std::string& ca_file, const Environment& environment) {
  Result<std::optional<house::Login>> read = house::ReadLogin(environment);
  // A login that makes no sense is no help, and no hindrance to who needs none.
  if (!read.ok() && !url.empty()) read = std::optional<house::Login>();
  if (!read.ok()) return read.error();
  const std::optional<house::Login>& login = *read;
  std::optional<house::Url> of_login;
  if (login) {
    CAIRN_ASSIGN_OR_RETURN(of_login, house::ParseUrl(login->url));
  }
  house::ServerAccess access{.url = {}, .ca_file = ca_file, .password = loaded.config.password};
  const std::string from_environment = house::ValueOf(environment, house::kUrlVariable);
  if (!url.empty()) {
    CAIRN_ASSIGN_OR_RETURN(access.url, house::ParseUrl(url));
  } else if (IsSet(loaded, "http")) {
    CAIRN_ASSIGN_OR_RETURN(access.url, UrlOf(loaded.config));
  } else if (!from_environment.empty()) {
    CAIRN_ASSIGN_OR_RETURN(access.url, house::ParseUrl(from_environment));
  } else if (of_login) {
    access.url = *of_login;
  } else {
    CAIRN_ASSIGN_OR_RETURN(access.url, UrlOf(loaded.config));
  }
  if (access.password.empty()) {
    access.password = house::ValueOf(environment, house::kTokenVariable);
  }
  // A login's secrets are for its server and nobody else.
  if (of_login && IsSame(access.url, *of_login)) {
    if (access.password.empty()) access.password = login->token;
    if (access.ca_file.empty()) access.ca_file = login->ca_file;
  }
  return access;
}

}  // namespace cairn::app
