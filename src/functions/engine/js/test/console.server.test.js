'use strict';
const shown = (...args) => {
  console.log(...args);
  return server.log[server.log.length - 1][1];
};

test('values look as in node', () => {
  check.equal(shown('a', 1, true, null, undefined, 1n, -0), 'a 1 true null undefined 1n -0');
  check.equal(shown({ a: 'x', 'b-c': [1, 'y', , 2], [Symbol('s')]: {} }), "{ a: 'x', 'b-c': [ 1, 'y', <1 empty item>, 2 ], [Symbol(s)]: {} }");
  check.equal(shown([new Map([['k', { v: 1 }]]), new Set([1])]), "[ Map(1) { 'k' => { v: 1 } }, Set(1) { 1 } ]");
  check.equal(shown(class A {}, function f() {}, () => 1), '[class A] [Function: f] [Function (anonymous)]');
  check.equal(shown(new (class Point { x = 1; })()), 'Point { x: 1 }');
  check.equal(shown([new Date(0), /x/g, Object.create(null)]), '[ 1970-01-01T00:00:00.000Z, /x/g, [Object: null prototype] {} ]');
  check.equal(shown(new Uint8Array([1, 2])), 'Uint8Array(2) [ 1, 2 ]');
  check.equal(shown({ get a() { throw 1; } }), '{ a: [Getter] }');
  check.equal(shown(['it\'s']), '[ "it\'s" ]');
  check.equal(shown(new URL('http://a/b')), "URL 'http://a/b'");
  check.equal(shown(new Headers({ a: '1' })), "Headers { a: '1' }");
});

test('directives take arguments', () => {
  check.equal(shown('%s is %d or %i%% %j %o %c!', 'x', '4.5', 4.5, { a: 1 }, [1], 'css', 'rest'), "x is 4.5 or 4% {\"a\":1} [ 1 ] ! rest");
  check.equal(shown('100%', 'x'), '100% x');
  check.equal(shown('%s'), '%s');
});

test('errors show their stack and cause', () => {
  const text = shown(new TypeError('bad', { cause: new Error('inner') }));
  check.match(text, /^TypeError: bad\n +at /);
  check.match(text, /\[cause\]: Error: inner/);
});

test('whatever is shown is bounded', () => {
  const circle = {};
  circle.self = circle;
  check.equal(shown(circle), '{ self: [Circular] }');
  check.equal(shown({ a: { b: { c: { d: { e: 1 } } } } }), '{ a: { b: { c: { d: [Object] } } } }');
  check.ok(shown('x'.repeat(1e6)).length < 40000);
  check.ok(shown(Array(1e6).fill({ a: 1 })).length < 40000);
  check.ok(shown(Array(4e9)).length < 5000);
  const wide = {};
  for (let i = 0; i < 1e4; i++) wide[`key${i}`] = 'v'.repeat(1000);
  check.ok(shown(wide).length < 140000);
  check.equal(shown(new Proxy({}, { ownKeys() { throw 1; } })), '[an object that cannot be shown]');
  check.equal(shown({ [Symbol.for('nodejs.util.inspect.custom')]() { throw 1; } }), '[an object that cannot be shown]');
});

test('levels, counts, timers, groups and tables', () => {
  console.warn('w');
  console.error('e');
  console.debug('d');
  console.assert(true, 'not shown');
  console.assert(false, 'no %d', 1);
  console.count();
  console.count('x');
  console.count();
  console.group('g');
  console.log('in\nside');
  console.groupEnd();
  console.time('t');
  console.timeEnd('t');
  console.timeEnd('unknown');
  console.trace('here');
  console.table([{ a: 1, b: 'x' }, { a: 2 }]);
  const lines = server.log.map(([level, text]) => `${level} ${text}`);
  check.equal(lines.slice(0, 9), ['warn w', 'error e', 'debug d', 'error Assertion failed: no 1', 'info default: 1', 'info x: 1',
    'info default: 2', 'info g', 'info   in\n  side']);
  check.match(lines[9], /^info t: 0\.000ms$/);
  check.match(lines[10], /^debug Trace: here\n/);
  check.match(lines[11], /│ \(index\) │ a │ b   │\n/);
  check.equal(lines.length, 12);
});
