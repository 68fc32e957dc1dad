import { bytesOfText } from '../../json/names.ts';
import type * as zod from 'zod';
import {
  type Blocks,
  type Book,
  type Declared,
  type DeclaredBack,
  type DeclaredNames,
  type Form,
  formOf,
  type NameFacts,
  objectsAt,
  type StaleName,
  textAt,
  textIn,
} from './book.ts';
import { printPath, readPath } from './paths.ts';
import { valueOf, withValue } from '../../http/target.ts';
import { JsonDocument } from '../../json/document.ts';
import type { JsonScalar, NameTable } from '../../json/names.ts';
import { addLast, find, type Template, write } from '../../edits/draft.ts';
import { type CompiledRule, OTHER, type Path, pathIds, PLAIN, type RuleBase } from '../../edits/run.ts';
import {
  type HeaderKind,
  type Kind,
  type Lens,
  memberAt,
  type QueryKind,
  type StatusPattern,
  type Undone,
  type Words,
} from './kind.ts';
import type { ResponseStripRule } from './strip.ts';

/** Gives the member `member` of each object at `in` the value `json`: always (`set`), or only if it is absent (`default`). */
export interface SetRule {
  readonly rule: 'set' | 'default';
  readonly member: string;
  readonly in: Path;
  /** The value as JSON text: a number has its digits in the rule book. */
  readonly json: string;
  /** The decoded value; a number is rounded to a double. */
  readonly value: unknown;
}

/** Gives the member at `path` of a response the value `json`: always (`set`), or only if it is absent (`default`). */
export interface ResponseSetRule {
  readonly rule: 'set' | 'default';
  readonly path: Path;
  readonly json: string;
  /** The decoded value; a number is rounded to a double. */
  readonly value: unknown;
  readonly status: readonly StatusPattern[];
}

/** The rule that adds null where a response has no member at the path. */
export function nullAt(path: Path): Undone<ResponseSetRule> {
  return { rule: 'default', path, json: 'null', value: null };
}

/** Gives the query parameter `parameter` the value `text`: always (`set`), or only if it is absent (`default`). */
export interface QuerySetRule {
  readonly rule: 'set' | 'default';
  readonly parameter: string;
  readonly text: string;
}

/** Sets the field `field` to `value`: always, or for a `default` only if it is absent. */
export interface HeaderSetRule {
  readonly rule: 'set' | 'default';
  readonly field: string;
  readonly value: string;
}

/** How `set` changes the bytes of requests. */
export const kind: Kind<SetRule> = { compile, makesBody: (rule) => rule.in.length === 0 };

/**
 * `inverse` removes the member, because V1 had no such member; for a `default`, only if the member has the rule's value, because a client
 * may have sent another one.
 */
export const lens: Lens<SetRule, ResponseStripRule> = {
  changesValue: true,
  writes: true,
  isForAbsent: ({ rule }) => rule === 'default',
  moves: () => [],
  inverse: (rule, objects) => {
    const path = [...objects, rule.member];
    if (rule.rule === 'set') return [{ rule: 'strip', path }];
    const only = scalarOf(rule);
    if (only === undefined) return 'compound';
    return [{ rule: 'strip', path, only }];
  },
};

/** How `set` changes queries. */
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
  keepsPresent: ({ rule }) => rule === 'default',
};

/** How `set` changes header fields. */
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

/** How messages and guides describe `set`. */
export const words: Words<SetRule, ResponseSetRule> = {
  of: 'both',
  named: ({ member }) => [[member]],
  say: ({ json }, name, where) => `set ${name}${where} to ${json}`,
  remark: () => 'V2 needs this value',
  done: ({ name, to, isAdded }) =>
    isAdded ? `${to} is added: V1 has no such attribute.` : `${name} gets the value that the rule sets.`,
};

/** How messages and guides describe `default`. */
export const wordsOfDefault: Words<SetRule, ResponseSetRule> = {
  of: 'both',
  named: ({ member }) => [[member]],
  why: 'its value is an object or a list, which V2 may write differently',
  say: ({ json }, name, where) => `set ${name}${where} to ${json} if it is absent`,
  none: ({ member }, place) => `${place} already has ${member}.`,
  remark: () => 'V2 needs a value; this one is sent for you today',
  done: ({ to }) => `${to} is added, because it is absent.`,
};

/** How a rule book writes `set`: for members, parameters and fields. */
export const book: Book<SetRule, ResponseSetRule, QuerySetRule, HeaderSetRule> = {
  request: {
    form: (blocks) =>
      requestForm(
        'set',
        blocks,
        'Gives members a value, even if they are present; does not create objects around them.',
      ),
    learn: ({ in: objects, member }, facts) => facts.add(objects, member, true),
    makes: true,
  },
  response: {
    form: (blocks) =>
      responseForm('set', blocks, 'Gives members of a response a value, even if they are present.'),
    effect: ['gives ', ' a value'],
    same: ({ json }) => [json],
    adds: true,
  },
  query: {
    form: (blocks) => queryForm('set', blocks, 'Gives query parameters a value, even if they are present.'),
    looksFor: () => [],
    learn: ({ parameter }, names) => names.set(parameter),
  },
  headers: {
    form: ({ strict, field, fieldValue }) =>
      formOf(
        strict({ set: field, to: fieldValue.describe('Its value.') }).describe('Sets a header field.'),
        ({ set, to }, { path }) => [
          { rule: { rule: 'set', field: set, value: to }, parts: [[...path, 'set']] },
        ],
      ),
    looksFor: () => [],
    learn: ({ field }, names) => names.set(field),
  },
};

