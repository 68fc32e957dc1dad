import { printPrefix } from '../../rules/rule.ts';
import { pointerToken, tokenName } from '../../json/pointer.ts';
import { parsedJson } from '../../rewrite-log/attributes.ts';
import { outcomeWords } from '../client-report.ts';
import { markdownBlock, markdownCode, markdownText, table } from '../text.ts';
import { count, counted } from '../../rules/words.ts';
import {
  ADDED,
  futureWords,
  type GuideBody,
  type GuideCall,
  type GuideDocument,
  OTHER_SHAPE,
  presentWords,
  stepText,
} from './guide-document.ts';
import { isId, withTemplate } from './guide-shapes.ts';

/** A file of a skill: its path in the folder, and its text. */
export interface SkillFile {
  readonly path: string;
  readonly text: string;
}

/** A request that proves a change: the client sends it to V2 itself. */
export interface SkillCase {
  /** Operation id, or method and path. */
  readonly call: string;
  readonly method: string;
  /** Path at V2; `{…}` stands for an id. */
  readonly path: string;
  /** Names of the query's parameters; absent without a query. */
  readonly query?: readonly string[];
  /** Header fields that the request has; `…` stands for any text, as in `Bearer …`. */
  readonly headers: Readonly<Record<string, string>>;
  /** RFC 6901 pointers of all members that the body may have, `*` for elements; absent without a body of JSON. */
  readonly members?: readonly string[];
  /** Pointers of V1's body that must be gone, and names of header fields with `:` at the end. */
  readonly gone?: readonly string[];
  /** False if no evidence shows that V2 accepts it: ask before relying on it. */
  readonly isVerified: boolean;
  readonly evidence: string;
  /** Requests like it in the log. */
  readonly requests: number;
}

/**
 * Returns a folder for a coding agent, or a person, with the client's source: texts to search for, each call before and after from the
 * client's own traffic, cases that prove the change, and questions for a person. It has no value of a body.
 */
export function guideSkill(guide: GuideDocument): readonly SkillFile[] {
  return [
    { path: 'SKILL.md', text: skillText(guide) },
    { path: 'search.md', text: searchText(guide) },
    { path: 'calls.md', text: callsText(guide) },
    { path: 'cases.json', text: `${JSON.stringify(skillCases(guide), null, 2)}\n` },
    { path: 'questions.md', text: questionsText(guide) },
  ];
}

/** The cases of a guide, without requests that are known to fail. */
export function skillCases({ calls, version }: GuideDocument): readonly SkillCase[] {
  const release = version === undefined ? {} : { [version.field]: version.value };
  return calls.flatMap((call) =>
    call.bodies
      .filter(({ isKnownToFail }) => isKnownToFail !== true)
      .map((body) => {
        const { method, path, query, fields, members } = sketched(withTemplate(body.after, call.paths?.v2));
        const before = sketched(body.before);
        const gone = [
          ...before.fields
            .filter(([name]) => !fields.some(([own]) => own === name))
            .map(([name]) => `${name}:`),
          ...(before.members ?? []).filter((pointer) => members?.includes(pointer) === false),
        ];
        return {
          call: call.name,
          method,
          path,
          ...(query.length === 0 ? {} : { query }),
          headers: { ...Object.fromEntries(fields), ...release },
          ...(members === undefined ? {} : { members }),
          ...(gone.length === 0 ? {} : { gone }),
          isVerified: body.isVerified,
          evidence: body.evidence,
          requests: body.count,
        };
      }),
  );
}

interface Sketched {
  readonly method: string;
  readonly path: string;
  readonly query: readonly string[];
  /** Header fields, whose values are `…`, or have that in place of a key. */
  readonly fields: readonly (readonly [name: string, form: string])[];
  readonly members: readonly string[] | undefined;
}

/** Reads a printed request: its head, and the pointers of its body if that is a sketch of JSON. */
function sketched(text: string): Sketched {
  const [head = '', ...parts] = text.split('\n\n');
  const [line = '', ...fieldLines] = head.split('\n');
  const [method = '', target = ''] = line.split(' ');
  const [path = '', query = ''] = target.split('?', 2);
  const names = query
    .split('&')
    .flatMap((parameter) => parameter.split('=', 1).filter((name) => name !== ''));
  // A body that was not read is described in words.
  const body = parsedJson(parts.join('\n\n'));
  const members = body === undefined ? undefined : pointersIn(body, '');
  const named = path
    .split('/')
    .map((segment) => (isId(segment) ? '{…}' : segment.replaceAll(/\{[^{}]*\}/g, '{…}')));
  const fields = fieldLines.map((field) => {
    const colon = field.indexOf(':');
    return [field.slice(0, colon), field.slice(colon + 2)] as const;
  });
  return { method, path: named.join('/'), query: [...new Set(names)], fields, members };
}

