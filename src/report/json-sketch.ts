import { generalPointer, tokenName } from '../json/json-pointer.ts';

interface Branch extends Map<string, Branch> {}

/** Formats a JSON text with the members at `pointers` and `…` for every value. */
export function sketchJson(pointers: readonly string[]): string {
  const root: Branch = new Map();
  for (const pointer of pointers) {
    let branch = root;
    for (const step of generalPointer(pointer).split('/').slice(1)) {
      const next: Branch = branch.get(step) ?? new Map();
      branch.set(step, next);
      branch = next;
    }
  }
  return draw(root, '');
}

function draw(branch: Branch, indent: string): string {
  if (branch.size === 0) return indent === '' ? '{}' : '"…"';
  const elements = branch.get('*');
  if (elements !== undefined) return `[${draw(elements, `${indent}  `)}]`;
  const lines = [...branch].map(
    ([name, inside]) => `${indent}  ${JSON.stringify(tokenName(name))}: ${draw(inside, `${indent}  `)}`,
  );
  return `{\n${lines.join(',\n')}\n${indent}}`;
}
