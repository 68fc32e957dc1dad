import { readdirSync, readFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';

/**
 * Renders the part of Helm's template language that this chart uses: fields, variables, `if`, `else`, `with`, `range`,
 * `define`, `include`, pipes, and the functions below. Anything else throws, so that the chart cannot outgrow it unseen.
 */
export function renderChart(folder: URL, release: Release, values: object): ReadonlyMap<string, string> {
  const read = (path: string): string => readFileSync(new URL(path, folder), 'utf8');
  const chart = parse(read('Chart.yaml')) as Record<string, unknown>;
  const root: Scope = {
    Values: merged(parse(read('values.yaml')) as object, values),
    Release: { Service: 'Helm', ...release },
    Chart: { Name: chart['name'], Version: chart['version'], AppVersion: chart['appVersion'] },
  };
  const names = readdirSync(new URL('templates/', folder)).sort();
  const renderer = new Renderer();
  const templates = names.map((name) => [name, parseTemplate(read(`templates/${name}`))] as const);
  for (const [, nodes] of templates) renderer.define(nodes);
  return new Map(
    templates
      .filter(([name]) => !name.startsWith('_'))
      .map(([name, nodes]) => [name, renderer.render(nodes, root, new Map([['$', root]]))]),
  );
}

export interface Release {
  readonly Name: string;
  readonly Namespace: string;
}

type Scope = Readonly<Record<string, unknown>>;
type Variables = ReadonlyMap<string, unknown>;

type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'print'; readonly pipe: string }
  | {
      readonly kind: 'if' | 'with' | 'range' | 'define';
      readonly pipe: string;
      readonly nodes: readonly Node[];
      readonly otherwise: readonly Node[];
    };

function parseTemplate(text: string): readonly Node[] {
  // A dash inside the braces takes the white space beside them.
  const pieces = text
    .replaceAll(/\s*\{\{-\s/g, '{{ ')
    .replaceAll(/\s-\}\}\s*/g, ' }}')
    .split(/(\{\{.*?\}\})/s);
  let at = 0;
  const block = (): readonly [readonly Node[], string] => {
    const nodes: Node[] = [];
    while (at < pieces.length) {
      const piece = pieces[at] ?? '';
      at += 1;
      if (!piece.startsWith('{{')) {
        nodes.push({ kind: 'text', text: piece });
        continue;
      }
      const action = piece.slice(2, -2).trim();
      const [word = '', rest = ''] = action.split(/\s(.*)/s);
      if (word === 'end' || word === 'else') return [nodes, action];
      if (word !== 'if' && word !== 'with' && word !== 'range' && word !== 'define') {
        nodes.push({ kind: 'print', pipe: action });
        continue;
      }
      const [inner, ending] = block();
      const [otherwise, last] = ending === 'else' ? block() : [[], ending];
      if (last !== 'end') throw new Error(`{{ ${action} }} ends with {{ ${last} }}`);
      nodes.push({ kind: word, pipe: rest, nodes: inner, otherwise });
    }
    return [nodes, ''];
  };
  const [nodes, ending] = block();
  if (ending !== '') throw new Error(`{{ ${ending} }} ends nothing`);
  return nodes;
}

class Renderer {
  private readonly defined = new Map<string, readonly Node[]>();

  define(nodes: readonly Node[]): void {
    for (const node of nodes)
      if (node.kind === 'define') this.defined.set(node.pipe.slice(1, -1), node.nodes);
  }

  render(nodes: readonly Node[], dot: unknown, variables: Variables): string {
    return nodes.map((node) => this.one(node, dot, variables)).join('');
  }

  private one(node: Node, dot: unknown, variables: Variables): string {
    switch (node.kind) {
      case 'text':
        return node.text;
      case 'print':
        return shown(this.value(node.pipe, dot, variables));
      case 'define':
        return '';
      case 'if':
        return this.render(
          truthy(this.value(node.pipe, dot, variables)) ? node.nodes : node.otherwise,
          dot,
          variables,
        );
      case 'with': {
        const value = this.value(node.pipe, dot, variables);
        return truthy(value)
          ? this.render(node.nodes, value, variables)
          : this.render(node.otherwise, dot, variables);
      }
      case 'range': {
        const match = /^\$(\w+), \$(\w+) := (.*)$/.exec(node.pipe);
        if (match === null) throw new Error(`range ${node.pipe} is not of this subset`);
        const [, key = '', name = '', pipe = ''] = match;
        return Object.entries(this.value(pipe, dot, variables) as object)
          .sort(([one], [other]) => (one < other ? -1 : 1))
          .map(([entry, value]) =>
            this.render(node.nodes, value, new Map([...variables, [`$${key}`, entry], [`$${name}`, value]])),
          )
          .join('');
      }
    }
  }

