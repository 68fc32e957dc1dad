import type * as zod from 'zod';
import { type Blocks, type Book, declareMember, textIn } from './book.ts';
import { printPath, readName, readPath } from './paths.ts';
import {
  type Draft,
  DraftArray,
  DraftElement,
  DraftMember,
  DraftObject,
  eachMember,
  find,
  isRepeated,
  markChanged,
  spelledName,
} from '../../edits/draft.ts';
import type { PatchOperation } from '../../edits/records.ts';
import {
  aboutMember,
  type CompiledRule,
  type MembersToOpen,
  type Path,
  PLAIN,
  refuse,
  type RuleBase,
  type Run,
  type Stop,
} from '../../edits/run.ts';
import { decoded, jsonOf, NULL, overwrite, renameTo } from '../../edits/values.ts';
import { bytesOfText, decodeString, type NameTable, spelledText, stringText } from '../../json/names.ts';
import { pointerToken } from '../../json/pointer.ts';
import type { Kind, Lens, MovedMember, StatusPattern, Words } from './kind.ts';
import { type ListRule, type ResponseListRule, settleNames } from './list.ts';

/**
 * The elements of a list that replaces one value: the texts between separators (`"a,b"` and `["a","b"]`), an object for each value of a
 * list (`["a"]` and `[{"value":"a"}]`), or a pair for each member of an object (`{"a":1}` and `[{"key":"a","value":1}]`).
 */
export type Elements =
  | { readonly are: 'texts'; readonly with: string }
  | { readonly are: 'objects'; readonly of: string }
  | { readonly are: 'pairs'; readonly name: string; readonly value: string };

/** Converts the member `member` of each object at `in` to such a list (`list`, `entries`), or such a list back to the value (`unlist`). */
export interface ElementsRule {
  readonly rule: 'list' | 'entries' | 'unlist';
  readonly member: string;
  readonly in: Path;
  readonly to: string;
  readonly elements: Elements;
  /** True if every value is a text, as in a form, which has no empty lists. */
  readonly isOfTexts?: true;
}

/** The same for the member at `path` of a response. */
export interface ResponseElementsRule {
  readonly rule: 'list' | 'entries' | 'unlist';
  readonly path: Path;
  readonly to: string;
  readonly elements: Elements;
  readonly status: readonly StatusPattern[];
}

/** True for a rule that makes a list; false for one that converts a list to another value. */
export function makesList({ rule }: Pick<ElementsRule, 'rule'>): boolean {
  return rule !== 'unlist';
}

/** How a rule about a list changes the bytes of requests. */
export const kind: Kind<ElementsRule> = { compile };

/** `inverse` turns the list back into the value, or the value back into the list. */
export const lens: Lens<ElementsRule, ResponseElementsRule> = {
  changesValue: true,
  moves: (rule) => [{ from: [rule.member], to: [rule.to], inside: insideOf(rule) }],
  inverse: ({ rule, member, to, elements }, objects) => [
    { rule: rule === 'unlist' ? wordOf(elements) : 'unlist', path: [...objects, to], to: member, elements },
  ],
};

/** The name of the rule that makes a list with such elements. */
function wordOf({ are }: Elements): 'list' | 'entries' {
  return are === 'pairs' ? 'entries' : 'list';
}

/** The places of nested members of the value. V1's members of an object cannot be addressed by index. */
function insideOf(rule: ElementsRule): NonNullable<MovedMember['inside']> {
  const { elements } = rule;
  const isList = makesList(rule);
  switch (elements.are) {
    case 'texts':
      return isList ? [{ from: [], to: ['*'] }] : [];
    case 'objects': {
      const [plain, listed] = [['*'], ['*', elements.of]];
      return [isList ? { from: plain, to: listed } : { from: listed, to: plain }];
    }
    case 'pairs': {
      const parts = [[elements.value], [elements.name], []];
      return isList ? parts.map((part) => ({ from: [], to: ['*', ...part] })) : [];
    }
  }
}

/** How messages and guides describe a rule about a list. */
export const words: Words<ElementsRule, ResponseElementsRule> = {
  of: 'both',
  named: ({ member }) => [[member]],
  say: ({ rule, to, elements }, name, where) => {
    const [one, many] = wordsOfForms(elements);
    const [from, into] = rule === 'unlist' ? [many, one] : [one, many];
    return `make ${name}${where}, ${from}, ${into}${name === to || name.endsWith(`.${to}`) ? '' : `, ${to}`}`;
  },
  remark: (name) => REMARKS[name] ?? '',
  done: ({ rule, name, to }) =>
    rule === 'unlist' ? `The list ${name} becomes one value: ${to}.` : `${name} becomes a list: ${to}.`,
};

