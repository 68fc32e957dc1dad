import { generalPointer, tokenName } from '../../json/json-pointer.ts';

interface Branch extends Map<string, Branch> {}

/** Formats a JSON text with the members at `pointers` and `…` for every value; the one at `wrapper` is an object, also without members. */
export function sketchJson(pointers: readonly string[], wrapper = ''): string {
  const root: Branch = new Map();
  for (const pointer of pointers) {
    let branch = root;
    for (const step of stepsOf(pointer)) {
      const next: Branch = branch.get(step) ?? new Map();
      branch.set(step, next);
      branch = next;
    }
  }
  return draw(
    root,
    '',
    stepsOf(wrapper).reduce((branch: Branch | undefined, step) => branch?.get(step), root),
  );
}

function stepsOf(pointer: string): readonly string[] {
  return generalPointer(pointer).split('/').slice(1);
}

function draw(branch: Branch, indent: string, wrapper: Branch | undefined): string {
  if (branch.size === 0) return indent === '' || branch === wrapper ? '{}' : '"…"';
  const elements = branch.get('*');
  if (elements !== undefined) return `[${draw(elements, `${indent}  `, wrapper)}]`;
  const lines = [...branch].map(
    ([name, inside]) =>
      `${indent}  ${JSON.stringify(tokenName(name))}: ${draw(inside, `${indent}  `, wrapper)}`,
  );
  return `{\n${lines.join(',\n')}\n${indent}}`;
}
