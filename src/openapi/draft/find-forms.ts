import type { Components } from '../components.ts';
import { type DescribedOperation, followed, isJsonMedia, memberOf, objectIn } from '../description.ts';
import { ANY_SHAPE, isCompatible, type Shape, shapeAt, shapeOf } from '../shape.ts';
import { successShape } from './bodies.ts';
import { type BookRule, valueMap } from './book-rules.ts';
import { pathText } from './found-rules.ts';
import { examplesOf, type FoundValue } from './conversions.ts';
import type { Versions } from './find-inverse.ts';
import { singular, wordsOf } from './names.ts';
import { type ProposedKey, scalar } from './print-rule-book.ts';
import { changeId, listOf, type ProposedChange } from './propose-changes.ts';

/** An error as a description has it: its media type and its shape. */
interface DescribedError {
  readonly status: string;
  readonly media: string;
  readonly shape: Shape;
}

/** The errors that an operation describes, in all media types. */
function errorsOf({ operation }: DescribedOperation, components: Components): readonly DescribedError[] {
  const { description } = components;
  return Object.entries(objectIn(operation, 'responses')).flatMap(([status, declared]) =>
    /^(?:[45]..|default)$/i.test(status)
      ? Object.entries(objectIn(followed(description, declared), 'content')).map(([media, content]) => ({
          status,
          // A response cannot have a range as its media type.
          media: isJsonMedia(media) && media.includes('*') ? 'application/json' : media,
          shape: shapeOf(memberOf(content, 'schema'), components),
        }))
      : [],
  );
}

/** The names of the members of a body, with those of the objects and lists in it. */
function memberNames({ members }: Shape): readonly string[] {
  return [...members].flatMap(([name, { shape }]) => [
    name,
    ...[...(shape.element ?? shape).members.keys()].map((inner) => pathText([name, inner])),
  ]);
}

/** The value that all items of a list have; undefined if two differ, or the list is empty. */
function onlyOne<Value>(all: readonly Value[]): Value | undefined {
  const [one, ...others] = new Set(all);
  return others.length === 0 ? one : undefined;
}

/** A list of errors in a body: its path, and the names of the members that have the place and the text. */
interface ErrorList {
  readonly list: readonly string[];
  readonly pointer: string;
  readonly text: readonly string[];
}

/** Members of an error with its place, and members with its description. */
const POINTERS: readonly string[] =
  'pointer field path param parameter property attribute name location'.split(' ');
const TEXTS: readonly string[] = 'message detail description reason msg title error'.split(' ');

/** The list of errors with places in a body, at most one object deep; undefined for none. */
function errorListIn(shape: Shape, path: readonly string[] = []): ErrorList | undefined {
  for (const [name, { shape: member }] of shape.members) {
    const names = new Set(member.element?.members.keys());
    const pointer = POINTERS.find((one) => names.has(one));
    const text = TEXTS.filter((one) => one !== pointer && names.has(one));
    if (pointer !== undefined && text.length > 0) return { list: [...path, name], pointer, text };
    const inner = path.length === 0 && member.members.size > 0 ? errorListIn(member, [name]) : undefined;
    if (inner !== undefined) return inner;
  }
  return undefined;
}

/** True for an error of RFC 9457. */
function isProblem({ media }: DescribedError): boolean {
  return media.startsWith('application/problem+json');
}

/** The form of an error, as a rule book writes it; undefined if the error does not name places. A problem may have its places in another form. */
function formOf(error: DescribedError): string | undefined {
  const { media, shape } = error;
  if (!isJsonMedia(media)) return undefined;
  const errors = shape.members.get('errors')?.shape;
  if (errors?.element?.members.get('source')?.shape.members.has('pointer') === true) return 'json-api';
  if (isProblem(error) && errors?.element?.members.has('pointer') === true) return 'problem';
  if (errors?.rest?.types.has('array') === true) return 'rails';
  const found = errorListIn(shape);
  if (found === undefined) return isProblem(error) ? 'problem' : undefined;
  const { list, pointer, text } = found;
  const texts = text.map((one) => scalar(one)).join(', ');
  return `list: ${scalar(pathText(list))}, pointer: ${scalar(pointer)}, text: [${texts}]`;
}

