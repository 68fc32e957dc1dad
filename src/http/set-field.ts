import { isNamed } from './header-list.ts';

/** Gives the field its value, in its place or at the end; further lines of it go. */
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

/** Removes every field of a name, which is given in lower case. */
export function removeField(headers: string[], name: string): void {
  for (let at = headers.length - 2; at >= 0; at -= 2) {
    if (isNamed(headers[at], name)) headers.splice(at, 2);
  }
}
