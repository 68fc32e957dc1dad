/** Prints a path of names and indexes as an RFC 6901 pointer. */
export function pointerOf(path: readonly (string | number)[]): string {
  let pointer = '';
  for (const step of path) pointer += `/${typeof step === 'number' ? step : pointerToken(step)}`;
  return pointer;
}

/** Escapes one member name for a pointer (RFC 6901 section 3). */
export function pointerToken(name: string): string {
  return name.includes('~') || name.includes('/') ? name.replaceAll('~', '~0').replaceAll('/', '~1') : name;
}

/** Returns the member name that a pointer token encodes (RFC 6901 section 4). */
export function tokenName(token: string): string {
  return token.includes('~') ? token.replaceAll('~1', '/').replaceAll('~0', '~') : token;
}

/** Returns the decoded names and indexes of a pointer; empty for the whole text. */
export function pointerSteps(pointer: string): readonly string[] {
  return pointer.split('/').slice(1).map(tokenName);
}

/** A pointer as a fragment (RFC 6901 §6). */
export function fragmentOf(pointer: string): string {
  return `#${encodeURI(pointer.toWellFormed()).replaceAll('#', '%23')}`;
}

/** The pointers of the values in a parsed JSON value that have no members and no elements. */
export function leafPointers(value: unknown, at = ''): readonly string[] {
  if (typeof value !== 'object' || value === null) return [at];
  const inner = Object.entries(value);
  return inner.length === 0
    ? [at]
    : inner.flatMap(([name, member]) => leafPointers(member, `${at}/${pointerToken(name)}`));
}

/**
 * The pointer with `*` for every index, since all elements of an array have the same form. A member with a numeric name looks like an
 * index.
 */
export function generalPointer(pointer: string): string {
  return pointer.replaceAll(/\/\d+(?=\/|$)/g, '/*');
}
