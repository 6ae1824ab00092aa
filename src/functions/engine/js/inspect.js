// Values as text for people to read, as node's console shows them; bounded, and never throwing:
// (value) => text, with `inspect.format(args)` for the arguments of console.log.
'use strict';
(function (host) {
  const { INSPECT } = host.global('support');
  const MAX_DEPTH = 4;
  const MAX_ITEMS = 100;
  const MAX_STRING = 10_000;
  const MAX_TEXT = 32_768;  // of one line of the log
  const LINE_WIDTH = 100;
  const MAX_STACK_LINES = 30;

  const cut = (text, most) =>
    text.length <= most ? text : `${text.slice(0, most)}... ${text.length - most} more characters`;
  const quote = (text) => {
    const json = JSON.stringify(cut(text, MAX_STRING)).slice(1, -1).replaceAll('\\"', '"');
    if (!json.includes("'")) return `'${json}'`;
    return json.includes('"') ? `\`${json}\`` : `"${json}"`;
  };
  const isName = (key) => /^[A-Za-z_$][\w$]*$/.test(key);
  const nameOfKey = (key) =>
    typeof key === 'symbol' ? `[${String(key)}]` : isName(key) ? key : quote(key);

  // The name of the constructor, without running getters.
  function classOf(value) {
    for (let object = value; object !== null; object = Object.getPrototypeOf(object)) {
      const constructor = Object.getOwnPropertyDescriptor(object, 'constructor')?.value;
      if (typeof constructor === 'function') {
        const name = Object.getOwnPropertyDescriptor(constructor, 'name')?.value;
        if (typeof name === 'string' && name !== '') return name;
      }
    }
    return '[Object: null prototype]';
  }

  function primitive(value) {
    if (typeof value === 'string') return quote(value);
    if (typeof value === 'bigint') return `${value}n`;
    if (Object.is(value, -0)) return '-0';
    return String(value);
  }

  function framesOf(stack) {
    const lines = stack.split('\n').filter((line) => line !== '').slice(0, MAX_STACK_LINES);
    return lines.map((line) => `    ${line.trim()}`);
  }

  function errorText(error) {
    const head = `${error}`;
    const stack = typeof error.stack === 'string' ? error.stack : '';
    // In other engines the stack begins with the message.
    if (stack.startsWith(head)) return stack;
    return [head, ...framesOf(stack)].join('\n');
  }

  const isError = (value) =>
    value instanceof Error || Object.prototype.toString.call(value) === '[object Error]';

  // What is being shown: the objects around a value, and how much text is left.
  class View {
    around = [];
    left = MAX_TEXT;

    show(value) {
      if (this.left <= 0) return '...';
      const text = this.#showAny(value);
      this.left -= text.length;
      return text;
    }

    #showAny(value) {
      if ((typeof value !== 'object' || value === null) && typeof value !== 'function') {
        return primitive(value);
      }
      if (this.around.includes(value)) return '[Circular]';
      this.around.push(value);
      try {
        return this.#showObject(value);
      } catch {
        return '[an object that cannot be shown]';
      } finally {
        this.around.pop();
      }
    }

    #showObject(value) {
      const name = classOf(value);
      if (typeof value[INSPECT] === 'function') {
        const shown = value[INSPECT](MAX_DEPTH - this.around.length, {});
        if (shown !== value) {
          if (typeof shown !== 'object') return name === 'URL' ? `URL ${quote(`${shown}`)}` : String(shown);
          return `${name} ${this.show(shown)}`;
        }
      }
      if (this.around.length > MAX_DEPTH) return Array.isArray(value) ? '[Array]' : `[${name}]`;
      if (Array.isArray(value)) {
        return this.#list(name === 'Array' ? '' : `${name}(${value.length}) `, '[', this.#elements(value), ']');
      }
      if (isError(value)) return this.#withMembers(errorText(value), value, ['message', 'stack', 'fileName',
        'lineNumber', 'columnNumber', 'name']);
      if (typeof value === 'function') return this.#withMembers(this.#functionText(value), value, []);
      return this.#builtIn(value, name) ?? this.#plain(value, name);
    }

    #functionText(value) {
      const isClass = /^class\b/.test(Function.prototype.toString.call(value));
      const name = Object.getOwnPropertyDescriptor(value, 'name')?.value;
      return `[${isClass ? 'class' : 'Function'}${name ? `: ${name}` : ' (anonymous)'}]`.replace(
        'class: ', 'class ');
    }

    // Undefined for what has no form of its own.
    #builtIn(value, name) {
      const tag = Object.prototype.toString.call(value).slice(8, -1);
      switch (tag) {
        case 'Date':
          return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
        case 'RegExp':
          return RegExp.prototype.toString.call(value);
        case 'Map':
          return this.#list(`${name}(${value.size}) `, '{', this.#pieces(value, ([key, item]) =>
            `${this.show(key)} => ${this.show(item)}`, value.size), '}');
        case 'Set':
          return this.#list(`${name}(${value.size}) `, '{', this.#pieces(value, (item) =>
            this.show(item), value.size), '}');
        case 'Promise':
        case 'WeakMap':
        case 'WeakSet':
          return `${name} {}`;
        case 'Number':
        case 'String':
        case 'Boolean':
          return value instanceof Object && typeof value.valueOf() !== 'object'
            ? `[${tag}: ${primitive(value.valueOf())}]` : undefined;
        case 'ArrayBuffer':
          return `ArrayBuffer { byteLength: ${value.byteLength} }`;
      }
      if (ArrayBuffer.isView(value) && value.length !== undefined) {
        return this.#list(`${name}(${value.length}) `, '[',
          this.#pieces(value, (item) => primitive(item), value.length), ']');
      }
      return undefined;
    }

    #plain(value, name) {
      const prefix = name === 'Object' ? '' : `${name} `;
      return this.#list(prefix, '{', this.#members(value, []), '}');
    }

    #withMembers(text, value, hidden) {
      const members = this.#members(value, hidden);
      return members.length === 0 ? text : `${text} ${this.#list('', '{', members, '}')}`;
    }

    #elements(array) {
      const pieces = [];
      let i = 0;
      for (; i < array.length && pieces.length < MAX_ITEMS && this.left > 0; i++) {
        if (i in array) {
          pieces.push(this.#property(array, i));
          continue;
        }
        // A hole of any length is one piece; what lies far off is not looked for.
        const from = i;
        while (i + 1 < array.length && i - from < 10_000 && !(i + 1 in array)) i++;
        pieces.push(`<${i - from + 1} empty item${i === from ? '' : 's'}>`);
      }
      if (i < array.length) pieces.push(`... ${array.length - i} more items`);
      return pieces;
    }

    #pieces(iterable, show, size) {
      const pieces = [];
      for (const item of iterable) {
        if (pieces.length >= MAX_ITEMS || this.left <= 0) break;
        pieces.push(show(item));
      }
      if (pieces.length < size) pieces.push(`... ${size - pieces.length} more items`);
      return pieces;
    }

    #members(value, hidden) {
      const pieces = [];
      const keys = Reflect.ownKeys(value).filter((key) =>
        !hidden.includes(key) && Object.prototype.propertyIsEnumerable.call(value, key));
      for (const key of keys.slice(0, MAX_ITEMS)) {
        if (this.left <= 0) break;
        pieces.push(`${nameOfKey(key)}: ${this.#property(value, key)}`);
      }
      if (pieces.length < keys.length) pieces.push(`... ${keys.length - pieces.length} more`);
      if (isError(value) && Object.hasOwn(value, 'cause') && !keys.includes('cause')) {
        pieces.push(`[cause]: ${this.#property(value, 'cause')}`);
      }
      return pieces;
    }

    // Getters belong to the function; what they would do is not for the log to start.
    #property(object, key) {
      const own = Object.getOwnPropertyDescriptor(object, key);
      if (!own) return this.show(undefined);
      if ('value' in own) return this.show(own.value);
      return own.get ? (own.set ? '[Getter/Setter]' : '[Getter]') : '[Setter]';
    }

    #list(prefix, open, pieces, close) {
      if (pieces.length === 0) return `${prefix}${open}${close}`;
      const line = pieces.join(', ');
      if (line.length <= LINE_WIDTH && !line.includes('\n')) {
        return open === '[' ? `${prefix}[ ${line} ]` : `${prefix}${open} ${line} ${close}`;
      }
      const indented = pieces.map((piece) => `  ${piece.replaceAll('\n', '\n  ')}`);
      return `${prefix}${open}\n${indented.join(',\n')}\n${close}`;
    }
  }

  function inspect(value) {
    return cut(new View().show(value), MAX_TEXT);
  }

  const number = (value, convert) =>
    typeof value === 'symbol' || (typeof value === 'object' && value !== null) ? 'NaN' : String(convert(value));

  // The directives of printf that consoles know.
  function directive(letter, value) {
    switch (letter) {
      case 's':
        return typeof value === 'string' ? value : inspect(value);
      case 'd':
        return typeof value === 'bigint' ? `${value}n` : number(value, Number);
      case 'i':
        return typeof value === 'bigint' ? `${value}n` : number(value, (text) => parseInt(text, 10));
      case 'f':
        return number(value, parseFloat);
      case 'j':
        try {
          return String(JSON.stringify(value));
        } catch {
          return '[Circular]';
        }
      case 'c':
        return '';
      default:
        return inspect(value);
    }
  }

  inspect.format = (args) => {
    const rest = [...args];
    const words = [];
    if (typeof rest[0] === 'string') {
      const text = rest.shift();
      words.push(rest.length === 0 ? text : text.replace(/%([sdifjoOc%])/g, (whole, letter) => {
        if (letter === '%') return '%';
        return rest.length === 0 ? whole : directive(letter, rest.shift());
      }));
    }
    for (const value of rest) words.push(typeof value === 'string' ? value : inspect(value));
    return cut(words.join(' '), MAX_TEXT);
  };

  return inspect;
})
