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
    host.setTimer(expire, context.remainingMs(), false, true);
    return signal;
  }

  const scope = host.global('stepScope');

  return (context) => {
    if (typeof context.env === 'object') Object.freeze(context.env);
    const recorded = context.recorded_steps;
    delete context.recorded_steps;
    scope.current = null;
    let signal = null;
    let steps = null;
    const inSteps = (name) => ({ value: (...args) => (steps ??= host.global('steps')(context, recorded))[name](...args) });
    Object.defineProperties(context, {
      remainingMs: { value: remainingMs },
      signal: { get: () => (signal ??= signalOf(context)) },
      step: inSteps('step'),
      sleep: inSteps('sleep'),
      waitForEvent: inSteps('waitForEvent'),
      invoke: inSteps('invoke'),
      all: inSteps('all'),
    });
    // A function that asks for no step any more has to be found out too.
    if (recorded) steps = host.global('steps')(context, recorded);
    return context;
  };
})
