// FormData, and its form as multipart/form-data.
'use strict';
(function (host) {
  const { asInterface, fromCharCodes, toUSVString } = host.global('support');
  const Blob = host.global('Blob');
  const File = host.global('File');
  const { bytesIn, join } = host.global('blobs');

  function entryOf(name, value, filename) {
    if (!(value instanceof Blob)) {
      if (filename !== undefined) throw new TypeError('FormData: only a Blob can have a file name');
      return [toUSVString(name), toUSVString(value)];
    }
    if (value instanceof File && filename === undefined) return [toUSVString(name), value];
    return [toUSVString(name), new File([value], filename ?? 'blob', { type: value.type })];
  }

  class FormData {
    #entries = [];

    constructor(form = undefined) {
      if (form !== undefined) throw new TypeError('FormData: there are no HTML forms here');
    }

    append(name, value, filename = undefined) {
      if (arguments.length < 2) throw new TypeError('FormData.append: 2 arguments required');
      this.#entries.push(entryOf(name, value, filename));
    }

    set(name, value, filename = undefined) {
      if (arguments.length < 2) throw new TypeError('FormData.set: 2 arguments required');
      const entry = entryOf(name, value, filename);
      const at = this.#entries.findIndex(([key]) => key === entry[0]);
      if (at < 0) {
        this.#entries.push(entry);
      } else {
        this.#entries[at] = entry;
        this.#entries = this.#entries.filter(([key], i) => i <= at || key !== entry[0]);
      }
    }

    delete(name) {
      const wanted = toUSVString(name);
      this.#entries = this.#entries.filter(([key]) => key !== wanted);
    }

    get(name) {
      return this.getAll(name)[0] ?? null;
    }

    getAll(name) {
      const wanted = toUSVString(name);
      return this.#entries.filter(([key]) => key === wanted).map(([, value]) => value);
    }

    has(name) {
      return this.getAll(name).length > 0;
    }

    forEach(callback, self = undefined) {
      for (const [name, value] of this) callback.call(self, value, name, this);
    }

    *entries() {
      for (let i = 0; i < this.#entries.length; i++) yield [...this.#entries[i]];
    }

    *keys() {
      for (const [name] of this.entries()) yield name;
    }

    *values() {
      for (const [, value] of this.entries()) yield value;
    }
  }
  asInterface(FormData);
  Object.defineProperty(FormData.prototype, Symbol.iterator, {
    value: FormData.prototype.entries,
    writable: true,
    configurable: true,
  });

  const quote = (text) => text.replace(/\r\n?|\n/g, '%0D%0A').replaceAll('"', '%22');

  // {bytes, type} of a body.
  function write(form) {
    const random = Array.from(host.randomBytes(16), (byte) => byte.toString(16).padStart(2, '0')).join('');
    const boundary = `----cairn-${random}`;
    const parts = [];
    for (const [name, value] of form) {
      let head = `--${boundary}\r\nContent-Disposition: form-data; name="${quote(name)}"`;
      if (typeof value === 'string') {
        parts.push(host.utf8Encode(`${head}\r\n\r\n${value.replace(/\r\n?|\n/g, '\r\n')}`));
      } else {
        head += `; filename="${quote(value.name)}"\r\nContent-Type: ${value.type || 'application/octet-stream'}`;
        parts.push(host.utf8Encode(`${head}\r\n\r\n`), bytesIn(value));
      }
      parts.push(host.utf8Encode('\r\n'));
    }
    parts.push(host.utf8Encode(`--${boundary}--\r\n`));
    return { bytes: join(parts), type: `multipart/form-data; boundary=${boundary}` };
  }

  const broken = (what) => new TypeError(`formData: ${what}`);
  const utf8 = (latin1) => host.utf8Decode(Uint8Array.from(latin1, (c) => c.charCodeAt(0)), false, true);
  const unquote = (text) => utf8(text).replaceAll('%0D%0A', '\r\n').replaceAll('%22', '"');

  function readPart(form, head, bytes) {
    const disposition = /^content-disposition:[ \t]*form-data(.*)$/im.exec(head)?.[1] ?? '';
    const name = /;[ \t]*name="([^"]*)"/i.exec(disposition)?.[1];
    if (name === undefined) throw broken('a part has no name');
    const filename = /;[ \t]*filename="([^"]*)"/i.exec(disposition)?.[1];
    if (filename === undefined) {
      form.append(unquote(name), host.utf8Decode(bytes, false, false));
    } else {
      const type = /^content-type:[ \t]*(.*)$/im.exec(head)?.[1].trim() ?? 'text/plain';
      form.append(unquote(name), new File([bytes], unquote(filename), { type }));
    }
  }

  // The form in a body. Searched as text of one character a byte.
  function readMultipart(bytes, boundary) {
    const form = new FormData();
    const text = `\r\n${fromCharCodes(bytes)}`;
    const mark = `\r\n--${boundary}`;
    let at = text.indexOf(mark);
    if (at < 0) throw broken('the boundary is not in the body');
    for (;;) {
      at += mark.length;
      if (text.startsWith('--', at)) return form;
      const head = text.indexOf('\r\n\r\n', at);
      const next = head < 0 ? -1 : text.indexOf(mark, head + 2);
      if (next < 0) throw broken('the body ends within a part');
      const from = Math.min(head + 4, next);
      // The text begins with two characters that are not in the bytes.
      readPart(form, text.slice(at, head).replaceAll('\r', ''), bytes.subarray(from - 2, next - 2));
      at = next;
    }
  }

  function read(bytes, type) {
    if (/^multipart\/form-data(?:;|$)/i.test(type)) {
      const boundary = /;[ \t]*boundary=(?:"([^"]*)"|([^\s;]+))/i.exec(type);
      if (!boundary) throw broken('the content type has no boundary');
      return readMultipart(bytes, boundary[1] ?? boundary[2]);
    }
    if (/^application\/x-www-form-urlencoded(?:;|$)/i.test(type)) {
      const form = new FormData();
      const URLSearchParams = host.global('URLSearchParams');
      // A question mark at the start belongs to the first name.
      const params = new URLSearchParams(`&${host.utf8Decode(bytes, false, false)}`);
      for (const [name, value] of params) form.append(name, value);
      return form;
    }
    throw broken('the content type is neither multipart/form-data nor application/x-www-form-urlencoded');
  }

  return { FormData, write, read };
})
