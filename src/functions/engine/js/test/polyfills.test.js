'use strict';
test('arrays have the methods of 2023', () => {
  const list = [3, 1, 2];
  check.equal([list.findLast((x) => x > 1), list.findLastIndex((x) => x > 2), list.findLast((x) => x > 3)], [2, 0, undefined]);
  check.equal([list.toSorted(), list.toSorted((a, b) => b - a), list.toReversed()], [[1, 2, 3], [3, 2, 1], [2, 1, 3]]);
  check.equal([list.toSpliced(1, 1, 7, 8), list.toSpliced(1), list.toSpliced()], [[3, 7, 8, 2], [3], [3, 1, 2]]);
  check.equal([list.with(-1, 9), list], [[3, 1, 9], [3, 1, 2]]);
  check.throws(() => list.with(3, 0), 'RangeError');
  check.throws(() => list.toSorted('x'), 'TypeError');
  const keys = [];
  for (const key in [1]) keys.push(key);
  check.equal(keys, ['0']);
  check.equal(Array.prototype.toReversed.call({ length: 2, 0: 'a' }), [undefined, 'a']);
});

test('typed arrays too', () => {
  const list = Uint8Array.of(3, 1, 2);
  check.equal([[...list.toSorted()], [...list.toReversed()], [...list.with(0, 300)]], [[1, 2, 3], [2, 1, 3], [44, 1, 2]]);
  check.equal([list.findLast((x) => x > 1), list.findLastIndex((x) => x > 2)], [2, 0]);
  check.ok(list.toSorted() instanceof Uint8Array);
  check.throws(() => list.with(5, 1), 'RangeError');
});

test('grouping', () => {
  const groups = Object.groupBy([1, 2, 3], (x) => (x % 2 ? 'odd' : 'even'));
  check.equal([groups.odd, groups.even, Object.getPrototypeOf(groups)], [[1, 3], [2], null]);
  check.equal([...Map.groupBy(new Set([1, 2, 3]), (x) => x % 2)], [[1, [1, 3]], [0, [2]]]);
});

test('promises', async () => {
  const { promise, resolve } = Promise.withResolvers();
  resolve(1);
  check.equal(await promise, 1);
  check.equal(await Promise.try((a) => a + 1, 1), 2);
  await check.rejects(Promise.try(() => { throw new RangeError('x'); }), 'RangeError');
});

test('Array.fromAsync', async () => {
  async function* items() {
    yield 1;
    yield 2;
  }
  check.equal(await Array.fromAsync(items(), async (x) => x * 2), [2, 4]);
  check.equal(await Array.fromAsync([Promise.resolve(1), 2]), [1, 2]);
  check.equal(await Array.fromAsync({ length: 2, 0: 'a', 1: Promise.resolve('b') }), ['a', 'b']);
  await check.rejects(Array.fromAsync(null), 'TypeError');
});

test('strings can be made well formed', () => {
  check.equal(['a\ud800'.isWellFormed(), '😀'.isWellFormed(), 'a\ud800b'.toWellFormed()], [false, true, 'a\ufffdb']);
});

test('sets have an algebra', () => {
  const [a, b] = [new Set([1, 2, 3]), new Set([3, 4])];
  const list = (set) => [...set].sort();
  check.equal([list(a.union(b)), list(a.intersection(b)), list(a.difference(b)), list(a.symmetricDifference(b))],
    [[1, 2, 3, 4], [3], [1, 2], [1, 2, 4]]);
  check.equal([new Set([3]).isSubsetOf(a), a.isSupersetOf(b), a.isDisjointFrom(new Set([9]))], [true, false, true]);
  check.throws(() => a.union([1]), 'TypeError');
});
