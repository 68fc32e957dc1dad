import { bytesOfText } from '../../json/names.ts';
import { type Book, formOf, objectsAt } from './book.ts';
import { readName, readPath } from './paths.ts';
import { JsonDocument } from '../../json/document.ts';
import type { NameTable } from '../../json/names.ts';
import { addMade, type DraftMember, type DraftObject, type Template, write } from '../../edits/draft.ts';
import {
  aboutMember,
  type CompiledRule,
  type LookupAddress,
  type Path,
  type RuleBase,
  type Run,
  type Stop,
} from '../../edits/run.ts';
import { decoded, jsonOf, NULL } from '../../edits/values.ts';
import { memberAt, printAddress, type ResponseKind, type ResponseWords, type StatusPattern } from './kind.ts';

/** Adds the members `take` of V2's object for the key in the member at `path`, as the object `as` beside it. */
export interface LookupRule {
  readonly rule: 'lookup';
  readonly path: Path;
  readonly address: LookupAddress;
  readonly take: readonly string[];
  /** May be the name of the member with the key, which is then replaced. */
  readonly as: string;
  /** The substitute for V1 clients if V2 has no object for a key. */
  readonly absent: 'omit' | 'null' | 'fail';
  readonly status: readonly StatusPattern[];
}

/** How `lookup` changes the bytes of responses. */
export const kind: ResponseKind<LookupRule> = { compile };

/** How messages and guides describe `lookup`. */
export const words: ResponseWords<LookupRule> = {
  of: 'responses',
  keeps: true,
  say: ({ address, take, as }, name) =>
    `look ${name} up at ${printAddress(address)}, and take ${take.join(', ')} as ${as}`,
};

/** How a rule book writes `lookup`. */
export const book: Book<never, LookupRule> = {
  response: {
    form: ({ z, strict, optional, memberPath, insideOne, name, resource, status }) =>
      formOf(
        strict({
          lookup: memberPath.describe('The path to the member with the key of the object to look up.'),
          in: insideOne,
          get: optional(
            z.string(),
            "The address of one object, below V2's prefix: /users/{owner_id}. The key replaces the braces, which may contain the name of the member.",
          ),
          many: optional(
            z.string(),
            'The address for all keys of a response in one request, separated by commas: /users?ids={}.',
          ),
          by: optional(name, 'With many: the member of each returned item that has the key; id when absent.'),
          resource: resource.describe(
            "The path in V2's response to the object, or with many to the list; when absent, that of the rule book.",
          ),
          take: z
            .array(name)
            .min(1)
            .refine((names) => new Set(names).size === names.length, 'has a name twice; remove one of them')
            .describe('The members to take; each keeps its bytes.'),
          as: name.describe(
            'The member that gets them, in the same object; the member of lookup may be replaced.',
          ),
          absent: optional(
            z.union([z.enum(['omit', 'null', 'fail']), z.null()], { error: 'omit, null or fail' }),
            'What clients get where V2 has no such object, or does not respond in time: no member (omit, when absent), null, or 502 for the whole response (fail).',
          ),
          status,
        }).describe(
          'Adds members of another object of V2, which the gateway gets with the credentials of the client.',
        ),
        (source, place) => {
          const { many, get = many ?? '', by = 'id', resource: within, absent = 'omit', take, as } = source;
          // An address without braces, or with several, is a separate fault.
          const [before = '', after = ''] = get.split(/\{[^{}]*\}/);
          const address = {
            before,
            after,
            ...(many === undefined ? {} : { by: readName(by) }),
            ...(within === undefined ? {} : { resource: within === '' ? [] : readPath(within) }),
          };
          const path = [...objectsAt(source.in), ...readPath(source.lookup)];
          return [
            {
              rule: {
                rule: 'lookup',
                path,
                address,
                take: take.map(readName),
                as: readName(as),
                absent: absent ?? 'null',
                status: place.status,
              },
            },
          ];
        },
      ),
    effect: ['looks up '],
    learn: ({ path, as }, facts) => facts.add(path.slice(0, -1), as, true),
    takes: () => true,
  },
};

const NULL_TEMPLATE: Template = { kind: 'literal', bytes: bytesOfText(NULL) };

/** Maximum characters of a key. */
const MAX_KEY = 256;

function compile(rule: LookupRule, base: RuleBase, names: NameTable): CompiledRule {
  const { address, absent } = rule;
  const to = names.add(rule.as);
  const taken = rule.take.map((name) => [name, names.add(name)] as const);
  const prefix = JSON.stringify([address.before, address.after, address.by, address.resource]);
  // One object often occurs in many places of a list.
  const templates = new WeakMap<Uint8Array, Template>();
  const templateOf = (object: Uint8Array): Template => {
    const known = templates.get(object) ?? readTaken(object, taken);
    templates.set(object, known);
    return known;
  };
  const compiled = aboutMember(memberAt(rule.path), base, names, (run, object, member) => {
    run.readsValues();
    const json = jsonOf(run.draft, member);
    // V2 itself says that there is no object.
    if (json === NULL)
      return absent === 'null' ? put(run, base, object, member, to, NULL_TEMPLATE) : undefined;
    const key = json === undefined ? undefined : keyOf(json, address);
    const found = key === undefined ? undefined : run.answerTo({ id: prefix + key, address, key });
    if (found !== undefined) return put(run, base, object, member, to, templateOf(found));
    run.misses(absent === 'fail' ? 'failed' : 'noted');
    if (absent === 'null') return put(run, base, object, member, to, NULL_TEMPLATE);
    run.recorder?.keep(base, member, 'lookup');
    return undefined;
  });
  return { ...compiled, looksUp: true };
}

/** Adds a member with the object that was looked up, or replaces the member with the key. */
function put(
  run: Run,
  base: RuleBase,
  object: DraftObject,
  member: DraftMember,
  to: number,
  template: Template,
): Stop | undefined {
  const isReplaced = to === member.id;
  const stop = isReplaced ? run.settleRepeated(base, to, member) : run.settleName(base, object, to);
  if (stop !== undefined) return stop;
  const target = isReplaced ? member : addMade(object, to);
  write(target, template);
  run.recorder?.reword(base, target);
  return undefined;
}

/** The members of V2's object that a rule takes, each with its bytes. */
function readTaken(object: Uint8Array, taken: readonly (readonly [name: string, id: number])[]): Template {
  const document = JsonDocument.read(object);
  if (!(document instanceof JsonDocument)) return NULL_TEMPLATE;
  const members = taken.flatMap(([name, id]): readonly (readonly [number, Template])[] => {
    const found = document.find(document.root, name).at(-1);
    return found === undefined ? [] : [[id, { kind: 'literal', bytes: document.valueOf(found) }]];
  });
  return { kind: 'object', members };
}

/**
 * The key in a string or a number, as written; undefined for any other value. In a path it must be one segment for every server: services
 * decode slashes and dots, drop what follows a semicolon, and may decode twice.
 */
function keyOf(json: string, { before }: LookupAddress): string | undefined {
  const value = decoded(json);
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const key = typeof value === 'string' ? value : json;
  if (key === '' || key.length > MAX_KEY || !key.isWellFormed() || /\p{Cc}/u.test(key)) return undefined;
  return !before.includes('?') && (/[/\\%;?#]/.test(key) || /^\.+$/.test(key)) ? undefined : key;
}
