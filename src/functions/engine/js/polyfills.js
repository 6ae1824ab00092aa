// What ECMAScript has had since 2023 and the engine lacks. Run before a bundle that has one of the names
// in its source, and defines only what is not there.
'use strict';
(function (host) {
  const Array = host.global('Array');
  const Object = host.global('Object');
  const ArrayPrototype = Array.prototype;
  const TypedArray = Object.getPrototypeOf(Uint8Array);

  function add(object, methods) {
    for (const name of Object.keys(methods)) {
      if (!Object.hasOwn(object, name)) {
        Object.defineProperty(object, name, { value: methods[name], writable: true, configurable: true });
      }
    }
  }

  // As ToIntegerOrInfinity and LengthOfArrayLike.
  const integer = (value) => Math.trunc(Number(value)) || 0;
  const lengthOf = (object) => Math.min(Math.max(integer(object.length), 0), Number.MAX_SAFE_INTEGER);
  const fromEnd = (value, length) => (value < 0 ? Math.max(length + value, 0) : Math.min(value, length));

  function objectOf(value, what) {
    if (value === null || value === undefined) throw new TypeError(`${what} called on ${value}`);
    return Object(value);
  }

  function functionOf(value, what) {
    if (typeof value !== 'function') throw new TypeError(`${what}: the argument must be a function`);
    return value;
  }

  // A copy without holes, of the length that arrays can have.
  function copyOf(object) {
    const length = lengthOf(object);
    if (length > 2 ** 32 - 1) throw new RangeError('an array cannot be this long');
    const copy = new Array(length);
    for (let i = 0; i < length; i++) copy[i] = object[i];
    return copy;
  }

  function findFrom(object, length, test, self) {
    for (let i = length - 1; i >= 0; i--) {
      if (test.call(self, object[i], i, object)) return i;
    }
    return -1;
  }

  add(ArrayPrototype, {
    findLast(test, self = undefined) {
      const object = objectOf(this, 'findLast');
      const at = findFrom(object, lengthOf(object), functionOf(test, 'findLast'), self);
      return at < 0 ? undefined : object[at];
    },
    findLastIndex(test, self = undefined) {
      const object = objectOf(this, 'findLastIndex');
      return findFrom(object, lengthOf(object), functionOf(test, 'findLastIndex'), self);
    },
    toReversed() {
      return copyOf(objectOf(this, 'toReversed')).reverse();
    },
    toSorted(compare) {
      if (compare !== undefined) functionOf(compare, 'toSorted');
      return copyOf(objectOf(this, 'toSorted')).sort(compare);
    },
    toSpliced(...args) {
      const copy = copyOf(objectOf(this, 'toSpliced'));
      if (args.length > 0) copy.splice(...args);
      return copy;
    },
    with(index, value) {
      const object = objectOf(this, 'with');
      const length = lengthOf(object);
      const at = integer(index) < 0 ? length + integer(index) : integer(index);
      if (at < 0 || at >= length) throw new RangeError('with: there is no such index');
      const copy = copyOf(object);
      copy[at] = value;
      return copy;
    },
  });

  // Throws, as every method of typed arrays does, for what is none.
  const typedLength = Object.getOwnPropertyDescriptor(TypedArray.prototype, 'length').get;
  const kindOf = Object.getOwnPropertyDescriptor(TypedArray.prototype, Symbol.toStringTag).get;
  function typedCopy(array) {
    typedLength.call(array);
    const kind = kindOf.call(array);
    if (kind === undefined) throw new TypeError('called on what is no typed array');
    return new (host.global(kind))(array);
  }

  add(TypedArray.prototype, {
    findLast(test, self = undefined) {
      const at = findFrom(this, typedLength.call(this), functionOf(test, 'findLast'), self);
      return at < 0 ? undefined : this[at];
    },
    findLastIndex(test, self = undefined) {
      return findFrom(this, typedLength.call(this), functionOf(test, 'findLastIndex'), self);
    },
    toReversed() {
      return typedCopy(this).reverse();
    },
    toSorted(compare) {
      if (compare !== undefined) functionOf(compare, 'toSorted');
      return typedCopy(this).sort(compare);
    },
    with(index, value) {
      const copy = typedCopy(this);
      const at = integer(index) < 0 ? copy.length + integer(index) : integer(index);
      const item = typeof copy[0] === 'bigint' ? BigInt(value) : Number(value);
      if (at < 0 || at >= copy.length) throw new RangeError('with: there is no such index');
      copy[at] = item;
      return copy;
    },
  });

  function groupInto(items, keyOf, put, what) {
    functionOf(keyOf, what);
    let i = 0;
    for (const item of objectOf(items, what)) put(keyOf(item, i++), item);
  }

  add(Object, {
    groupBy(items, keyOf) {
      const groups = Object.create(null);
      groupInto(items, keyOf, (key, item) => {
        const name = typeof key === 'symbol' ? key : `${key}`;
        (groups[name] ??= []).push(item);
      }, 'Object.groupBy');
      return groups;
    },
  });

  add(Map, {
    groupBy(items, keyOf) {
      const groups = new Map();
      groupInto(items, keyOf, (key, item) => {
        if (groups.has(key)) {
          groups.get(key).push(item);
        } else {
          groups.set(key, [item]);
        }
      }, 'Map.groupBy');
      return groups;
    },
  });

  add(Promise, {
    withResolvers() {
      let resolve;
      let reject;
      const promise = new this((yes, no) => {
        resolve = yes;
        reject = no;
      });
      return { promise, resolve, reject };
    },
    async try(run, ...args) {
      return run(...args);
    },
  });

  add(Array, {
    async fromAsync(items, map = undefined, self = undefined) {
      if (map !== undefined) functionOf(map, 'Array.fromAsync');
      const result = typeof this === 'function' ? new this() : [];
      const source = objectOf(items, 'Array.fromAsync');
      const iterable = source[Symbol.asyncIterator] || source[Symbol.iterator];
      let i = 0;
      for await (const item of iterable ? source : Array.from(source)) {
        const value = map ? await map.call(self, item, i) : item;
        Object.defineProperty(result, i++, { value, writable: true, enumerable: true, configurable: true });
      }
      result.length = i;
      return result;
    },
  });

  add(String.prototype, {
    isWellFormed() {
      const text = `${objectOf(this, 'isWellFormed')}`;
      return host.global('support').toUSVString(text) === text;
    },
    toWellFormed() {
      return host.global('support').toUSVString(objectOf(this, 'toWellFormed'));
    },
  });

  // What the methods of sets accept: a set, a map, or an object with size, has and keys.
  function recordOf(other) {
    const size = Number(other?.size);
    if (Number.isNaN(size)) throw new TypeError('the argument must have a size, has and keys');
    if (size < 0) throw new RangeError('the size of the argument is negative');
    functionOf(other.has, 'has of the argument');
    functionOf(other.keys, 'keys of the argument');
    return { size, has: (item) => other.has(item), keys: () => ({ [Symbol.iterator]: () => other.keys() }) };
  }

  const itemsOf = (set) => [...Set.prototype.values.call(set)];
  add(Set.prototype, {
    union(other) {
      const items = itemsOf(this);
      return new Set([...items, ...recordOf(other).keys()]);
    },
    intersection(other) {
      const record = recordOf(other);
      if (this.size <= record.size) return new Set(itemsOf(this).filter((item) => record.has(item)));
      return new Set([...record.keys()].filter((item) => this.has(item)));
    },
    difference(other) {
      const record = recordOf(other);
      return new Set(itemsOf(this).filter((item) => !record.has(item)));
    },
    symmetricDifference(other) {
      const result = new Set(itemsOf(this));
      for (const item of recordOf(other).keys()) {
        if (this.has(item)) {
          result.delete(item);
        } else {
          result.add(item);
        }
      }
      return result;
    },
    isSubsetOf(other) {
      const record = recordOf(other);
      return this.size <= record.size && itemsOf(this).every((item) => record.has(item));
    },
    isSupersetOf(other) {
      const record = recordOf(other);
      return this.size >= record.size && [...record.keys()].every((item) => this.has(item));
    },
    isDisjointFrom(other) {
      const record = recordOf(other);
      return !itemsOf(this).some((item) => record.has(item));
    },
  });
})
