// Blob and File: bytes with a type.
'use strict';
(function (host) {
  const { asInterface, bytesOf, isBufferSource, toUSVString } = host.global('support');
  let bytesIn;

  function join(parts) {
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    const joined = new Uint8Array(length);
    let at = 0;
    for (const part of parts) {
      joined.set(part, at);
      at += part.length;
    }
    return joined;
  }

  function partBytes(part, endings) {
    if (part instanceof Blob) return bytesIn(part);
    if (isBufferSource(part)) return bytesOf(part);
    const text = toUSVString(part);
    return host.utf8Encode(endings === 'native' ? text.replace(/\r\n?|\n/g, '\n') : text);
  }

  // From the start or, if negative, from the end.
  function position(value, size) {
    const at = Math.trunc(Number(value)) || 0;
    return at < 0 ? Math.max(size + at, 0) : Math.min(at, size);
  }

  class Blob {
    #bytes;
    #type;

    static {
      bytesIn = (blob) => blob.#bytes;
    }

    constructor(parts = [], options = {}) {
      if (typeof parts !== 'object' || parts === null || parts[Symbol.iterator] === undefined) {
        throw new TypeError('Blob: the parts must be a list');
      }
      const type = options?.type === undefined ? '' : `${options.type}`;
      this.#bytes = join(Array.from(parts, (part) => partBytes(part, options?.endings)));
      this.#type = /[^\x20-\x7e]/.test(type) ? '' : type.toLowerCase();
    }

    get size() {
      return this.#bytes.length;
    }

    get type() {
      return this.#type;
    }

    slice(start = 0, end = this.size, type = '') {
      const from = position(start, this.size);
      const part = this.#bytes.subarray(from, Math.max(from, position(end, this.size)));
      return new Blob([part], { type });
    }

    async arrayBuffer() {
      return this.#bytes.slice().buffer;
    }

    async bytes() {
      return this.#bytes.slice();
    }

    stream() {
      return new (host.global('ReadableStream'))({
        start: (controller) => {
          if (this.#bytes.length > 0) controller.enqueue(this.#bytes.slice());
          controller.close();
        },
      });
    }

    async text() {
      return host.utf8Decode(this.#bytes, false, false);
    }
  }

  class File extends Blob {
    #name;
    #lastModified;

    constructor(parts, name, options = {}) {
      if (arguments.length < 2) throw new TypeError('File: 2 arguments required');
      super(parts, options);
      this.#name = toUSVString(name);
      this.#lastModified = options?.lastModified === undefined
        ? Math.trunc(host.nowMs()) : Math.trunc(Number(options.lastModified)) || 0;
    }

    get name() {
      return this.#name;
    }

    get lastModified() {
      return this.#lastModified;
    }
  }

  return { Blob: asInterface(Blob), File: asInterface(File), bytesIn, join };
})
