// Timers and microtasks. A timer that is due after the function has answered never fires.
'use strict';
(function (host) {
  const MAX_DELAY_MS = 2 ** 31 - 1;

  function callback(name, value) {
    if (typeof value !== 'function') throw new TypeError(`${name}: the callback must be a function`);
    return value;
  }

  // As in browsers: what is no number is 0, what is out of range is 1.
  function delay(value) {
    const ms = Math.trunc(Number(value)) || 0;
    return ms > MAX_DELAY_MS ? 1 : Math.max(0, ms);
  }

  function bind(call, args) {
    return args.length === 0 ? call : () => call(...args);
  }

  function setTimeout(call, ms, ...args) {
    return host.setTimer(bind(callback('setTimeout', call), args), delay(ms), false);
  }

  // An interval of 0 would never let anything else run.
  function setInterval(call, ms, ...args) {
    return host.setTimer(bind(callback('setInterval', call), args), Math.max(1, delay(ms)), true);
  }

  function setImmediate(call, ...args) {
    return host.setTimer(bind(callback('setImmediate', call), args), 0, false);
  }

  function clear(id) {
    const number = Number(id);
    if (Number.isInteger(number) && number >= 0 && number <= Number.MAX_SAFE_INTEGER) {
      host.clearTimer(number);
    }
  }

  const enqueue = host.queueMicrotask;
  return {
    setTimeout,
    setInterval,
    setImmediate,
    clearTimeout: (id) => clear(id),
    clearInterval: (id) => clear(id),
    clearImmediate: (id) => clear(id),
    queueMicrotask: (call) => {
      callback('queueMicrotask', call);
      enqueue(() => {
        try {
          call();
        } catch (error) {
          host.log('error', `queueMicrotask: uncaught ${host.global('inspect')(error)}`);
        }
      });
    },
  };
})