const REMARKS: Readonly<Record<string, string>> = {
  entries: 'now a list of pairs',
  unlist: 'now one value',
} satisfies Record<Exclude<ElementsRule['rule'], 'list'>, string>;

/** How a rule book writes one of the rules about lists. */
export function bookOf(
  word: ElementsRule['rule'],
): Book<ElementsRule | ListRule, ResponseElementsRule | ResponseListRule> {
  return {
    request: {
      form: (blocks) => ({
        schema: schemaOf(word, blocks, {
          in: blocks.inside,
          to: blocks.optional(
            blocks.name,
            word === 'unlist'
              ? 'The name of the value; when absent, that of the list.'
              : 'The name of the list; when absent, that of the member.',
          ),
        }),
        read: (source, place) => {
          const text = { in: textIn(source, 'in'), of: textIn(source, word) ?? '' };
          return declareMember(place, word, text, (objects): ElementsRule | ListRule => {
            const to = textIn(source, 'to');
            const named = { ...objects, to: to === undefined ? objects.member : readName(to) };
            const elements = elementsIn(source);
            return elements === undefined ? { rule: 'list', ...named } : { rule: word, ...named, elements };
          });
        },
      }),
      policies: ['conflict', 'value'],
      learn: ({ in: objects, member, to }, facts) => facts.become(objects, [member], [to]),
      gives: 'put',
      inexact: (rule) => {
        if (!('elements' in rule) || rule.elements.are !== 'pairs' || rule.in[0] !== '**') return [];
        const of = printPath([...rule.in, rule.member]);
        return [
          `the inverse of ${word} of ${of} is not exact: inside another list, the name becomes a value`,
        ];
      },
      patched: (rule) => {
        if (!('elements' in rule) || rule.elements.are !== 'pairs' || !makesList(rule)) return undefined;
        const [of, to] = [printPath([...rule.in, rule.member]), printPath([...rule.in, rule.to])];
        return `with only some members of ${of} replaces the whole list ${to}`;
      },
    },
    response: {
      mayBeAnywhere: true,
      form: (blocks) => ({
        schema: schemaOf(word, blocks, { to: blocks.name.exactOptional() }, { status: blocks.status }),
        read: (source, { status }) => {
          const path = readPath(textIn(source, word) ?? '');
          const to = textIn(source, 'to');
          const named = { path, to: to === undefined ? (path.at(-1) ?? '') : readName(to), status };
          const elements = elementsIn(source);
          return [
            {
              rule: elements === undefined ? { rule: 'list', ...named } : { rule: word, ...named, elements },
            },
          ];
        },
      }),
      effect: word === 'unlist' ? ['makes one value of '] : ['makes ', ' a list'],
      isRepeatable: (rule) => 'elements' in rule,
      takes: ({ path, to }) => path.at(-1) !== to,
    },
  };
}

const DESCRIPTIONS = {
  list: 'Turns a value into a list of one, a text with separators into a list of texts, or each value of a list into an object.',
  entries:
    'Turns an object into a list of pairs: an object with name and value for each member, in their order.',
  unlist:
    'Turns a list of texts into one text, a list of objects into one of values, or a list of pairs into an object.',
};

/** The schema of a rule about a list with one form of elements. */
function schemaOf(
  word: ElementsRule['rule'],
  { strict, optional, memberPath, name, text }: Blocks,
  place: zod.core.$ZodShape,
  last: zod.core.$ZodShape = {},
): zod.ZodObject {
  const separate = {
    with: optional(text, 'What separates the texts: a comma, for example.'),
    of: optional(name, 'The member that each object has for a value.'),
  };
  const pair = {
    name: name.describe('The member of a pair with the name.'),
    value: name.describe('The member of a pair with the value.'),
  };
  const one = 'has one member for name and value; write two';
  if (word === 'entries')
    return strict({ [word]: memberPath, ...place, ...pair, ...last })
      .refine(hasTwoNames, one)
      .describe(DESCRIPTIONS[word]);
  const hasPairs = word === 'unlist';
  const half = {
    name: optional(name, 'The member of a pair with the name.'),
    value: optional(name, 'The member of a pair with the value.'),
  };
  return strict({ [word]: memberPath, ...place, ...separate, ...(hasPairs && half), ...last })
    .refine(
      (rule) => formsIn(rule) === 1 || (formsIn(rule) === 0 && !hasPairs),
      hasPairs
        ? 'needs one of with, of, or name and value'
        : 'has with and of; write the one that the elements need',
    )
    .refine(hasTwoNames, one)
    .describe(DESCRIPTIONS[word]);
}

