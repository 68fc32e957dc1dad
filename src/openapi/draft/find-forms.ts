import type { Components } from '../components.ts';
import { type DescribedOperation, followed, isJsonMedia, memberOf, objectIn } from '../description.ts';
import { type Shape, shapeOf } from '../shape.ts';
import { successShape } from './bodies.ts';
import { pathText } from './compare-shapes.ts';
import type { Versions } from './find-inverse.ts';
import { wordsOf } from './names.ts';
import { type ProposedKey, scalar } from './print-rule-book.ts';

/** An error as a description has it: its media type and its shape. */
interface DescribedError {
  readonly media: string;
  readonly shape: Shape;
}

/** The errors that an operation describes, in whatever media types. */
function errorsOf({ operation }: DescribedOperation, components: Components): readonly DescribedError[] {
  const { description } = components;
  return Object.entries(objectIn(operation, 'responses')).flatMap(([status, declared]) =>
    /^(?:[45]..|default)$/i.test(status)
      ? Object.entries(objectIn(followed(description, declared), 'content')).map(([media, content]) => ({
          media,
          shape: shapeOf(memberOf(content, 'schema'), components),
        }))
      : [],
  );
}

/** The value that all of a list have; undefined where two differ, or there are none. */
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

/** Members of one error that tell where it is, and those that tell in words what it is. */
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

/** The form of an error, as a rule book writes it; undefined where it has none that names places. */
function formOf({ media, shape }: DescribedError): string | undefined {
  if (media.startsWith('application/problem+json')) return 'problem';
  if (!isJsonMedia(media)) return undefined;
  const errors = shape.members.get('errors')?.shape;
  if (errors?.element?.members.get('source')?.shape.members.has('pointer') === true) return 'json-api';
  if (errors?.rest?.types.has('array') === true) return 'rails';
  const found = errorListIn(shape);
  if (found === undefined) return undefined;
  const { list, pointer, text } = found;
  const texts = text.map((one) => scalar(one)).join(', ');
  return `{ list: ${scalar(pathText(list))}, pointer: ${scalar(pointer)}, text: [${texts}] }`;
}

/** What stands for a member of V1's errors in the gateway's own, by the words of its name. */
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
  // Where there is a text as well, `error` is a word for programs.
  const detailed = parts.filter((part) => part.includes('{detail}')).length;
  const at = parts.findIndex((part) => part === "error: '{detail}'");
  if (detailed > 1 && at >= 0) parts[at] = "error: '{code}'";
  return parts.some((part) => part.includes('{detail}') || part.includes('{title}'))
    ? `{ ${parts.join(', ')} }`
    : undefined;
}

/** The keys about errors: the form of V2's, that of the gateway's own as V1 has it, and whether both versions refuse the same. */
export function errorKeys({ named, v1, v2 }: Versions, hasRules: boolean): readonly ProposedKey[] {
  const [old, young] = [
    named.flatMap(({ pair }) => errorsOf(pair.v1, v1)),
    named.flatMap(({ pair }) => errorsOf(pair.v2, v2)),
  ];
  const media = onlyOne(old.map((one) => one.media));
  const form = onlyOne(old.map(formOf));
  const wanted = onlyOne(young.map(formOf));
  const isSameMedia = media !== undefined && onlyOne(young.map((one) => one.media)) === media;
  return [
    ...(hasRules && wanted !== undefined ? [errorsKey(wanted)] : []),
    ...refusalKeys(old, media, form),
    // Who refuses what V1 would have refused: the gateway, unless V2 does it in V1's words.
    ...(isSameMedia ? [POLICIES] : []),
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

function errorsKey(form: string): ProposedKey {
  const lines = [`errors: ${form}`];
  return form.startsWith('{')
    ? { key: 'errors', lines, question: "do V2's errors name members of a request in this form?" }
    : { key: 'errors', lines, evidence: "V2's description has its errors in this form." };
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

/** Levels of a response in which links are looked for. */
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

/** The key that turns links in bodies back, where V2's description has any: else V1's clients would follow them past the gateway. */
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
