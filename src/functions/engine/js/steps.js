// ctx.step, ctx.sleep, ctx.waitForEvent, ctx.invoke and ctx.all: (context, recorded) => the five functions.
//
// Each call of one of them has a position, counted from 0 in the order of the calls. The server keeps, by
// position, what came of it, and in which order. A run that finds such a history settles what it has in that
// same order, one at a time with all that follows from it, so that the function makes the same calls again;
// from there on it really runs. A run that waits, and has nothing else to do, is left: another one goes on.
'use strict';
(function (host) {
  const MAX_NAME_BYTES = 128;
  const MAX_RETRIES = 100;
  const MAX_DELAY_MS = 30 * 86400 * 1000;
  const DEFAULT_BACKOFF = { initialMs: 1000, factor: 2, maxMs: 300000 };

  const scope = host.global('stepScope');

  // What was asked and is refused can be caught by nobody: what the server has kept is not known then.
  async function ask(op, text) {
    let reply;
    try {
      reply = await host.call(op, text);
    } catch (error) {
      host.leave('StepRefused', error.message);
    }
    return JSON.parse(reply);
  }

  function nameOf(value, what) {
    if (typeof value !== 'string' || value === '') throw new TypeError(`${what} must be a string that is not empty`);
    if (host.utf8Encode(value).length > MAX_NAME_BYTES) throw new TypeError(`${what} has up to ${MAX_NAME_BYTES} bytes`);
    return value;
  }

  function number(value, least, most, what) {
    if (typeof value !== 'number' || !(value >= least && value <= most)) {
      throw new TypeError(`${what} must be a number from ${least} to ${most}`);
    }
    return value;
  }

  function objectOf(value, what) {
    if (value === undefined) return {};
    if (typeof value !== 'object' || value === null) throw new TypeError(`${what} must be an object`);
    return value;
  }

  function policyOf(options) {
    const { retries = 0, backoff } = objectOf(options, 'ctx.step: the options');
    if (!Number.isInteger(retries)) throw new TypeError('ctx.step: retries must be a whole number');
    number(retries, 0, MAX_RETRIES, 'ctx.step: retries');
    const given = typeof backoff === 'number' ? { initialMs: backoff, factor: 1 } : objectOf(backoff, 'ctx.step: backoff');
    const { initialMs, factor, maxMs } = { ...DEFAULT_BACKOFF, ...given };
    number(initialMs, 0, MAX_DELAY_MS, 'ctx.step: backoff.initialMs');
    number(factor, 1, 100, 'ctx.step: backoff.factor');
    number(maxMs, 0, MAX_DELAY_MS, 'ctx.step: backoff.maxMs');
    const delayOf = (attempt) => Math.ceil(Math.min(maxMs, initialMs * factor ** (attempt - 1)));
    return { retries, delayOf };
  }

  // JSON, or undefined for what is not there.
  function written(value, what) {
    try {
      return JSON.stringify(value);
    } catch (error) {
      throw new TypeError(`${what} cannot be written as JSON: ${error.message}`);
    }
  }

  function describe(error) {
    if (typeof error === 'object' && error !== null && typeof error.message === 'string') {
      return { type: String(error.name ?? 'Error'), message: error.message, stack: String(error.stack ?? '') };
    }
    return { type: 'Error', message: typeof error === 'string' ? error : host.global('inspect')(error), stack: '' };
  }

  // The same whether it was thrown in this run or in an earlier one.
  function errorOf({ type, message, stack }) {
    const error = new Error(message);
    const define = (name, value) => Object.defineProperty(error, name, { value, writable: true, configurable: true });
    define('name', type);
    if (stack) define('stack', stack);
    return error;
  }

  function show({ kind, name }) {
    const quoted = JSON.stringify(name);
    if (kind === 'step') return `the step ${quoted}`;
    if (kind === 'event') return `a wait for the event ${quoted}`;
    return kind === 'invoke' ? `an invocation of ${quoted}` : 'a sleep';
  }

  function mismatch(position, came, recorded) {
    host.leave(
      'StepMismatch',
      `position ${position}: the function has ${came} there, its history has ${show(recorded)}. Code that goes on from ` +
        'a history has to make the same calls in the same order: point the alias to such a version, or restart the ' +
        'activation from an earlier step',
    );
  }

  return (context, recorded) => {
    let next = 0; // position of the next call
    let loaded = !recorded;
    let pumping = false;
    const early = []; // calls made before the history was there
    const records = new Map(); // the history, by position
    const queue = []; // {record, call} in the order in which they are settled; a recorded one's call may be yet to come
    const arrived = new Map(); // calls whose record waits in the queue, by position
    const open = new Map(); // steps that run, by position
    const waits = new Map(); // calls that wait for something, by position

    function settle(call, record) {
      if (record.state === 'done') {
        call.resolve(record.value === undefined ? undefined : record.value);
      } else {
        call.reject(errorOf(record.error));
      }
    }

    // One after the other, each with everything that follows from it.
    function pump() {
      if (pumping || queue.length === 0) return;
      const { record } = queue[0];
      const call = queue[0].call ?? arrived.get(record.position);
      if (call === undefined) return;
      pumping = true;
      host.setTimer(() => {
        pumping = false;
        queue.shift();
        settle(call, record);
        pump();
      }, 0, false, false);
    }

    function deliver(call, record) {
      if (queue.length === 0) return settle(call, record);
      queue.push({ call, record });
      pump();
    }

    async function run(call, attempt) {
      const { position, name } = call;
      let ended = false;
      const cs = host.global('csForStep')((what) => {
        if (!ended) return position;
        throw new Error(`${what}: the step ${JSON.stringify(name)} has ended; await in it what belongs to it`);
      });
      const began = host.nowMs();
      let value;
      let error = null;
      open.set(position, call);
      try {
        value = written(await call.run({ cs, attempt, name }), `the result of the step ${JSON.stringify(name)}`);
      } catch (thrown) {
        error = describe(thrown);
      }
      ended = true;
      open.delete(position);
      const say = { position, name, attempt, duration_ms: Math.max(0, host.nowMs() - began) };
      if (error === null) {
        const text = JSON.stringify(say);
        const reply = await ask('steps.done', value === undefined ? text : `${text.slice(0, -1)},"value":${value}}`);
        if (reply.refused === undefined) {
          return deliver(call, { state: 'done', value: value === undefined ? undefined : JSON.parse(value) });
        }
        error = { type: 'Error', message: reply.refused, stack: '' };
      }
      const again = attempt <= call.policy.retries;
      if (again) say.retry_ms = call.policy.delayOf(attempt);
      await ask('steps.done', JSON.stringify({ ...say, error }));
      if (again) {
        waits.set(position, call);
      } else {
        deliver(call, { state: 'failed', error });
      }
    }

    async function start(call) {
      const { position, kind, name } = call;
      waits.set(position, call);
      const text = JSON.stringify({ position, kind, name, ...call.args });
      const { record } = await ask('steps.start', call.event === undefined ? text : `${text.slice(0, -1)},"event":${call.event}}`);
      if (record === undefined) return;
      waits.delete(position);
      deliver(call, record);
    }

    function begin(call) {
      const record = records.get(call.position);
      if (record === undefined) {
        if (call.kind === 'step') {
          run(call, 1);
        } else {
          start(call);
        }
        return;
      }
      if (record.kind !== call.kind || record.name !== call.name) mismatch(call.position, show(call), record);
      if (record.state === 'waiting') {
        waits.set(call.position, call);
      } else if (record.state === 'retrying') {
        waits.set(call.position, call);
        if (record.due) again(record);
      } else {
        arrived.set(call.position, call);
        pump();
      }
    }

    // A step whose time to be tried again has come.
    function again({ position, attempts }) {
      const call = waits.get(position);
      if (call === undefined) return;
      waits.delete(position);
      run(call, attempts + 1);
    }

    let settleLoaded;
    const untilLoaded = new Promise((resolve) => {
      settleLoaded = resolve;
    });

    async function load() {
      const reply = await ask('steps.load', '{}');
      for (const record of reply.records) {
        record.name ??= '';
        record.due = reply.due.includes(record.position);
        records.set(record.position, record);
        if (record.state === 'done' || record.state === 'failed') queue.push({ record });
      }
      queue.sort((a, b) => a.record.seq - b.record.seq);
      loaded = true;
      for (const call of early.splice(0)) begin(call);
      pump();
      settleLoaded();
    }

    async function wait() {
      const reply = await ask('steps.wait', '{}');
      if (reply.leave) host.leave();
      for (const record of reply.records) {
        if (record.state === 'retrying') {
          again(record);
        } else {
          const call = waits.get(record.position);
          waits.delete(record.position);
          queue.push({ call, record });
        }
      }
      pump();
    }

    function add(call) {
      call.position = next++;
      const promise = new Promise((resolve, reject) => {
        call.resolve = resolve;
        call.reject = reject;
      });
      if (loaded) {
        begin(call);
      } else {
        early.push(call);
      }
      return promise;
    }

    // What the history has and the function has not asked for.
    function checkAllAsked() {
      const missing = queue.find(({ call, record }) => call === undefined && !arrived.has(record.position));
      if (missing !== undefined) mismatch(missing.record.position, 'nothing', missing.record);
    }

    host.watch(
      () => {
        if (!loaded) return false;
        checkAllAsked();
        // A step that can never end is no reason to sleep.
        if (waits.size === 0 || open.size > 0) return false;
        wait();
        return true;
      },
      async () => {
        if (!loaded) await untilLoaded;
        checkAllAsked();
      },
    );

    scope.current = (what) => {
      if (open.size <= 1) return open.keys().next().value;
      const names = [...open.values()].map(({ name }) => JSON.stringify(name)).join(', ');
      throw new Error(
        `${what}: the steps ${names} are open, and it cannot be told which one this belongs to. Use the cs that the ` +
          'function of a step is given: ctx.step(name, async ({ cs }) => …)',
      );
    };

    function step(name, run, options = undefined) {
      const call = { kind: 'step', name: nameOf(name, 'ctx.step: the name'), run, policy: policyOf(options) };
      if (typeof run !== 'function') throw new TypeError('ctx.step: what is run must be a function');
      return add(call);
    }

    function sleep(time) {
      let until = time instanceof Date ? time.getTime() : null;
      if (typeof time === 'string') until = Date.parse(time);
      if (until !== null) {
        if (Number.isNaN(until)) throw new TypeError('ctx.sleep: the time is not a date');
        return add({ kind: 'sleep', name: '', args: { until_ms: Math.min(Math.max(0, until), Number.MAX_SAFE_INTEGER) } });
      }
      const delay = Math.ceil(number(time, 0, MAX_DELAY_MS, 'ctx.sleep: the time, in milliseconds,'));
      return add({ kind: 'sleep', name: '', args: { delay_ms: delay } });
    }

    function waitForEvent(name, options = undefined) {
      const { timeout } = objectOf(options, 'ctx.waitForEvent: the options');
      const args = {};
      if (timeout !== undefined) {
        args.delay_ms = Math.ceil(number(timeout, 0, MAX_DELAY_MS, 'ctx.waitForEvent: timeout, in milliseconds,'));
      }
      return add({ kind: 'event', name: nameOf(name, 'ctx.waitForEvent: the name'), args });
    }

    function invoke(target, event = {}) {
      const given = typeof target === 'string' ? { function: target } : objectOf(target, 'ctx.invoke: the function');
      const name = nameOf(given.function, 'ctx.invoke: the name of the function');
      const ref = {};
      if (given.version !== undefined) ref.version = given.version;
      if (given.alias !== undefined) ref.alias = given.alias;
      if (given.version === undefined && given.alias === undefined) {
        if (context.ref?.alias === undefined) {
          throw new TypeError('ctx.invoke: say which version: { function, alias } or { function, version }');
        }
        ref.alias = context.ref.alias;
      }
      const text = written(event, 'ctx.invoke: the event');
      if (text === undefined) throw new TypeError('ctx.invoke: the event cannot be written as JSON');
      return add({ kind: 'invoke', name, args: { ref }, event: text });
    }

    // Waits for all, so that none is left half-way when another fails.
    async function all(list) {
      const settled = await Promise.allSettled(Array.from(list, (one) => (typeof one === 'function' ? one() : one)));
      const failed = settled.find(({ status }) => status === 'rejected');
      if (failed !== undefined) throw failed.reason;
      return settled.map(({ value }) => value);
    }

    if (!loaded) load();
    return { step, sleep, waitForEvent, invoke, all };
  };
})
