// An independent reading of forms, as a service has it: parts into a tree, by the rules in docs/rule-book.md.

type Tree = string | Tree[] | Map<string, Tree>;

function treeOf(form: string): Tree {
  const root = new Map<string, Tree>();
  for (const pair of form.split('&')) {
    if (pair === '') continue;
    const [name = '', ...rest] = pair.split('=');
    const decoded = decodeURIComponent(name.replaceAll('+', ' '));
    const value = decodeURIComponent(rest.join('=').replaceAll('+', ' '));
    put(
      root,
      [decoded.split('[')[0] ?? '', ...[...decoded.matchAll(/\[([^\]]*)\]/g)].map(([, at = '']) => at)],
      value,
    );
  }
  return root;
}

function put(holder: Map<string, Tree>, [first = '', ...rest]: readonly string[], value: string): void {
  const [next] = rest;
  if (next === undefined) {
    if (holder.has(first)) throw new Error('two meanings');
    holder.set(first, value);
    return;
  }
  if (next === '') {
    const list = holder.get(first) ?? [];
    if (!Array.isArray(list)) throw new Error('two meanings');
    holder.set(first, list);
    const inner = rest.slice(1);
    if (inner.length === 0) list.push(value);
    else if (inner[0] === '') {
      const element = new Map<string, Tree>();
      put(element, ['', ...inner], value);
      list.push(...element.values());
    } else {
      const last = list.at(-1);
      const element = last instanceof Map && !has(last, inner) ? last : new Map<string, Tree>();
      if (element !== last) list.push(element);
      put(element, inner, value);
    }
    return;
  }
  const inner = holder.get(first) ?? new Map<string, Tree>();
  if (!(inner instanceof Map)) throw new Error('two meanings');
  holder.set(first, inner);
  put(inner, rest, value);
}

function has(element: Map<string, Tree>, [first = '', ...rest]: readonly string[]): boolean {
  const value = element.get(first);
  if (value === undefined || rest.length === 0) return value !== undefined;
  return value instanceof Map ? has(value, rest) : !Array.isArray(value);
}

/** As JSON: objects whose names are all numbers are lists; a form cannot express an empty one. */
function modelOf(tree: Tree, isRoot = true): unknown {
  if (typeof tree === 'string') return tree;
  if (Array.isArray(tree)) return tree.map((value) => modelOf(value, false));
  const numbered = !isRoot && [...tree.keys()].every((name) => /^\d+$/.test(name));
  if (numbered) return [...tree.values()].map((value) => modelOf(value, false));
  return { members: [...tree].map(([name, value]) => [name, modelOf(value, false)]) };
}

function jsonOf(model: unknown): string {
  if (Array.isArray(model)) return `[${model.map(jsonOf).join(',')}]`;
  if (typeof model === 'string') return JSON.stringify(model);
  const { members } = model as { readonly members: readonly (readonly [string, unknown])[] };
  return `{${members.map(([name, value]) => `${JSON.stringify(name)}:${jsonOf(value)}`).join(',')}}`;
}

/** The model of a form; undefined for one that says two things of one name, or in which `[]` and numbers meet. */
export function readForm(text: string): string | undefined {
  try {
    return jsonOf(modelOf(treeOf(text)));
  } catch {
    return undefined;
  }
}

/** Two values are equal if they differ only in empty objects and lists, and in the order of members. */
export function withoutEmpty(value: unknown): unknown {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) {
    const kept = value.map(withoutEmpty).filter((one) => one !== undefined);
    return kept.length === 0 ? undefined : kept;
  }
  const members = Object.entries(value as object)
    .map(([name, inner]) => [name, withoutEmpty(inner)] as const)
    .filter(([, inner]) => inner !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return members.length === 0 ? undefined : Object.fromEntries(members);
}