/** The placeholder for a member of V1's errors, by the words of its name. */
const PLACEHOLDERS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '{status}': 'status statuscode httpstatus httpstatuscode',
    '{code}': 'code errorcode type errortype reason',
    '{title}': 'title',
    '{detail}': 'message detail description msg errordescription errormessage error text',
    '{pointer}': 'pointer',
    '{field}': 'field path param parameter property attribute',
    '{id}': 'requestid traceid correlationid',
  }).flatMap(([placeholder, words]) => words.split(' ').map((word) => [word, placeholder] as const)),
);

/** The gateway's own errors in V1's form, as a template in YAML; undefined where V1's have no text. */
function templateOf(shape: Shape, level = 0): string | undefined {
  const parts = [...shape.members].flatMap(([name, { shape: member }]) => {
    const holder = PLACEHOLDERS.get(wordsOf(name).join(''));
    const isObject = member.members.size > 0;
    const inner = member.element ?? (isObject ? member : undefined);
    if (inner !== undefined && inner.members.size > 0 && level < 2) {
      const text = templateOf(inner, level + 1);
      return text === undefined ? [] : [`${scalar(name)}: ${isObject ? text : `[${text}]`}`];
    }
    const isScalar = member.element === undefined && !isObject;
    return holder === undefined || !isScalar ? [] : [`${scalar(name)}: '${holder}'`];
  });
  // If another member has the text, `error` is a code for programs.
  const detailed = parts.filter((part) => part.includes('{detail}')).length;
  const at = parts.findIndex((part) => part === "error: '{detail}'");
  if (detailed > 1 && at >= 0) parts[at] = "error: '{code}'";
  return parts.some((part) => part.includes('{detail}') || part.includes('{title}'))
    ? `{ ${parts.join(', ')} }`
    : undefined;
}

/**
 * The keys about errors: the form of V2's errors, V1's form for the gateway's own errors, and whether V2 refuses the same requests as V1.
 */
export function errorKeys({ named, v1, v2 }: Versions, hasRules: boolean): readonly ProposedKey[] {
  const [old, young] = [
    named.flatMap(({ pair }) => errorsOf(pair.v1, v1)),
    named.flatMap(({ pair }) => errorsOf(pair.v2, v2)),
  ];
  const media = onlyOne(old.map((one) => one.media));
  const form = onlyOne(old.map((one) => (isProblem(one) ? 'problem' : formOf(one))));
  const areProblems = young.every(isProblem);
  const forms = young.map(formOf);
  // A problem without places has the form of those that have some.
  const wanted = onlyOne(forms) ?? (areProblems ? forms.find((one) => one !== 'problem') : undefined);
  const isSameMedia = media !== undefined && onlyOne(young.map((one) => one.media)) === media;
  const members = onlyOne([...old, ...young].map(({ shape }) => memberNames(shape).toSorted().join(' ')));
  return [
    ...(hasRules && wanted !== undefined
      ? [errorsKey(wanted, areProblems, isSameMedia ? undefined : media)]
      : []),
    ...refusalKeys(old, media, form),
    // The gateway refuses what V1 would have refused, unless V2 refuses it in V1's form and words.
    ...(isSameMedia && members !== undefined ? [POLICIES] : []),
  ];
}

const POLICIES: ProposedKey = {
  key: 'policies',
  lines: [
    'policies:',
    '  malformed: forward # a body that is not JSON',
    '  value: keep # a value that no rule can convert',
  ],
  question: 'does V2 refuse the same requests as V1, in the same words? Both describe errors in one form.',
};