/** Pointers of all members of a value; of lists, those of the elements. */
function pointersIn(value: unknown, at: string): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const isList = Array.isArray(value);
  const pointers = Object.entries(value).flatMap(([name, inside]) => {
    if (name === OTHER_SHAPE) return [];
    const pointer = `${at}/${isList ? '*' : pointerToken(name)}`;
    return [pointer, ...pointersIn(inside, pointer)];
  });
  return [...new Set(pointers)];
}

function skillText(guide: GuideDocument): string {
  const { client, name = `client ${client}`, requests, from, to, version, changes, end, omitted } = guide;
  const slug = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, 40);
  const rules = [
    `The path begins with ${markdownCode(to)} instead of ${markdownCode(from)}, at the address of V2, which is a question for a person.`,
    ...(version === undefined
      ? []
      : [`Every request has ${markdownCode(`${version.field}: ${version.value}`)}.`]),
    ...changes.map(({ summary }) => markdownText(summary)),
  ];
  return `---
name: v1-to-v2-${slug || 'client'}
description: ${JSON.stringify(`Moves the source of ${name} from V1 to V2 of the API, by its own traffic. Use it in that client's repository.`)}
---

# Move ${markdownText(name)} from V1 to V2

Made from ${counted(requests, 'request')} that this client sent to V1. Values are shown as ${markdownCode('…')}: the log has none. Calls that it did not make in that time are missing${omitted > 0 ? `, as are ${counted(omitted, 'request')} of further kinds` : ''}.

1. Ask a person what [questions.md](questions.md) lists, before you change anything.
2. Find the places in the source by [search.md](search.md). A text that is not found may be put together from parts.
3. Change each call from *before* to *after* in [calls.md](calls.md): what is sent, and what is read of the response.
4. Prove it: record the requests of the changed client, and compare each with [cases.json](cases.json). ${markdownCode('members')} lists all members that a body may have, and ${markdownCode('gone')} those of V1 that it must not have (with ${markdownCode(':')} at the end, header fields); ${markdownCode('{…}')} is any id, and ${markdownCode('…')} any value, or in a header field any part of one.
5. Send them to a test installation of V2, without the gateway. Each must get the same response as through the gateway.

Change nothing else. Keep keys, retries and timeouts as they are. Where a case has ${markdownCode('"isVerified": false')}, nothing shows that V2 accepts it: stop and ask.

## For every call

${rules.map((rule) => `- ${rule}`).join('\n')}
${end.length === 0 ? '' : `\n## When V1 ends\n\n${end.map((step) => `- ${markdownText(stepText(step))}`).join('\n')}\n`}`;
}

/** A text to search for, and its meaning. */
type Sought = readonly [text: string, why: string, calls: string];

function searchText(guide: GuideDocument): string {
  const sought = new Map<string, { readonly why: string; readonly calls: Set<string> }>();
  const add = (text: string, why: string, call: string): void => {
    if (text === '' || text === '*') return;
    const known = sought.get(text) ?? { why, calls: new Set() };
    known.calls.add(call);
    sought.set(text, known);
  };
  for (const from of [guide.from, ...(guide.alsoFrom ?? [])])
    add(from, `the prefix of V1; in V2 it is ${printPrefix(guide.to)}`, 'every call');
  for (const { name, bodies, responses, paths } of guide.calls) {
    for (const { before, moves } of bodies) {
      const { path } = sketched(withTemplate(before, paths?.v1));
      const [below = ''] = path.slice(guide.from.length).split('/{…}', 1);
      add(below, 'the path of the call', name);
      for (const { from, to } of moves.filter((move) => move.from !== ADDED))
        add(lastName(from), to === undefined ? 'sent, and left out in V2' : `sent; in V2 at ${to}`, name);
    }
    for (const { v1, v2, isMade } of responses) {
      const where =
        isMade === true ? 'read; where V2 has it is a question for a person' : `read; in V2 at ${v2}`;
      add(lastName(v1), v2 === undefined ? 'read, and gone in V2' : where, name);
    }
  }
  const rows = [...sought].map(([text, { why, calls }]): Sought => [
    markdownCode(text),
    markdownText(why),
    markdownText([...calls].join(', ')),
  ]);
  return `# What to search for\n\nAs text, in quotes or not; names of members may also be written in the style of the language, such as ${markdownCode('streetAddress')} for ${markdownCode('street_address')}, and mapped by annotations.\n\n${table(['text', 'what it is', 'calls'], rows)}\n`;
}

