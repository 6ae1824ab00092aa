'use strict';
const sleep = (ms, value) => new Promise((resolve) => setTimeout(resolve, ms, value));

test('timers fire in the order of their time', async () => {
  const seen = [];
  setTimeout((what) => seen.push(what), 20, 'late');
  setTimeout(() => seen.push('early'), 5);
  setImmediate((what) => seen.push(what), 'now');
  queueMicrotask(() => seen.push('first'));
  await sleep(30);
  check.equal(seen, ['first', 'now', 'early', 'late']);
});

test('an interval runs until it is cleared', async () => {
  let calls = 0;
  await new Promise((resolve) => {
    const id = setInterval(() => {
      if (++calls === 3) {
        clearInterval(id);
        resolve();
      }
    }, 1);
  });
  await sleep(10);
  check.equal(calls, 3);
});

test('what is cleared does not fire, and what is unknown is no error', async () => {
  let fired = false;
  clearTimeout(setTimeout(() => { fired = true; }, 1));
  for (const id of [undefined, null, NaN, -1, {}, '12345678']) clearTimeout(id);
  check.equal(await sleep(5, 'value'), 'value');
  check.equal(fired, false);
});

test('a callback must be a function', () => {
  check.throws(() => setTimeout('alert(1)'), 'TypeError', /setTimeout: the callback must be a function/);
  check.throws(() => queueMicrotask(), 'TypeError');
});

test('performance counts from the start of the activation', () => {
  const now = performance.now();
  check.ok(now >= 0 && performance.now() >= now);
  check.ok(Math.abs(performance.timeOrigin + performance.now() - Date.now()) < 1e12);
  check.equal(navigator.userAgent, 'Cairn');
});