/** False for pairs whose name and value would be one member. */
function hasTwoNames(rule: object): boolean {
  const name = textIn(rule, 'name');
  return name === undefined || name !== textIn(rule, 'value');
}

/** Returns how many forms of elements a rule has. Half a pair counts only in addition to another form. */
function formsIn(rule: object): number {
  const halves = ['name', 'value'].filter((key) => key in rule).length;
  return ['with', 'of'].filter((key) => key in rule).length + halves / 2;
}

/** The elements of the list for a value; undefined for a list with one element. */
function elementsIn(source: object): Elements | undefined {
  const [separator, of, name, value] = ['with', 'of', 'name', 'value'].map((key) => textIn(source, key));
  if (separator !== undefined) return { are: 'texts', with: separator };
  if (of !== undefined) return { are: 'objects', of: readName(of) };
  if (name === undefined || value === undefined) return undefined;
  return { are: 'pairs', name: readName(name), value: readName(value) };
}

function wordsOfForms(elements: Elements): readonly [one: string, many: string] {
  switch (elements.are) {
    case 'texts':
      return [`a text with ${JSON.stringify(elements.with)} in it`, 'a list of texts'];
    case 'objects':
      return ['a list of values', `a list of objects with ${elements.of}`];
    case 'pairs':
      return ['an object', `a list of pairs of ${elements.name} and ${elements.value}`];
  }
}

/** Does the planned work; returns the patch operations for a value at a path, with a free temporary place. */
type Work = () => (path: string, aside: string) => readonly PatchOperation[] | undefined;

/** One direction of a form, compiled. */
interface Form {
  /** What the value must be. */
  readonly expected: string;
  /** Plans the conversion of a member; undefined if its value cannot be converted. */
  readonly plan: (run: Run, member: DraftMember) => Work | Stop | undefined;
  readonly open?: (opened: MembersToOpen) => void;
}

/** Converts the value of the named member; null counts as no value, and stays. */
function compile(rule: ElementsRule, base: RuleBase, names: NameTable): CompiledRule {
  const { open, plan, expected } = formOf(rule, base, names);
  const to = names.add(rule.to);
  const compiled = aboutMember(rule, base, names, (run, object, member) => {
    run.readsValues();
    const { draft } = run;
    const isNull = draft.open(member, member.node) === undefined && jsonOf(draft, member) === NULL;
    if (isNull && to === member.id) return undefined;
    const work = isNull ? undefined : plan(run, member);
    if (typeof work === 'object') return work;
    if (work === undefined && !isNull) return run.settleValue(base, member, expected);
    const stop = settleNames(base, run, object, member, to);
    if (stop !== undefined) return stop;
    const before = run.pointerOf(member);
    renameTo(member, to);
    markChanged(object);
    run.step(base.code + PLAIN);
    const steps = work?.();
    if (steps === undefined) run.recorder?.move(base, member, before);
    else run.recorder?.reshape(base, member, before, steps);
    return undefined;
  });
  const lift = rule.rule === 'unlist' ? 1 : 0;
  return { ...compiled, reach: compiled.path.length + 3, lift, ...(open === undefined ? {} : { open }) };
}

function formOf(rule: ElementsRule, base: RuleBase, names: NameTable): Form {
  const { elements } = rule;
  const [id, to] = [names.add(rule.member), names.add(rule.to)];
  const isBack = rule.rule === 'unlist';
  switch (elements.are) {
    case 'texts':
      return isBack
        ? joining(elements.with, id, rule.isOfTexts === true)
        : splitting(elements.with, rule.isOfTexts === true);
    case 'objects': {
      const of = names.add(elements.of);
      return isBack ? takingOut(elements.of, of, id, to, base) : puttingIn(of, id);
    }
    case 'pairs': {
      const [name, value] = [names.add(elements.name), names.add(elements.value)];
      return isBack
        ? unpairing(elements, { name, value, id, to }, base)
        : pairing(elements, { name, value, id });
    }
  }
}

