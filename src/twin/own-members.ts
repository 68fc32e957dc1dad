import type { TwinResponse } from './sender.ts';

/** Members that errors of the gateway itself have in addition to those of V1's errors: its code, and the place of a fault. */
const OWN_MEMBERS: ReadonlySet<string> = new Set(['code', 'meta']);

/** The body of a refusal of the gateway itself without the members that only the gateway's errors have; other bodies as they are. */
export function withoutOwnMembers({ headers, body }: TwinResponse): Uint8Array {
  if (!headers.some(([name]) => name.toLowerCase() === 'x-gateway-error')) return body;
  const text = new TextDecoder().decode(body);
  if (text === '') return body;
  // The gateway printed it with JSON.stringify: reading and printing it again changes nothing else.
  const read: unknown = JSON.parse(text, (name, value: unknown) =>
    OWN_MEMBERS.has(name) ? undefined : value,
  );
  return new TextEncoder().encode(JSON.stringify(read));
}
