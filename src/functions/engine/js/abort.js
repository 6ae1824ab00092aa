// AbortController and AbortSignal.
'use strict';
(function (host) {
  const { asInterface } = host.global('support');
  const Event = host.global('Event');
  const EventTarget = host.global('EventTarget');
  const MAX_DELAY_MS = 2 ** 31 - 1;
  const MADE_HERE = {};
  let abort;

  const exception = (message, name) => new (host.global('DOMException'))(message, name);
  const orAbortError = (reason) =>
    (reason === undefined ? exception('This operation was aborted', 'AbortError') : reason);

  class AbortSignal extends EventTarget {
    #aborted = false;
    #reason = undefined;
    #algorithms = [];

    static {
      abort = (signal, reason) => signal.#abort(reason);
    }

    constructor(key = undefined) {
      if (key !== MADE_HERE) throw new TypeError('AbortSignal: use an AbortController to make one');
      super();
    }

    static abort(reason = undefined) {
      const signal = new AbortSignal(MADE_HERE);
      signal.#abort(orAbortError(reason));
      return signal;
    }

    static timeout(milliseconds) {
      const ms = Number(milliseconds);
      if (!(ms >= 0 && ms <= Number.MAX_SAFE_INTEGER)) {
        throw new TypeError('AbortSignal.timeout: the time must be a number of milliseconds from 0');
      }
      const signal = new AbortSignal(MADE_HERE);
      const expire = () => signal.#abort(exception('The operation timed out', 'TimeoutError'));
      // No activation lives as long as a timer can be set.
      if (ms <= MAX_DELAY_MS) host.setTimer(expire, Math.trunc(ms), false);
      return signal;
    }

    static any(signals) {
      const all = [...signals];
      if (!all.every((one) => one instanceof AbortSignal)) {
        throw new TypeError('AbortSignal.any: the argument must be an iterable of AbortSignals');
      }
      const signal = new AbortSignal(MADE_HERE);
      const aborted = all.find((one) => one.#aborted);
      if (aborted) {
        signal.#abort(aborted.#reason);
      } else {
        for (const one of all) one.#algorithms.push(() => signal.#abort(one.#reason));
      }
      return signal;
    }

    get aborted() {
      return this.#aborted;
    }

    get reason() {
      return this.#reason;
    }

    throwIfAborted() {
      if (this.#aborted) throw this.#reason;
    }

    #abort(reason) {
      if (this.#aborted) return;
      this.#aborted = true;
      this.#reason = reason;
      const algorithms = this.#algorithms;
      this.#algorithms = [];
      for (const run of algorithms) run();
      this.dispatchEvent(new Event('abort'));
    }
  }
  host.global('eventHandlers')(AbortSignal, 'abort');

  class AbortController {
    #signal = new AbortSignal(MADE_HERE);

    get signal() {
      return this.#signal;
    }

    abort(reason = undefined) {
      abort(this.#signal, orAbortError(reason));
    }
  }

  return {
    AbortController: asInterface(AbortController),
    AbortSignal: asInterface(AbortSignal),
    // A signal that has no controller: [signal, function that aborts it].
    newSignal() {
      const signal = new AbortSignal(MADE_HERE);
      return [signal, (reason) => abort(signal, reason)];
    },
  };
})
