#pragma once

#include <string>
#include <string_view>

#include "outside/address_policy.h"

// Where webhooks may be sent. Whoever may create one makes the server send requests from where it
// stands, which may be inside a network that its clients are outside of: so addresses that are not
// public are refused unless the operator allows them.
namespace cairn::jobs {

using outside::HideCredentials;
using outside::IpAddress;
using outside::IpNetwork;
using WebhookTargets = outside::AddressPolicy;

// How errors about an address that is refused end.
inline constexpr std::string_view kHowToAllow = ": the setting webhooks.allow can permit it";
// What to tell whoever wants a webhook sent to `target`: "10.0.0.1, a private address".
std::string WebhookRefusal(std::string_view target);

}  // namespace cairn::jobs