/** The form of V2's errors; `media` is the media type of V1's errors, if it is another one. */
function errorsKey(form: string, areProblems: boolean, media: string | undefined): ProposedKey {
  const isList = form.startsWith('list: ');
  const isOtherType = areProblems && media !== undefined && isJsonMedia(media);
  const parts = [isList ? form : `form: ${form}`];
  if (isOtherType) parts.push(`as: { type: ${scalar(media)} }`);
  const lines = [`errors: ${isList || isOtherType ? `{ ${parts.join(', ')} }` : form}`];
  return isList || (areProblems && form !== 'problem')
    ? { key: 'errors', lines, question: "do V2's errors name members of a request in this form?" }
    : { key: 'errors', lines, evidence: "V2's description has its errors in this form." };
}

/** The changes that give V2's errors the members of V1's, each a question: their texts and codes remain V2's. */
export function errorChanges({ named, v1, v2 }: Versions): readonly ProposedChange[] {
  const groups = new Map<string, { readonly change: ProposedChange; readonly on: string[] }>();
  const bare: string[] = [];
  const classes = classesOf(
    named.flatMap(({ pair }) => [...errorsOf(pair.v1, v1), ...errorsOf(pair.v2, v2)]),
  );
  for (const { pair, operation } of named) {
    const [old, young] = [errorsOf(pair.v1, v1), errorsOf(pair.v2, v2)];
    if (old.length === 0 || young.length === 0) bare.push(operation.id);
    const [before, now] = [old, young].map(onlyShape);
    const found = before && now && (innerRules(before, now) ?? plainRules(before, now));
    if (before === undefined || now === undefined || found === undefined) continue;
    const inClasses = (all: readonly BookRule[]): readonly BookRule[] =>
      classes.flatMap((status) => all.map((rule) => ({ ...rule, status })));
    const isAddress = (name: string): boolean =>
      isProblemType(name, young) || now.members.get(name)?.shape.format.startsWith('uri') === true;
    // V1's clients read a code, and would get an address for it.
    const addresses = (found.pairs ?? []).filter(({ from }) => isAddress(from));
    const rules = inClasses(found.rules.filter((rule) => !addresses.some((one) => one.rule === rule)));
    const on: string[] = [];
    const names = [before, now].map((shape) => memberNames(shape).join(', '));
    const change: ProposedChange = {
      id: changeId('errors'),
      summary: `Errors have ${found.words}${found.left.length === 0 ? '' : `, and no ${listOf(found.left)}`}.`,
      on,
      rules: [],
      response: [
        {
          rules,
          confidence: 0.5,
          evidence: `V1's errors have ${names[0]}, and V2's ${names[1]}`,
          doubt: 'what they say is in words and numbers of V2',
        },
        ...addresses.map(({ from, to, rule }) => {
          const codes = shapeAt(before, to)?.values ?? [];
          const values = codesOf(now.members.get(from)?.shape ?? ANY_SHAPE, codes);
          const map = values.length === 0 ? [] : [valueMap(values, from)];
          const listed = codes.length === 0 ? '' : `; V1 lists ${codes.join(', ')}: map each address to one`;
          return {
            rules: inClasses([...map, rule]),
            confidence: 0.5,
            evidence: `V2's errors have ${from}`,
            doubt: `it is an address, which V1's clients would get as ${pathText(to)}${listed}`,
            others: [inClasses([errorRule('strip', [from])])],
          };
        }),
      ].filter((one) => one.rules.length > 0),
    };
    const key = JSON.stringify([rules, addresses]);
    const known = groups.get(key) ?? { change, on };
    groups.set(key, known);
    known.on.push(operation.id);
  }
  // An operation whose errors are not described has the errors of all others.
  const [only, ...others] = groups.values();
  if (only !== undefined && others.length === 0 && only.on.length + bare.length === named.length)
    return [{ ...only.change, on: named.map(({ operation }) => operation.id) }];
  return [...groups.values()].map(({ change, on }) => ({ ...change, on }));
}

/** The addresses that V2 shows for kinds of errors, each with the code of V1 that its last segment names. */
function codesOf(shape: Shape, codes: Shape['values']): readonly (readonly [string, FoundValue])[] {
  const plain = (value: unknown): string => wordsOf(String(value)).join('');
  return [...new Set([...shape.values.map(String), ...examplesOf(shape)])].flatMap((address) => {
    const last = plain(address.split('/').at(-1));
    const code = codes.find((one) => plain(one) === last);
    return code === undefined ? [] : [[address, code] as const];
  });
}