/** Splits a text at its separators: an empty text has no parts, except in a form, which has no empty lists. */
function splitting(separator: string, isOfTexts: boolean): Form {
  return {
    expected: 'a string',
    plan: ({ draft }, member) => {
      const json = jsonOf(draft, member);
      if (json?.startsWith('"') !== true) return undefined;
      return () => {
        const parts = json === '""' && !isOfTexts ? [] : splitAll(json, separator);
        const array = madeArray(member);
        for (const [index, part] of parts.entries()) {
          if (!draft.hasRoom()) break;
          const element = new DraftElement(array, index);
          element.literal = bytesOfText(part);
          array.elements.push(element);
        }
        return (path) => [{ op: 'replace', path, value: parts.map(decoded) }];
      };
    },
  };
}

/** Joins texts, if the result can be split again. */
function joining(separator: string, id: number, isOfTexts: boolean): Form {
  return {
    expected: `a list of strings without ${JSON.stringify(separator)} in them`,
    open: ({ arrays }) => {
      arrays[id] = true;
    },
    plan: (run, member) => {
      if (!(member.value instanceof DraftArray)) return undefined;
      const { draft } = run;
      const parts = draft.elementsOf(member.value).map((element) => jsonOf(draft, element.from ?? element));
      const joined = joinAll(parts, separator, isOfTexts || run.response !== undefined);
      if (joined === undefined) return undefined;
      return () => {
        overwrite(member, joined);
        return (path) => [{ op: 'replace', path, value: decoded(joined) }];
      };
    },
  };
}

/** Puts each element into an object with one member. */
function puttingIn(of: number, id: number): Form {
  return {
    expected: 'a list',
    open: ({ arrays }) => {
      arrays[id] = true;
    },
    plan: ({ draft }, { value: array }) => {
      if (!(array instanceof DraftArray)) return undefined;
      const elements = draft.elementsOf(array);
      return () => {
        for (const element of elements) putIn(element, of);
        const token = pointerToken(draft.names.name(of));
        return (path) =>
          elements.flatMap((_, at): readonly PatchOperation[] => [
            { op: 'add', path: `${path}/${at}`, value: {} },
            { op: 'move', from: `${path}/${at + 1}`, path: `${path}/${at}/${token}` },
          ]);
      };
    },
  };
}

function putIn(element: DraftElement, of: number): void {
  const { from, value, literal } = element;
  const object = new DraftObject(-1, element);
  const member = new DraftMember(of, from?.node ?? element.node, -1, false, object);
  member.hasLead = false;
  member.isRenamed = true;
  member.isElement = member.node >= 0;
  member.isReplaced = element.isReplaced && value !== undefined;
  member.literal = literal;
  member.value = value;
  if (value !== undefined) value.up = member;
  object.members.push(member);
  put(element, object, undefined);
  markChanged(object);
}

/** Takes each element out of its object. */
function takingOut(name: string, of: number, id: number, to: number, base: RuleBase): Form {
  return {
    expected: `a list of objects with ${name}, and nothing else in them`,
    open: ({ objects, arrays }) => {
      if (arrays[to] === true) objects[of] = arrays[of] = true;
      arrays[id] = true;
    },
    plan: (run, member) => {
      const found = membersOfAll(run, member, [of], base);
      if (!('all' in found)) return found.stop;
      return () => {
        if (found.hasMore) run.recorder?.keep(base, member, 'more');
        for (const { element, members } of found.all) takeOut(run.draft, element, members[0]);
        const token = pointerToken(name);
        return (path) =>
          found.all.flatMap((_, at): readonly PatchOperation[] => [
            { op: 'move', from: `${path}/${at}/${token}`, path: `${path}/${at}` },
            { op: 'remove', path: `${path}/${at + 1}` },
          ]);
      };
    },
  };
}

function takeOut(draft: Draft, element: DraftElement, member: DraftMember | undefined): void {
  if (member === undefined) return;
  const value = draft.open(member, member.node);
  put(element, value, member);
  element.literal = member.literal;
  if (value !== undefined) value.up = element;
  markChanged(element.array);
}

/** Gives an element another value, possibly that of a member. */
function put(
  element: DraftElement,
  value: DraftObject | DraftArray | undefined,
  from: DraftMember | undefined,
): void {
  element.literal = undefined;
  element.value = value;
  element.from = from;
  element.isReplaced = true;
}

interface PairIds {
  readonly name: number;
  readonly value: number;
  readonly id: number;
}

