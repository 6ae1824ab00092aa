#pragma once

#include "house/verb.h"

// The command line's verbs for functions.
namespace cairn::functions {

house::Verb FnVerb();        // cairn fn ACTION …
house::Verb ScheduleVerb();  // cairn schedule ACTION …
house::Verb TriggerVerb();   // cairn trigger ACTION …
house::Verb HttpVerb();      // cairn http ACTION …: functions through the gateway
house::Verb AuthVerb();      // cairn auth ACTION: the login of this user

}  // namespace cairn::functions
