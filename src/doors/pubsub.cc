#include "doors/pubsub.h"

namespace cairn::doors {

void PubSub::PublishKeyEvent(store::Transaction& /*transaction*/, uint8_t /*db*/,
                             std::string_view /*event*/, std::string_view /*key*/) {}

}  // namespace cairn::doors