/** Converts each member to an object with its name and its value. */
function pairing(pair: { readonly name: string; readonly value: string }, ids: PairIds): Form {
  return {
    expected: 'an object',
    open: (opened) => {
      // Contents of a value are in a member with any name.
      if (opened.objects[ids.value] === true || opened.arrays[ids.value] === true) opened.all = true;
      opened.objects[ids.id] = true;
    },
    plan: ({ draft, recorder }, holder) => {
      const { value: object } = holder;
      if (!(object instanceof DraftObject)) return undefined;
      return () => {
        const members = eachMember(draft, object);
        const names = members.map((member) => spelledName(draft, member));
        const array = madeArray(holder);
        for (const [index, member] of members.entries()) {
          if (!draft.hasRoom()) break;
          array.elements.push(pairOf(array, index, member, names[index], ids));
        }
        if (recorder?.makesPatch !== true) return () => undefined;
        const texts = names.map((name) => decodeString(name, 0, name.length));
        // A patch cannot distinguish two members with the same name.
        if (new Set(texts).size < texts.length) return () => undefined;
        const [name, value] = [pointerToken(pair.name), pointerToken(pair.value)];
        return (path, aside) => [
          { op: 'move', from: path, path: aside },
          { op: 'add', path, value: [] },
          ...texts.flatMap((text, at): readonly PatchOperation[] => [
            { op: 'add', path: `${path}/${at}`, value: { [pair.name]: null } },
            { op: 'replace', path: `${path}/${at}/${name}`, value: text },
            { op: 'move', from: `${aside}/${pointerToken(text)}`, path: `${path}/${at}/${value}` },
          ]),
          { op: 'remove', path: aside },
        ];
      };
    },
  };
}

function pairOf(
  array: DraftArray,
  index: number,
  member: DraftMember,
  name: Uint8Array | undefined,
  ids: PairIds,
): DraftElement {
  const element = new DraftElement(array, index);
  const object = new DraftObject(-1, element);
  const key = new DraftMember(ids.name, -1, -1, false, object);
  key.hasLead = false;
  key.literal = name;
  member.id = ids.value;
  member.isRenamed = true;
  placeIn(object, member);
  object.members.unshift(key);
  object.isChanged = true;
  element.value = object;
  return element;
}

/** Converts each pair to a member of one object; of several with the same name, a response keeps the first. */
function unpairing(
  pair: { readonly name: string; readonly value: string },
  ids: PairIds & { readonly to: number },
  base: RuleBase,
): Form {
  return {
    expected: `a list of objects with ${pair.name}, a string, and ${pair.value}, and nothing else in them`,
    open: ({ objects, arrays }) => {
      if (objects[ids.to] === true) objects[ids.value] = arrays[ids.value] = true;
      arrays[ids.id] = true;
    },
    plan: (run, holder) => {
      const found = membersOfAll(run, holder, [ids.name, ids.value], base);
      if (!('all' in found)) return found.stop;
      const pairs: { readonly at: number; readonly json: string; readonly value: DraftMember }[] = [];
      for (const [at, { members }] of found.all.entries()) {
        const [name, value] = members;
        const json = name === undefined ? undefined : jsonOf(run.draft, name);
        if (name === undefined || value === undefined || json?.startsWith('"') !== true) return undefined;
        pairs.push({ at, json, value });
      }
      const named = onePerName(run, base, pairs);
      if ('kind' in named) return named;
      return () => {
        if (found.hasMore || named.length < pairs.length) run.recorder?.keep(base, holder, 'more');
        const object = new DraftObject(-1, holder);
        for (const { json, value } of named) nameBy(run.draft, json, object, value);
        replaceBy(holder, object);
        const token = pointerToken(pair.value);
        return (path, aside) => [
          { op: 'move', from: path, path: aside },
          // The names were values, which no patch of a response contains.
          { op: 'add', path, value: 0 },
          { op: 'replace', path, value: {} },
          ...named.map(({ at, json }): PatchOperation => ({
            op: 'move',
            from: `${aside}/${at}/${token}`,
            path: `${path}/${pointerToken(stringText(json.slice(1, -1)))}`,
          })),
          { op: 'remove', path: aside },
        ];
      };
    },
  };
}

/** The pairs with distinct names; or why a request is stopped if a name is repeated. */
function onePerName<Pair extends { readonly json: string; readonly value: DraftMember }>(
  run: Run,
  { policies }: RuleBase,
  pairs: readonly Pair[],
): readonly Pair[] | Stop {
  const isRequest = run.response === undefined;
  const named = new Map<string, Pair>();
  for (const pair of pairs) {
    const name = stringText(pair.json.slice(1, -1));
    if (!named.has(name)) named.set(name, pair);
    else if (isRequest && policies.duplicate === 'forward')
      return { kind: 'forward', note: 'duplicate-member' };
    else if (isRequest && policies.duplicate === 'refuse')
      return refuse(
        'duplicate-member',
        400,
        'Two elements of the list would become members with the same name; send one of them.',
        run,
        pair.value,
      );
    else if (isRequest) named.set(name, pair);
  }
  return [...named.values()];
}

