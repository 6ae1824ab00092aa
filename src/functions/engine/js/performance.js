// performance.now: milliseconds since the activation began.
'use strict';
(function (host) {
  const timeOrigin = host.nowMs() - host.monotonicMs();
  return {
    performance: {
      timeOrigin,
      now: () => host.monotonicMs(),
      toJSON: () => ({ timeOrigin }),
    },
    navigator: { userAgent: 'Cairn' },
  };
})
