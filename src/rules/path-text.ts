import type { Path } from './rule.ts';

/** The syntax of a path in a rule book: names joined by dots; `\.` and `\\` are a dot and a backslash in a name. */
export const PATH_PATTERN = /^(?:[^.\\]|\\[.\\])+(?:\.(?:[^.\\]|\\[.\\])+)*$/;

/** The syntax of one member name: a path of one name that is not `*`. */
export const NAME_PATTERN = /^(?!\*$)(?:[^.\\]|\\[.\\])+$/;

/** Parses a path that {@link PATH_PATTERN} accepts. */
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

/** Prints a path in the syntax of a rule book; the body itself is `the body`. */
export function printPath(path: Path): string {
  if (path.length === 0) return 'the body';
  return `"${path.map((name) => name.replace(/[.\\]/g, (special) => `\\${special}`)).join('.')}"`;
}
