import type { Path } from '../../edits/run.ts';

/** Parses a path in the syntax of a rule book: names joined by dots; `\.` and `\\` are a dot and a backslash in a name. */
export function readPath(text: string): Path {
  const names = [''];
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? '';
    if (character === '.') {
      names.push('');
      continue;
    }
    if (character === '\\') at += 1;
    names[names.length - 1] += text[at] ?? '';
  }
  return names;
}

/** Parses a path of one name. */
export function readName(text: string): string {
  return readPath(text)[0] ?? '';
}

/** Prints a path in the syntax of a rule book; the body itself is `the body`. */
export function printPath(path: Path): string {
  if (path.length === 0) return 'the body';
  return `"${path.map((name) => name.replace(/[.\\]/g, (special) => `\\${special}`)).join('.')}"`;
}

/** True if `path` leads to the value at `start`, or into it. */
export function beginsWith(path: Path, start: Path): boolean {
  return start.every((name, at) => name === path[at]);
}

/** True for two paths that lead to the same place. */
export function isSamePath(one: Path, other: Path): boolean {
  return one.length === other.length && beginsWith(one, other);
}

/** True for two paths that may lead to the same place: `**` may match any depth of the other. */
export function mayBeSame(one: Path, other: Path): boolean {
  if (one[0] === '**') return endsWith(other, one.slice(1));
  return other[0] === '**' ? endsWith(one, other.slice(1)) : isSamePath(one, other);
}

function endsWith(path: Path, end: Path): boolean {
  return end.length <= path.length && beginsWith(path.slice(path.length - end.length), end);
}

/** True for the name of a parameter whose value may list members of a resource, or name the one that a list is sorted by. */
export function mayListMembers(parameter: string): boolean {
  return /^(?:sort|order|fields?|select|include|expand|only|except|columns?|group|attributes|properties)/i.test(
    parameter,
  );
}