/** How a rule book writes `default`. */
export const bookOfDefault: Book<SetRule, ResponseSetRule, QuerySetRule, HeaderSetRule> = {
  request: {
    form: (blocks) =>
      requestForm('default', blocks, 'Gives absent members a value; does not create objects around them.'),
    learn: ({ in: objects, member }, facts) => facts.add(objects, member, false),
    makes: true,
    inexact: (rule) => {
      const of = printPath([...rule.in, rule.member]);
      return [
        scalarOf(rule) === undefined
          ? `default of ${of} has no inverse: responses keep the object or list, which V1 may not have`
          : `the inverse of default of ${of} is not exact: responses lack the member if it has this value, even if a client sent it`,
      ];
    },
  },
  response: {
    form: (blocks) => responseForm('default', blocks, 'Gives absent members of a response a value.'),
    effect: ['gives ', ' a value'],
    adds: true,
  },
  query: {
    form: (blocks) => queryForm('default', blocks, 'Gives absent query parameters a value.'),
    looksFor: () => [],
    stale: ({ parameter }, names) => staleDefault(parameter, names),
    learn: ({ parameter }, names) => names.set(parameter),
  },
  headers: {
    form: ({ strict, field, fieldValue }) =>
      formOf(
        strict({ default: field, to: fieldValue.describe('Its value.') }).describe(
          'Adds a header field that is absent.',
        ),
        (source, { path }) => [
          {
            rule: { rule: 'default', field: source.default, value: source.to },
            parts: [[...path, 'default']],
          },
        ],
      ),
    looksFor: () => [],
    stale: ({ field }, names) => staleDefault(field, names),
    learn: ({ field }, names) => names.set(field),
  },
};

function staleDefault(name: string, names: NameFacts): readonly StaleName[] {
  const change = names.setBy(name);
  return change === undefined
    ? []
    : [{ part: 0, reason: `change "${change}" sets it already; remove one of the two` }];
}

type Word = SetRule['rule'];

function requestForm(word: Word, blocks: Blocks, description: string): Form<Declared<SetRule>> {
  return {
    schema: blocks.strict({ [word]: valuesByPath(blocks), in: blocks.insideOne }).describe(description),
    read: (source, { path, json }) =>
      entriesOf(source, word).map(([key, value]) => {
        const at = [...path, word, key];
        const place = memberAt([...objectsAt(textIn(source, 'in')), ...readPath(key)]);
        return { rule: { rule: word, ...place, json: json(at), value }, inside: at, members: [at] };
      }),
  };
}

function responseForm(word: Word, blocks: Blocks, description: string): Form<DeclaredBack<ResponseSetRule>> {
  return {
    schema: blocks.strict({ [word]: valuesByPath(blocks), status: blocks.status }).describe(description),
    read: (source, { path, json, status }) =>
      entriesOf(source, word).map(([key, value]) => {
        return { rule: { rule: word, path: readPath(key), json: json([...path, word, key]), value, status } };
      }),
  };
}

function queryForm(word: Word, blocks: Blocks, description: string): Form<DeclaredNames<QuerySetRule>> {
  const values = blocks.z
    .record(blocks.parameter, blocks.scalar)
    .refine((named) => Object.keys(named).length > 0, 'names no parameter; write one and its value');
  return {
    schema: blocks.strict({ [word]: values }).describe(description),
    read: (source, place) =>
      entriesOf(source, word).map(([parameter, value]) => {
        const at = [...place.path, word, parameter];
        return { rule: { rule: word, parameter, text: textAt(value, at, place) }, parts: [at] };
      }),
  };
}

function valuesByPath({ z, memberPath, jsonValue }: Blocks): zod.ZodType {
  return z
    .record(memberPath, jsonValue)
    .refine((values) => Object.keys(values).length > 0, 'names no member; write a path and its value')
    .describe('Values by path: any value of JSON, written as in YAML.');
}

function entriesOf(source: object, word: Word): readonly (readonly [key: string, value: unknown])[] {
  const values: unknown = Reflect.get(source, word);
  return typeof values === 'object' && values !== null ? Object.entries(values) : [];
}

/** The value of a `default`; undefined for an object or a list. */
function scalarOf({ json, value }: SetRule): JsonScalar | undefined {
  if (typeof value === 'object' && value !== null) return undefined;
  return typeof value === 'string' ? { isString: true, text: value } : { isString: false, text: json };
}

/** Sets the named member in its place, or adds it at the end of the object. */
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

/** The value of a JSON text from a rule book; later rules can change its objects and arrays. */
function templateOf(json: string, names: NameTable): Template {
  const document = JsonDocument.read(bytesOfText(json));
  // The texts come from a rule book that was parsed, so a fault cannot occur.
  if (!(document instanceof JsonDocument)) return { kind: 'literal', bytes: bytesOfText('null') };
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