/** True for the `type` of a problem: RFC 9457 has the address of its kind there. */
function isProblemType(name: string, errors: readonly DescribedError[]): boolean {
  return name === 'type' && errors.every(isProblem);
}

/** Rules that turn V2's errors into V1's, except for the status, and their effect in words. */
interface ErrorRules {
  readonly rules: readonly BookRule[];
  /** Those that give a member of V2's body the name of V1's; absent where they depend on each other. */
  readonly pairs?: readonly PairRule[];
  readonly words: string;
  /** The members of V2 that are left out. */
  readonly left: readonly string[];
}

interface PairRule extends ErrorPair {
  readonly rule: BookRule;
}

/** The rules for errors whose members are those of the body in V2. */
function plainRules(before: Shape, now: Shape): ErrorRules | undefined {
  const pairs = errorPairs(before, now).map((pair): PairRule => ({
    ...pair,
    rule: errorRule(pair.to.length === 1 ? 'rename' : 'move', [pair.from], pair.to),
  }));
  if (pairs.length === 0) return undefined;
  const kept = new Set([...pairs.map(({ from }) => from), ...before.members.keys()]);
  const left = [...now.members.keys()].filter((name) => !kept.has(name));
  return {
    rules: [...pairs.map(({ rule }) => rule), ...left.map((name) => errorRule('strip', [name]))],
    pairs,
    left,
    words: pairs.map(({ from, to }) => `${pathText([from])} as ${pathText(to)}`).join(', '),
  };
}

function errorRule(word: string, path: readonly string[], to?: readonly string[]): BookRule {
  return { [word]: pathText(path), ...(to !== undefined && { to: pathText(to) }) };
}

/** An object in a body of an error, or the elements of a list in it. */
interface InnerError {
  readonly name: string;
  readonly shape: Shape;
  readonly isList: boolean;
}

function innerErrors({ members }: Shape): readonly InnerError[] {
  return [...members].flatMap(([name, { shape }]) => {
    const inner = shape.element ?? shape;
    return inner.members.size === 0 ? [] : [{ name, shape: inner, isList: shape.element !== undefined }];
  });
}

/**
 * The rules for errors whose text is in an object or a list in V2, and in the body, or in another object or list, in V1; undefined for
 * others.
 */
function innerRules(before: Shape, now: Shape): ErrorRules | undefined {
  if (hasText(before, now)) return undefined;
  const others = innerErrors(before);
  const places = [...others, undefined];
  for (const inner of innerErrors(now))
    for (const place of places) {
      if (place?.isList === true && !inner.isList) continue;
      const old = place?.shape ?? before;
      if (!hasText(old, inner.shape)) continue;
      const pairs = errorPairs(old, inner.shape);
      const isSame = place !== undefined && place.name === inner.name && place.isList === inner.isList;
      if (isSame && pairs.length === 0) return undefined;
      return place === undefined
        ? outerRules(before, now, inner, pairs)
        : betweenRules({ before, now, place, inner }, pairs);
    }
  return undefined;
}

/** True if a member of V2's errors has the text of V1's, under the same name or another one. */
function hasText(old: Shape, young: Shape): boolean {
  const isText = (name: string): boolean => /^\{(?:detail|title)\}$/.test(holderOf(name) ?? '');
  return (
    [...old.members].some(
      ([name, { shape }]) =>
        isText(name) && isScalar(shape) && isScalar(young.members.get(name)?.shape ?? ANY_SHAPE),
    ) || errorPairs(old, young).some(({ to }) => isText(to.at(-1) ?? ''))
  );
}

