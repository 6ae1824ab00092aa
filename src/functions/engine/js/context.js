// Completes `ctx`, the second argument of a handler: (object of the context's JSON) => ctx.
'use strict';
(function (host) {
  function remainingMs() {
    return Math.max(0, this.deadline_ms - host.nowMs());
  }

  // Aborted at the deadline; made when it is first asked for, since few functions do.
  function signalOf(context) {
    const [signal, abort] = host.global('newAbortSignal')();
    const DOMException = host.global('DOMException');
    const expire = () => abort(new DOMException('The deadline of the activation has passed', 'TimeoutError'));
    host.setTimer(expire, context.remainingMs(), false);
    return signal;
  }

  return (context) => {
    if (typeof context.env === 'object') Object.freeze(context.env);
    let signal = null;
    Object.defineProperties(context, {
      remainingMs: { value: remainingMs },
      signal: { get: () => (signal ??= signalOf(context)) },
    });
    return context;
  };
})
