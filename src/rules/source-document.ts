import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, type Document, type Node } from 'yaml';
import type { SourceFault, SourcePath } from './rule-book-fault.ts';

/** A line and a column, from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A fault of the text itself, which has no path. */
export interface TextFault extends Position {
  readonly message: string;
}

/**
 * The text of a rule book, YAML 1.2 or JSON, as plain values with their positions. `value` is undefined when the text cannot be
 * read at all. Every key is a string, whatever it looks like; no key is `__proto__`.
 */
export class SourceDocument {
  readonly value: unknown;
  readonly faults: readonly TextFault[];
  private readonly root: unknown;
  private readonly targets: ReadonlyMap<unknown, Node>;
  private readonly lines = new LineCounter();

  constructor(text: string) {
    const document = parseDocument(text, {
      version: '1.2',
      schema: 'core',
      merge: false,
      stringKeys: true,
      // The parser's own check compares each key with each other: quadratic in the number of operations.
      uniqueKeys: false,
      prettyErrors: false,
      lineCounter: this.lines,
    });
    this.root = document.contents;
    const syntaxErrors = syntaxFaults(document, text);
    const values = new Values((node) => this.at(offsetOf(node)));
    const value = syntaxErrors.length === 0 ? values.of(document.contents, 0) : undefined;
    this.value = values.hasGaps ? undefined : value;
    this.targets = values.targets;
    this.faults = [
      ...syntaxErrors.map(({ offset, message }) => ({ ...this.at(offset), message })),
      ...values.faults,
    ];
  }

  /** The position of the key or the value at a path; for a missing one, the position of its container. */
  positionOf(path: SourcePath, blame: SourceFault['blame']): Position {
    let located: unknown = this.root;
    let node: unknown = this.root;
    for (const [depth, step] of path.entries()) {
      node = this.targets.get(node) ?? node;
      const next = isSeq(node) ? { key: undefined, value: node.items[Number(step)] } : member(node, step);
      if (next === undefined) break;
      located = blame === 'key' && depth === path.length - 1 ? next.key : (next.value ?? next.key);
      node = next.value;
    }
    return this.at(offsetOf(located));
  }

  private at(offset: number): Position {
    const { line, col } = this.lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  }
}

/** Converts nodes to plain values, limits the values that aliases add, and reports content that no rule book may have. */
class Values {
  readonly faults: TextFault[] = [];
  /** True when a part could not be read; faults caused by the gap are not reported. */
  hasGaps = false;
  /** The target of each alias. */
  readonly targets = new Map<unknown, Node>();
  private readonly anchors = new Map<string, Node>();
  private readonly open = new Set<Node>();
  private readonly position: (node: unknown) => Position;
  private copied = 0;
  private copying = 0;

  constructor(position: (node: unknown) => Position) {
    this.position = position;
  }

  of(node: unknown, depth: number): unknown {
    if (depth > 64) return this.gap(node, 'nested deeper than 64 levels, the limit for rule books');
    if (this.copying > 0) this.copied += 1;
    if (isAlias(node)) return this.copy(node, node.source, depth);
    if (isScalar(node)) {
      if (node.anchor !== undefined) this.name(node.anchor, node);
      return node.value;
    }
    if (!isMap(node) && !isSeq(node)) return null;
    if (node.anchor !== undefined) this.name(node.anchor, node);
    this.open.add(node);
    const value = isSeq(node)
      ? node.items.map((item) => this.of(item, depth + 1))
      : this.mapping(node.items, depth);
    this.open.delete(node);
    return value;
  }

  private mapping(
    pairs: readonly { key: unknown; value: unknown }[],
    depth: number,
  ): Record<string, unknown> {
    const value: Record<string, unknown> = {};
    const seen = new Map<string, unknown>();
    for (const pair of pairs) {
      const key = isScalar(pair.key) ? String(pair.key.value) : '';
      const first = seen.get(key);
      if (first !== undefined) {
        const { line } = this.position(first);
        this.fault(pair.key, `the key ${JSON.stringify(key)} is already in line ${line}; keep one of them`);
        continue;
      }
      seen.set(key, pair.key);
      if (key === '__proto__') {
        this.fault(pair.key, 'no key of a rule book may be "__proto__"; use another name');
        continue;
      }
      value[key] = this.of(pair.value, depth + 1);
    }
    return value;
  }

  /** A few lines of nested aliases can expand to more values than fit into memory. */
  private copy(alias: Node, name: string, depth: number): unknown {
    const target = this.anchors.get(name);
    if (target === undefined) return this.gap(alias, `no anchor "&${name}" precedes this alias`);
    if (this.open.has(target)) return this.gap(alias, `"*${name}" is inside its own anchor`);
    if (this.copied > 100_000) {
      if (this.copied < Infinity) this.gap(alias, 'aliases add more than 100,000 values; write them out');
      this.copied = Infinity;
      return null;
    }
    this.targets.set(alias, target);
    this.copying += 1;
    const value = this.of(target, depth);
    this.copying -= 1;
    return value;
  }

  /** An alias refers to the last preceding node with that anchor; a copy is not a new node. */
  private name(anchor: string, node: Node): void {
    if (this.copying === 0) this.anchors.set(anchor, node);
  }

  private gap(node: unknown, message: string): null {
    this.hasGaps = true;
    this.fault(node, message);
    return null;
  }

  private fault(node: unknown, message: string): void {
    this.faults.push({ ...this.position(node), message });
  }
}

function syntaxFaults(
  document: Document.Parsed,
  text: string,
): readonly { offset: number; message: string }[] {
  const language = /^\s*[{[]/.test(text) ? 'JSON or YAML' : 'YAML';
  const { directives, errors, warnings } = document;
  const exhausted = errors.find((error) => error.code === 'RESOURCE_EXHAUSTION');
  if (exhausted !== undefined) {
    return [{ offset: exhausted.pos[0], message: 'nested too deep to be read' }];
  }
  const faults = [...errors, ...warnings].map(({ code, message, pos }) => ({
    offset: pos[0],
    message: SENTENCES[code] ?? `cannot be read as ${language}: ${message}`,
  }));
  if (directives.yaml.explicit === true && directives.yaml.version !== '1.2') {
    const { version } = directives.yaml;
    faults.push({
      offset: 0,
      message: `says it is YAML ${version}; remove the directive: YAML 1.2 is read`,
    });
  }
  return faults;
}

const SENTENCES: Readonly<Record<string, string>> = {
  MULTIPLE_DOCS: 'a second document begins here; keep one in the file',
  NON_STRING_KEY: 'a key must be a plain name',
};

function member(node: unknown, key: string | number): { key: unknown; value: unknown } | undefined {
  if (!isMap(node)) return undefined;
  return node.items.find((pair) => isScalar(pair.key) && pair.key.value === key);
}

function offsetOf(node: unknown): number {
  const range = isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? node.range : undefined;
  return range?.[0] ?? 0;
}
