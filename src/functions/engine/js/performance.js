// performance.now: milliseconds since the activation began.
'use strict';
(function (host) {
  // A global may serve several activations, each with an origin of its own.
  const timeOrigin = () => host.nowMs() - host.monotonicMs();
  return {
    performance: {
      get timeOrigin() {
        return timeOrigin();
      },
      now: () => host.monotonicMs(),
      toJSON: () => ({ timeOrigin: timeOrigin() }),
    },
    navigator: { userAgent: 'Cairn' },
  };
})
