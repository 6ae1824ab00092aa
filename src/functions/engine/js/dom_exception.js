// DOMException, with the codes of its old names.
'use strict';
(function (host) {
  const { asInterface } = host.global('support');
  const CODES = {
    IndexSizeError: 1,
    HierarchyRequestError: 3,
    WrongDocumentError: 4,
    InvalidCharacterError: 5,
    NoModificationAllowedError: 7,
    NotFoundError: 8,
    NotSupportedError: 9,
    InUseAttributeError: 10,
    InvalidStateError: 11,
    SyntaxError: 12,
    InvalidModificationError: 13,
    NamespaceError: 14,
    InvalidAccessError: 15,
    TypeMismatchError: 17,
    SecurityError: 18,
    NetworkError: 19,
    AbortError: 20,
    URLMismatchError: 21,
    QuotaExceededError: 22,
    TimeoutError: 23,
    InvalidNodeTypeError: 24,
    DataCloneError: 25,
  };

  class DOMException extends Error {
    #name;

    constructor(message = '', options = 'Error') {
      super(`${message}`);
      if (typeof options === 'object' && options !== null) {
        this.#name = 'name' in options ? `${options.name}` : 'Error';
        if ('cause' in options) {
          Object.defineProperty(this, 'cause', {
            value: options.cause,
            writable: true,
            configurable: true,
          });
        }
      } else {
        this.#name = `${options}`;
      }
    }

    get name() {
      return #name in this ? this.#name : 'DOMException';
    }

    get code() {
      return Object.hasOwn(CODES, this.#name) ? CODES[this.#name] : 0;
    }
  }

  for (const [name, value] of Object.entries(CODES)) {
    const constant = `${name
      .replace(/Error$/, '')
      .replace(/([a-z])(?=[A-Z])/g, '$1_')
      .toUpperCase()}_ERR`;
    const attributes = { value, enumerable: true };
    Object.defineProperty(DOMException, constant, attributes);
    Object.defineProperty(DOMException.prototype, constant, attributes);
  }
  return asInterface(DOMException);
})