/** The rules that move the members of an object, or of the first element of a list, into the body. */
function outerRules(
  before: Shape,
  now: Shape,
  { name, shape, isList }: InnerError,
  pairs: readonly ErrorPair[],
): ErrorRules {
  const isTaken = (one: string): boolean => before.members.has(one) || now.members.has(one);
  const own = isTaken(singular(name)) ? `first_${singular(name)}` : singular(name);
  const holder = isList ? own : before.members.has(name) ? `inner_${name}` : name;
  const same = [...shape.members.keys()].filter(
    (member) => before.members.has(member) && !now.members.has(member),
  );
  const members = [...new Set([...same, ...pairs.map(({ from }) => from)])];
  const left = [...now.members.keys()].filter((other) => other !== name && !before.members.has(other));
  const head = isList
    ? [errorRule('first', [name], [holder])]
    : holder === name
      ? []
      : [errorRule('rename', [name], [holder])];
  return {
    rules: [
      ...head,
      { ...errorRule('unnest', [holder]), members },
      ...pairs.map(({ from, to }) => errorRule(to.length === 1 ? 'rename' : 'move', [from], to)),
      ...[holder, ...left].map((other) => errorRule('strip', [other])),
    ],
    left,
    words: `what V2 has in ${isList ? 'the first of ' : ''}${pathText([name])}`,
  };
}

/** Both bodies of errors, and the object or list that has the text in each. */
interface InnerPair {
  readonly before: Shape;
  readonly now: Shape;
  readonly place: InnerError;
  readonly inner: InnerError;
}

/** The rules that turn one object or list into another. */
function betweenRules({ before, now, place, inner }: InnerPair, pairs: readonly ErrorPair[]): ErrorRules {
  const isFirst = inner.isList && !place.isList;
  const path = place.isList ? [place.name, '*'] : [place.name];
  const isNamed = inner.name === place.name;
  const kept = new Set([...pairs.map(({ from }) => from), ...place.shape.members.keys()]);
  const inside = [...inner.shape.members.keys()].filter((name) => !kept.has(name));
  const left = [...now.members.keys()].filter((name) => name !== inner.name && !before.members.has(name));
  const to = isNamed ? undefined : [place.name];
  return {
    rules: [
      ...(isFirst
        ? [errorRule('first', [inner.name], to)]
        : to
          ? [errorRule('rename', [inner.name], to)]
          : []),
      ...pairs
        .filter((pair) => pair.to.length === 1)
        .map((pair) => errorRule('rename', [...path, pair.from], pair.to)),
      ...inside.map((name) => errorRule('strip', [...path, name])),
      ...left.map((name) => errorRule('strip', [name])),
    ],
    left: [...inside.map((name) => pathText([...path, name])), ...left],
    words: `in ${pathText([place.name])} what V2 has in ${isFirst ? 'the first of ' : ''}${pathText([inner.name])}`,
  };
}

/** The shape of all errors of an operation; undefined where their members differ, or there are none. */
function onlyShape(errors: readonly DescribedError[]): Shape | undefined {
  const names = onlyOne(errors.map(({ shape }) => JSON.stringify([...shape.members.keys()])));
  return names === undefined ? undefined : errors[0]?.shape;
}

/** The classes of statuses that errors have. */
function classesOf(errors: readonly DescribedError[]): readonly string[] {
  return ['4xx', '5xx'].filter((one) =>
    errors.some(({ status }) => status.startsWith(one.slice(0, 1)) || status === 'default'),
  );
}

/** A member of V2's errors, and its place in V1's. */
interface ErrorPair {
  readonly from: string;
  readonly to: readonly string[];
}

/** The members of V2's errors with the meaning of V1's, by their names or because both are numbers. */
function errorPairs(old: Shape, young: Shape): readonly ErrorPair[] {
  const wanted = [...old.members].flatMap(([name, { shape }]): readonly (readonly [string[], Shape])[] => {
    if (young.members.has(name)) return [];
    if (shape.members.size === 0) return [[[name], shape]];
    return [...shape.members].map(([inner, member]) => [[name, inner], member.shape]);
  });
  const free = new Map([...young.members].filter(([name]) => !old.members.has(name)));
  const pairs: ErrorPair[] = [];
  // The text first, then what is the same by name, then a title for a text and a status for a code.
  for (const isLoose of [false, true])
    for (const [to, shape] of wanted) {
      if (pairs.some((pair) => pair.to === to)) continue;
      const holder = holderOf(to.at(-1) ?? '');
      const same = isLoose ? LOOSE.get(holder ?? '') : holder;
      const from = [...free].find(
        ([name, { shape: other }]) =>
          same !== undefined &&
          holderOf(name) === same &&
          isScalar(other) &&
          isScalar(shape) &&
          isCompatible(shape, other),
      )?.[0];
      if (from === undefined) continue;
      free.delete(from);
      pairs.push({ from, to });
    }
  return pairs;
}

