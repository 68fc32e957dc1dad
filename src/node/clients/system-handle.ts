/** The object below a socket or server of Node, which does what Node itself does not offer; undefined on other runtimes. */
export function systemHandle(socket: object): object | undefined {
  return objectIn(socket, '_handle');
}

/** The object below the TLS of a socket; undefined without TLS. */
export function handleBelowTls(socket: object): object | undefined {
  const tls = systemHandle(socket);
  return tls && objectIn(tls, '_parent');
}

/** Calls a method of such an object; undefined where it has none. */
export function callHandle(
  handle: object | undefined,
  name: 'listen' | 'getpeername' | 'readStart' | 'readStop',
  ...parameters: readonly unknown[]
): unknown {
  const method: unknown = handle && Reflect.get(handle, name);
  return typeof method === 'function' ? Reflect.apply(method, handle, parameters) : undefined;
}

function objectIn(value: object, name: string): object | undefined {
  const member: unknown = Reflect.get(value, name);
  return typeof member === 'object' && member !== null ? member : undefined;
}
