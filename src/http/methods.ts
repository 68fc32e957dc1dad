/** Methods of requests to an API. */
export const API_METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

const KNOWN_METHODS: ReadonlySet<string> = new Set([...API_METHODS, 'CONNECT', 'TRACE']);
const IDEMPOTENT_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'TRACE']);

/** True for a method that may be carried out twice (RFC 9110 §9.2.2). */
export function isIdempotent(method: string): boolean {
  return IDEMPOTENT_METHODS.has(method);
}

/** True for a method that reads a resource and changes nothing (RFC 9110 §9.3.1 and §9.3.2). */
export function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** True for a method whose requests are expected to have content (RFC 9110 §8.6, RFC 5789 for PATCH). */
export function expectsContent(method: string): boolean {
  return method === 'POST' || method === 'PUT' || method === 'PATCH';
}

/** The method as a label: any that RFC 9110 and RFC 5789 do not define is `_OTHER`, as OpenTelemetry wants it. */
export function methodLabel(method: string): string {
  return KNOWN_METHODS.has(method) ? method : '_OTHER';
}
