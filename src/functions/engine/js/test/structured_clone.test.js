'use strict';
test('values are copied deeply', () => {
  const value = { date: new Date(1), map: new Map([[1, new Set(['a'])]]), list: [1, , 3], bytes: new Uint8Array([1, 2]), big: 1n, re: /x/g };
  value.self = value;
  const copy = structuredClone(value);
  check.ok(copy !== value && copy.self === copy);
  check.equal([copy.date.getTime(), [...copy.map.get(1)], 1 in copy.list, [...copy.bytes], copy.big, copy.re.flags], [1, ['a'], false, [1, 2], 1n, 'g']);
  check.equal(structuredClone(undefined), undefined);
});

test('what has no copy is a DataCloneError', () => {
  check.throws(() => structuredClone(() => 1), 'DataCloneError');
  check.throws(() => structuredClone({ a: Symbol() }), 'DataCloneError');
  check.throws(() => structuredClone(), 'TypeError');
});
