'use strict';
test('listeners are called once each, in order', () => {
  const target = new EventTarget();
  const seen = [];
  const first = () => seen.push('first');
  target.addEventListener('x', first);
  target.addEventListener('x', first);
  target.addEventListener('x', { handleEvent: (event) => seen.push(event.type, event.target === target) });
  target.addEventListener('x', () => seen.push('once'), { once: true });
  target.dispatchEvent(new Event('x'));
  target.removeEventListener('x', first);
  target.dispatchEvent(new CustomEvent('x', { detail: 1 }));
  check.equal(seen, ['first', 'x', true, 'once', 'x', true]);
});

test('a listener can cancel, stop and be removed by a signal', () => {
  const target = new EventTarget();
  const controller = new AbortController();
  let calls = 0;
  target.addEventListener('x', (event) => { calls++; event.preventDefault(); event.stopImmediatePropagation(); }, { signal: controller.signal });
  target.addEventListener('x', () => { calls += 10; });
  check.equal(target.dispatchEvent(new Event('x', { cancelable: true })), false);
  controller.abort();
  check.equal(target.dispatchEvent(new Event('x', { cancelable: true })), true);
  check.equal(calls, 11);
});

test('a listener that throws harms nobody else', () => {
  const target = new EventTarget();
  let called = false;
  target.addEventListener('x', () => { throw new Error('mine'); });
  target.addEventListener('x', () => { called = true; });
  target.dispatchEvent(new Event('x'));
  check.ok(called);
  check.throws(() => target.dispatchEvent({}), 'TypeError');
});

test('a controller aborts its signal once', () => {
  const controller = new AbortController();
  const { signal } = controller;
  const seen = [];
  signal.onabort = (event) => seen.push(event.type, event.target === signal);
  signal.throwIfAborted();
  controller.abort('why');
  controller.abort('again');
  check.equal(seen, ['abort', true]);
  check.equal([signal.aborted, signal.reason], [true, 'why']);
  check.throws(() => AbortSignal.abort().throwIfAborted(), 'AbortError');
  check.throws(() => new AbortSignal(), 'TypeError');
});

test('any follows the first of its signals', () => {
  const [a, b] = [new AbortController(), new AbortController()];
  const any = AbortSignal.any([a.signal, b.signal]);
  const nested = AbortSignal.any([any]);
  b.abort(2);
  a.abort(1);
  check.equal([any.reason, nested.reason], [2, 2]);
  check.equal(AbortSignal.any([AbortSignal.abort(3), b.signal]).reason, 3);
  check.throws(() => AbortSignal.any([{}]), 'TypeError');
});

test('a time-out aborts with a TimeoutError', async () => {
  const signal = AbortSignal.timeout(5);
  check.equal(signal.aborted, false);
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
  check.equal(signal.reason.name, 'TimeoutError');
  check.throws(() => AbortSignal.timeout(-1), 'TypeError');
});

test('a DOMException is an error with a name and a code', () => {
  const error = new DOMException('gone', 'NotFoundError');
  check.ok(error instanceof Error);
  check.equal([error.name, error.message, error.code, `${error}`], ['NotFoundError', 'gone', 8, 'NotFoundError: gone']);
  check.equal([DOMException.ABORT_ERR, DOMException.INVALID_STATE_ERR, new DOMException().name], [20, 11, 'Error']);
  check.equal(new DOMException('x', { name: 'A', cause: 1 }).cause, 1);
  check.ok(typeof error.stack === 'string');
});