function nameBy(draft: Draft, json: string, object: DraftObject, member: DraftMember): void {
  const key = bytesOfText(json);
  member.key = key;
  member.id = draft.names.find(key, 0, key.length, json.includes('\\'));
  member.isRenamed = false;
  placeIn(object, member);
}

/** Makes `member` the last of a new object. */
function placeIn(object: DraftObject, member: DraftMember): void {
  member.hasDelimiter = member.hasLead = false;
  member.isRemoved = false;
  member.holder = object;
  object.members.push(member);
}

/** The members of a list's objects with some names. */
interface FoundMembers {
  readonly all: readonly { readonly element: DraftElement; readonly members: readonly DraftMember[] }[];
  /** True if they have other members. */
  readonly hasMore: boolean;
}

/** Returns the members with these names of each object of a list; a stop, or undefined if the list contains something else. */
function membersOfAll(
  run: Run,
  { value: array }: DraftMember,
  ids: readonly number[],
  base: RuleBase,
): FoundMembers | { readonly stop: Stop | undefined } {
  if (!(array instanceof DraftArray)) return { stop: undefined };
  const all: { readonly element: DraftElement; readonly members: readonly DraftMember[] }[] = [];
  let hasMore = false;
  for (const element of run.draft.elementsOf(array)) {
    const { value: object } = element;
    if (!(object instanceof DraftObject)) return { stop: undefined };
    const members = ids.flatMap((id) => find(object, id) ?? []);
    if (members.length < ids.length) return { stop: undefined };
    for (const member of members) {
      if (!isRepeated(object, member.id, member)) continue;
      const stop = run.settleRead(base, member.id, member);
      if (stop !== undefined) return { stop };
    }
    hasMore ||= object.members.length > ids.length;
    // V1 had no place for more members in a response; those that a client sends must not be lost.
    if (hasMore && run.response === undefined) return { stop: undefined };
    all.push({ element, members });
  }
  return { all, hasMore };
}

/** Replaces the value of `member` with a new list. */
function madeArray(member: DraftMember): DraftArray {
  const array = new DraftArray(-1, member);
  array.isEntered = array.isWhole = true;
  replaceBy(member, array);
  return array;
}

function replaceBy(member: DraftMember, value: DraftObject | DraftArray): void {
  value.isChanged = true;
  member.literal = undefined;
  member.value = value;
  member.isReplaced = true;
  markChanged(member.holder);
}

/** The parts of a JSON string between separators, as spelled. */
function splitAll(json: string, separator: string): readonly string[] {
  const raw = json.slice(1, -1);
  if (!raw.includes('\\')) return raw.split(separator).map((part) => `"${part}"`);
  const text = stringText(raw);
  const parts: string[] = [];
  let [unit, at, start] = [0, 0, 0];
  /** The index in `raw` of the character with the index `to` in the text. */
  const advance = (to: number): number => {
    for (; unit < to; unit += 1) at += raw[at] !== '\\' ? 1 : raw[at + 1] === 'u' ? 6 : 2;
    return at;
  };
  for (let found = text.indexOf(separator); found !== -1;) {
    parts.push(`"${raw.slice(start, advance(found))}"`);
    start = advance(found + separator.length);
    found = text.indexOf(separator, found + separator.length);
  }
  return [...parts, `"${raw.slice(start)}"`];
}

/**
 * Joins JSON strings; undefined if one is not a string, or if splitting would give other strings. With `isLenient`, one empty text counts
 * as none.
 */
function joinAll(
  parts: readonly (string | undefined)[],
  separator: string,
  isLenient: boolean,
): string | undefined {
  const raws: string[] = [];
  for (const json of parts) {
    if (json?.startsWith('"') !== true) return undefined;
    raws.push(json.slice(1, -1));
  }
  const joined = `"${raws.join(spelledText(separator))}"`;
  const again = joined === '""' && !(isLenient && raws.length === 1) ? [] : splitAll(joined, separator);
  const isSame = again.length === raws.length && again.every((part, at) => part === `"${raws[at] ?? ''}"`);
  return isSame ? joined : undefined;
}
