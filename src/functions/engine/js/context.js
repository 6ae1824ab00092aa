// Completes `ctx`, the second argument of a handler: (object of the context's JSON) => ctx.
'use strict';
(function (host) {
  // Promises of waitUntil that have not settled, by context.
  const open = new WeakMap();

  function remainingMs() {
    return Math.max(0, this.deadline_ms - host.nowMs());
  }

  // Aborted at the deadline, and when nobody waits for the answer any more; made when it is first asked
  // for, since few functions do.
  function signalOf(context) {
    const [signal, abort] = host.global('newAbortSignal')();
    const abortWith = (message, name) => abort(new (host.global('DOMException'))(message, name));
    host.setTimer(() => abortWith('The deadline of the activation has passed', 'TimeoutError'), context.remainingMs(), false);
    const left = host.onAbort((message) => abortWith(message, 'AbortError'));
    if (left !== undefined) abortWith(left, 'AbortError');
    return signal;
  }

  function waitUntil(context, value) {
    const left = open.get(context);
    if (left === undefined) throw new TypeError('ctx.waitUntil: the activation has ended');
    const promise = Promise.resolve(value).then(() => left.delete(promise), (error) => {
      left.delete(promise);
      host.log('error', `a promise of ctx.waitUntil was rejected: ${host.global('inspect')(error)}`);
    });
    left.add(promise);
  }

  // A promise of the end of all that waitUntil was given, and is given meanwhile; undefined if that is
  // nothing.
  function background(context) {
    const left = open.get(context);
    return left === undefined || left.size === 0 ? undefined : untilEmpty(left);
  }

  async function untilEmpty(left) {
    while (left.size > 0) await Promise.all(left);
  }

  function complete(context) {
    if (typeof context.env === 'object') Object.freeze(context.env);
    let signal = null;
    open.set(context, new Set());
    Object.defineProperties(context, {
      remainingMs: { value: remainingMs },
      signal: { get: () => (signal ??= signalOf(context)) },
      waitUntil: { value: (promise) => waitUntil(context, promise) },
    });
    return context;
  }

  return { complete, background };
})
