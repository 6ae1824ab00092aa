#pragma once

#include "house/verb.h"

namespace cairn::actors {

// `cairn actors ACTION …`: asks a running server about actors, creates and destroys them, reads and
// writes their entries.
house::Verb ActorsVerb();

}  // namespace cairn::actors