/** The name of a query parameter or header field, or the last name in a pointer; for an element, its list's name. */
function lastName(pointer: string): string {
  if (pointer.startsWith('?')) return pointer.slice(1);
  if (!pointer.startsWith('/')) return pointer.replace(/:$/, '');
  const names = pointer.split('/').filter((name) => name !== '' && name !== '*');
  return tokenName(names.at(-1) ?? '');
}

function callsText({ calls }: GuideDocument): string {
  return `${['# Before and after', ...calls.flatMap((call) => callSections(call))].join('\n\n')}\n`;
}

function callSections(call: GuideCall): string[] {
  const { name, count, moved, paths, bodies, responses, responsesUnknown } = call;
  return [
    `## ${markdownText(name)}`,
    `${counted(count, 'request')}.${moved === undefined ? '' : ` ${markdownCode(moved.v1)} is now ${markdownCode(moved.v2)}.`}`,
    ...bodies.flatMap(({ before, after, moves, evidence, isKnownToFail }) => [
      `**Before**\n\n${markdownBlock('http', withTemplate(before, paths?.v1))}`,
      `**${isKnownToFail === true ? 'V2 does not accept this: ask a person' : 'After'}**\n\n${markdownBlock('http', withTemplate(after, paths?.v2))}`,
      markdownText(evidence),
      ...(moves.length === 0
        ? []
        : [
            table(
              ['now', 'in V2', 'remark'],
              moves.map(({ from, to, remark }) => [
                from === ADDED ? from : presentWords({ v1: from }, markdownCode),
                to === undefined ? 'leave out' : markdownCode(to),
                markdownText(remark),
              ]),
            ),
          ]),
    ]),
    ...(responsesUnknown
      ? ["Responses: not known, since no response of V1 was compared with V2's."]
      : responses.length === 0
        ? ['Responses: no member that this client was sent has moved.']
        : [
            table(
              ['read today', 'read in V2'],
              responses.map((member) => [
                presentWords(member, markdownCode),
                futureWords(member, markdownCode, markdownText),
              ]),
            ),
          ]),
  ];
}

function questionsText(guide: GuideDocument): string {
  const { calls, unserved = [], mistakes, omitted, dryRuns, version } = guide;
  const questions = [
    "What is the address of V2 without the gateway, and of a test installation? Do this client's keys work there?",
    ...(version === undefined
      ? []
      : [`Which release should the client ask for? The gateway sends ${version.field}: ${version.value}.`]),
    ...calls.flatMap((call) => callQuestions(call)),
    ...unserved.map(
      ({ name, outcomes, onlyV1 }) =>
        `${onlyV1 === undefined ? `${name} has never worked` : `V2 does not have ${name}, which V1 has`}: ${outcomeWords(outcomes)}. May it be removed, or what takes its place?`,
    ),
    ...mistakes.map(
      ({ call, code, pointers, count, remedy }) =>
        `${call} was refused ${count}× as ${code}${pointers.length === 0 ? '' : ` at ${pointers.join(', ')}`}: is this request still needed? ${remedy}`,
    ),
    ...(dryRuns.failing > 0
      ? [
          `${count(dryRuns.failing)} of ${count(dryRuns.judged)} checked requests would fail in V2. Who decides about them?`,
        ]
      : []),
    ...(omitted > 0 ? [`Which are the ${counted(omitted, 'request')} of further kinds?`] : []),
    'Which calls does the client make that the log has not seen: at the end of a month, by hand, on errors?',
  ];
  return `# What to ask a person\n\nThe log does not show any of this. If an answer changes a case, change it in ${markdownCode('cases.json')}.\n\n${questions.map((question) => `- [ ] ${markdownText(question)}`).join('\n')}\n`;
}

function callQuestions(call: GuideCall): string[] {
  const { name, bodies, responses, responsesUnknown, omitted, unread } = call;
  const left = (body: GuideBody): string[] =>
    body.moves.flatMap(({ from, to, remark }) =>
      to === undefined
        ? [`${name}: V2 has no ${from}${remark === '' ? '' : ` (${remark})`}. Is it still needed?`]
        : [],
    );
  return [
    ...new Set([
      ...bodies.flatMap((body) => [
        ...(body.isVerified ? [] : [`${name}: ${body.evidence} Does V2 accept it?`]),
        ...left(body),
      ]),
      ...(responses.some(({ isMade }) => isMade === true)
        ? [`${name}: how does V2 respond? Today the operator's own program makes V1's response from it.`]
        : []),
      ...(responsesUnknown
        ? [`${name}: what does the client read of the response, and where does V2 have it?`]
        : []),
      ...(omitted + unread > 0
        ? [`${name}: what do the ${counted(omitted + unread, 'request')} look like that are not shown?`]
        : []),
    ]),
  ];
}
