/** The remote address of a request, as Node's server reports it; a single shared value when it is unknown. */
export function addressOf(environment: unknown): string {
  const incoming = memberOf(environment, 'incoming');
  const address = memberOf(memberOf(incoming, 'socket'), 'remoteAddress');
  return typeof address === 'string' ? address : '';
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  const member: unknown = Reflect.get(value, name);
  return member;
}
