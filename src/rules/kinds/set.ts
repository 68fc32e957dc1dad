import { valueOf, withValue } from '../../http/target.ts';
import { JsonDocument } from '../../json/document.ts';
import type { JsonScalar, NameTable } from '../../json/names.ts';
import { addLast, find, type Template, write } from '../../edits/draft.ts';
import { type CompiledRule, OTHER, type Path, pathIds, PLAIN, type RuleBase } from '../../edits/run.ts';
import type { HeaderKind, Kind, Lens, QueryKind, StatusPattern, Words } from './kind.ts';
import type { ResponseStripRule } from './strip.ts';

const encoder = new TextEncoder();

/** Gives the member `member` of each object at `in` the value `json`: in any case (`set`), or only where it is absent (`default`). */
export interface SetRule {
  readonly rule: 'set' | 'default';
  readonly member: string;
  readonly in: Path;
  /** The value as JSON text: a number has the digits that the rule book has. */
  readonly json: string;
  /** The same, decoded: a number as close as a double comes to it. */
  readonly value: unknown;
}

/** Gives the member at `path` of a response the value `json`: in any case (`set`), or only where it is absent (`default`). */
export interface ResponseSetRule {
  readonly rule: 'set' | 'default';
  readonly path: Path;
  readonly json: string;
  /** The same, decoded: a number as close as a double comes to it. */
  readonly value: unknown;
  readonly status: readonly StatusPattern[];
}

/** Gives the query parameter `parameter` the value `text`: in any case (`set`), or only where it is absent (`default`). */
export interface QuerySetRule {
  readonly rule: 'set' | 'default';
  readonly parameter: string;
  readonly text: string;
}

/** Sets the field `field` to `value`: always, or for a `default` where it is absent. */
export interface HeaderSetRule {
  readonly rule: 'set' | 'default';
  readonly field: string;
  readonly value: string;
}

/** Its work on the bytes of requests. */
export const kind: Kind<SetRule> = { compile, makesBody: (rule) => rule.in.length === 0 };

/** V1 had no such member: it goes. Of a `default`, only where it has the value that the rule gives it, as a client may have sent another. */
export const lens: Lens<SetRule, ResponseStripRule> = {
  changesValue: true,
  moves: () => [],
  inverse: (rule, objects) => {
    const path = [...objects, rule.member];
    if (rule.rule === 'set') return [{ rule: 'strip', path }];
    const only = scalarOf(rule);
    if (only === undefined) return 'compound';
    return [{ rule: 'strip', path, only }];
  },
};

/** Its work on queries. */
export const query: QueryKind<QuerySetRule> = {
  compile: ({ rule, parameter, text }) => ({
    apply: (run) => {
      const known = run.named(parameter);
      if (known === undefined) run.add(parameter, text);
      else if (rule === 'set') {
        for (const one of known) one.part = withValue(one.part, text);
        run.record(known);
      }
    },
    restore: (part) => (part.name === parameter && valueOf(part) === text ? undefined : part),
  }),
  adds: true,
};

/** Its work on header fields. */
export const header: HeaderKind<HeaderSetRule> = {
  apply: ({ rule, field, value }, run) => {
    const [first, ...others] = run.named(field);
    if (first === undefined) {
      run.add(field, value);
      run.record(field, { to: field });
      return undefined;
    }
    if (rule === 'default' || (others.length === 0 && first.value === value)) return undefined;
    first.value = value;
    run.remove(others);
    run.record(first.name, { to: first.name });
    return undefined;
  },
};

/** What people read of it. */
export const words: Words<SetRule, ResponseSetRule> = {
  of: 'both',
  named: ({ member }) => [[member]],
  say: ({ json }, name, where) => `set ${name}${where} to ${json}`,
  done: ({ name, to, isAdded }) =>
    isAdded ? `${to} is added: V1 has no such attribute.` : `${name} gets the value that V2 needs.`,
};

/** What people read of `default`. */
export const wordsOfDefault: Words<SetRule, ResponseSetRule> = {
  of: 'both',
  named: ({ member }) => [[member]],
  why: 'its value is an object or a list, which V2 may write otherwise',
  say: ({ json }, name, where) => `set ${name}${where} to ${json} where it is absent`,
  none: ({ member }, place) => `${place} has ${member} already.`,
  done: ({ to }) => `${to} is added, because it is absent.`,
};

/** The value of a `default`; undefined for an object or a list. */
function scalarOf({ json, value }: SetRule): JsonScalar | undefined {
  if (typeof value === 'object' && value !== null) return undefined;
  return typeof value === 'string' ? { isString: true, text: value } : { isString: false, text: json };
}

/** Gives the named member its value: where it is, or at the end of the object. */
function compile(rule: SetRule, base: RuleBase, names: NameTable): CompiledRule {
  const id = names.add(rule.member);
  const template = templateOf(rule.json, names);
  return {
    ...base,
    path: pathIds(rule.in, names),
    apply: (run, object) => {
      const member = find(object, id);
      if (member === undefined) {
        const made = addLast(object, id);
        write(made, template);
        run.step(base.code + PLAIN);
        run.recorder?.add(base, made, rule.value);
        return undefined;
      }
      const isKept = rule.rule === 'default';
      const stop = isKept ? run.settleRead(base, id, member) : run.settleRepeated(base, id, member);
      if (stop !== undefined || isKept) return stop;
      write(member, template);
      run.step(base.code + OTHER);
      run.recorder?.replace(base, member, rule.value);
      return undefined;
    },
  };
}

/** The value of a JSON text that the rule book reader made; later rules can go into its objects and arrays. */
function templateOf(json: string, names: NameTable): Template {
  const document = JsonDocument.read(encoder.encode(json));
  // The texts come from a rule book that was read, so that a fault cannot occur.
  if (!(document instanceof JsonDocument)) return { kind: 'literal', bytes: encoder.encode('null') };
  return templateAt(document, document.root, names);
}

function templateAt(document: JsonDocument, node: number, names: NameTable): Template {
  const children = [...document.childrenOf(node)];
  switch (document.kindOf(node)) {
    case 'object':
      return {
        kind: 'object',
        members: children.map((child) => [
          names.add(document.nameOf(child)),
          templateAt(document, child, names),
        ]),
      };
    case 'array':
      return { kind: 'array', elements: children.map((child) => templateAt(document, child, names)) };
    case 'string':
    case 'scalar':
      return { kind: 'literal', bytes: document.valueOf(node) };
  }
}