  private value(pipe: string, dot: unknown, variables: Variables): unknown {
    const [first = [], ...more] = split(pipe);
    let value = this.call(first, dot, variables);
    for (const words of more) value = this.call(words, dot, variables, [value]);
    return value;
  }

  private call(
    words: readonly string[],
    dot: unknown,
    variables: Variables,
    piped: readonly unknown[] = [],
  ): unknown {
    const [name = '', ...rest] = words;
    if (rest.length === 0 && piped.length === 0) return this.operand(name, dot, variables);
    const given = [...rest.map((word) => this.operand(word, dot, variables)), ...piped];
    if (name === 'include') {
      const nodes = this.defined.get(String(given[0]));
      if (nodes === undefined) throw new Error(`no template is called ${String(given[0])}`);
      return this.render(nodes, given[1], new Map([['$', given[1]]]));
    }
    const run = functions[name];
    if (run === undefined) throw new Error(`${name} is not of this subset`);
    return run(...given);
  }

  private operand(word: string, dot: unknown, variables: Variables): unknown {
    if (word.startsWith('"')) return JSON.parse(word);
    if (/^-?\d+$/.test(word)) return Number(word);
    if (word.startsWith('(')) return this.value(word.slice(1, -1), dot, variables);
    if (word === '.') return dot;
    const match = /^(\$\w*)?((?:\.\w+)*)$/.exec(word);
    if (match === null) throw new Error(`${word} is not of this subset`);
    let value = match[1] === undefined ? dot : variables.get(match[1]);
    for (const field of (match[2] ?? '').split('.').slice(1)) value = (value as Scope | undefined)?.[field];
    return value;
  }
}

// oxlint-disable-next-line typescript/no-explicit-any -- each takes what the chart gives it
const functions: Readonly<Record<string, (...given: any[]) => unknown>> = {
  quote: (value: unknown) => JSON.stringify(shown(value)),
  default: (other: unknown, value: unknown) => (truthy(value) ? value : other),
  required: (message: string, value: unknown) => {
    if (!truthy(value)) throw new Error(message);
    return value;
  },
  printf: (format: string, ...given: unknown[]) =>
    given.reduce<string>((text, value) => text.replace('%s', shown(value)), format),
  eq: (one: unknown, other: unknown) => one === other,
  not: (value: unknown) => !truthy(value),
  add: (...given: number[]) => given.reduce((sum, value) => sum + value, 0),
  div: (one: number, other: number) => Math.trunc(one / other),
  trunc: (length: number, text: string) => text.slice(0, length),
  trimSuffix: (suffix: string, text: string) =>
    text.endsWith(suffix) ? text.slice(0, -suffix.length) : text,
  nindent: (spaces: number, text: string) => `\n${text.replaceAll(/^/gm, ' '.repeat(spaces))}`,
  toYaml: (value: unknown) => stringify(value).trimEnd(),
};

/** Splits a pipeline into commands, and each into words; brackets and strings stay whole. */
function split(pipe: string): readonly (readonly string[])[] {
  const commands: string[][] = [[]];
  let rest = pipe.trim();
  while (rest !== '') {
    const word = rest.startsWith('(')
      ? bracketed(rest)
      : (/^(?:"(?:[^"\\]|\\.)*"|\||[^\s|]+)/.exec(rest)?.[0] ?? rest);
    if (word === '|') commands.push([]);
    else commands.at(-1)?.push(word);
    rest = rest.slice(word.length).trimStart();
  }
  return commands;
}

function bracketed(text: string): string {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '(') depth += 1;
    if (text[at] === ')') depth -= 1;
    if (depth === 0) return text.slice(0, at + 1);
  }
  throw new Error(`${text} has an open bracket`);
}

function truthy(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === false || value === 0) return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}

function shown(value: unknown): string {
  if (typeof value === 'object' && value !== null) throw new Error('an object cannot be printed');
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function merged(base: object, over: object): object {
  const result: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const before = result[key];
    result[key] = isMap(before) && isMap(value) ? merged(before, value) : value;
  }
  return result;
}

function isMap(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
