// Headers: names in lower case, values of one name joined, in the order of the names.
'use strict';
(function (host) {
  const { asInterface, INSPECT } = host.global('support');
  const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

  function nameOf(value) {
    const name = `${value}`;
    if (!TOKEN.test(name)) throw new TypeError(`Headers: ${JSON.stringify(name)} is not a name of a header`);
    return name.toLowerCase();
  }

  function valueOf(value) {
    const text = `${value}`.replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, '');
    if (/[\0\n\r]|[^\0-\xff]/.test(text)) {
      throw new TypeError(`Headers: ${JSON.stringify(text)} is not a value of a header`);
    }
    return text;
  }

  let lock;

  class Headers {
    #lists = new Map();  // values by name
    #locked = false;

    static {
      lock = (headers) => {
        headers.#locked = true;
        return headers;
      };
    }

    constructor(init = undefined) {
      if (init === undefined) return;
      if (typeof init !== 'object' || init === null) {
        throw new TypeError('Headers: the argument must be Headers, an object or a list of pairs');
      }
      if (init[Symbol.iterator] === undefined || init[Symbol.iterator] === null) {
        for (const key of Reflect.ownKeys(init)) {
          if (Object.prototype.propertyIsEnumerable.call(init, key)) this.append(key, init[key]);
        }
        return;
      }
      for (const entry of init) {
        const pair = Object(entry) === entry ? [...entry] : [];
        if (pair.length !== 2) throw new TypeError('Headers: each entry must be a pair of a name and a value');
        this.append(pair[0], pair[1]);
      }
    }

    #write() {
      if (this.#locked) throw new TypeError('Headers: these headers cannot be changed');
    }

    append(name, value) {
      const [key, text] = [nameOf(name), valueOf(value)];
      this.#write();
      if (this.#lists.has(key)) {
        this.#lists.get(key).push(text);
      } else {
        this.#lists.set(key, [text]);
      }
    }

    delete(name) {
      const key = nameOf(name);
      this.#write();
      this.#lists.delete(key);
    }

    get(name) {
      return this.#lists.get(nameOf(name))?.join(', ') ?? null;
    }

    getSetCookie() {
      return [...(this.#lists.get('set-cookie') ?? [])];
    }

    has(name) {
      return this.#lists.has(nameOf(name));
    }

    set(name, value) {
      const [key, text] = [nameOf(name), valueOf(value)];
      this.#write();
      this.#lists.set(key, [text]);
    }

    forEach(callback, self = undefined) {
      if (typeof callback !== 'function') throw new TypeError('Headers.forEach: the callback must be a function');
      for (const [name, value] of this) callback.call(self, value, name, this);
    }

    // Each cookie is an entry of its own: cookies may have commas in them.
    *entries() {
      for (const name of [...this.#lists.keys()].sort()) {
        const values = this.#lists.get(name) ?? [];
        if (name === 'set-cookie') {
          for (const value of values) yield [name, value];
        } else {
          yield [name, values.join(', ')];
        }
      }
    }

    *keys() {
      for (const [name] of this.entries()) yield name;
    }

    *values() {
      for (const [, value] of this.entries()) yield value;
    }

    [INSPECT]() {
      return Object.fromEntries([...this.#lists].map(([name, values]) => [name, values.join(', ')]));
    }
  }
  asInterface(Headers);
  Object.defineProperty(Headers.prototype, Symbol.iterator, {
    value: Headers.prototype.entries,
    writable: true,
    configurable: true,
  });
  return { Headers, lock };
})
