import { isNamed } from './header-list.ts';

/** Sets the value of a field, in its place or at the end, and removes its further lines. */
export function setField(headers: string[], name: string, value: string): void {
  let found = false;
  for (let at = 0; at < headers.length; at += 2) {
    if (!isNamed(headers[at], name)) continue;
    if (found) {
      headers.splice(at, 2);
      at -= 2;
      continue;
    }
    headers[at + 1] = value;
    found = true;
  }
  if (!found) headers.push(name, value);
}