/** The placeholder that a member may stand for instead, if its type fits. */
const LOOSE: ReadonlyMap<string, string> = new Map([
  ['{detail}', '{title}'],
  ['{title}', '{detail}'],
  ['{code}', '{status}'],
  ['{status}', '{code}'],
]);

function holderOf(name: string): string | undefined {
  return PLACEHOLDERS.get(wordsOf(name).join(''));
}

function isScalar({ members, element, types }: Shape): boolean {
  return members.size === 0 && element === undefined && types.size > 0 && !types.has('object');
}

function refusalKeys(
  errors: readonly DescribedError[],
  media: string | undefined,
  form: string | undefined,
): readonly ProposedKey[] {
  if (form === 'problem' || form === 'rails') {
    const evidence = "V1's description has its errors in this form, and so have the gateway's own.";
    return [{ key: 'refusals', lines: [`refusals: ${form}`], evidence }];
  }
  if (form === 'json-api' || media === undefined || !isJsonMedia(media)) return [];
  const body = onlyOne(errors.map(({ shape }) => templateOf(shape)));
  if (body === undefined) return [];
  const type = media.startsWith('application/json') ? [] : [`  type: ${scalar(media)}`];
  return [
    {
      key: 'refusals',
      lines: ['refusals:', ...type, `  body: ${body}`],
      question: "should the gateway's own errors have this form, which is that of V1's?",
    },
  ];
}

/** Maximum levels of a response that are searched for links. */
const MAX_LEVELS = 6;

/** Names of links between the pages of a list, or to the resource itself. */
const RELATIONS: ReadonlySet<string> = new Set('self next prev previous first last'.split(' '));

/** The paths of members that are links: `href` in a member for links, or the link of a relation as an address. */
function linksIn(shape: Shape): readonly string[] {
  const found: string[] = [];
  const seen = new Set<object>();
  const visit = (one: Shape, path: readonly string[], level: number): void => {
    if (one.element !== undefined && level < MAX_LEVELS) visit(one.element, [...path, '*'], level + 1);
    if (level >= MAX_LEVELS || one.members.size === 0 || seen.has(one.members)) return;
    seen.add(one.members);
    const isAmongLinks = path.some((name) => /^_?links?$/i.test(name));
    for (const [name, { shape: member }] of one.members) {
      const isAddress = member.format.startsWith('uri') || member.format.startsWith('url');
      const isLink =
        (isAmongLinks && (name === 'href' || RELATIONS.has(name))) || (RELATIONS.has(name) && isAddress);
      if (isLink && member.types.has('string')) found.push(pathText([...path, name]));
      visit(member, [...path, name], level + 1);
    }
  };
  visit(shape, [], 0);
  return found;
}

/** The key that turns links in bodies back, if V2's description has any: otherwise V1's clients would follow them past the gateway. */
export function linkKeys({ named, v2 }: Versions): readonly ProposedKey[] {
  const isFollowed = named.some(
    ({ operation }) => operation.moved !== undefined && operation.moved.doubt === undefined,
  );
  if (isFollowed) return [];
  for (const { pair, operation } of named) {
    const shape = successShape(pair.v2, v2);
    const [first] = shape === undefined ? [] : linksIn(shape);
    if (first === undefined) continue;
    const evidence = `V2's responses have links, such as ${first} of ${operation.id}, and V1's clients follow them.`;
    return [{ key: 'body-links', lines: ['body-links: follow'], evidence }];
  }
  return [];
}
