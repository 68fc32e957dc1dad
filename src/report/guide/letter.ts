import { printPrefix } from '../../rules/rule.ts';
import { isOnPurpose } from '../../rewrite-log/answers.ts';
import { isUnfit } from '../../rewrite-log/entry.ts';
import { exceptBoth, GONE, type WouldFail, wouldFailWords } from '../../rollout/body-checks.ts';
import { bodyCheckCounts, outcomeWords } from '../client-report.ts';
import { type DiffLine, lineDiff } from '../line-diff.ts';
import { Zone } from '../plan/zone.ts';
import { capital } from '../text.ts';
import { count, counted, listed } from '../../rules/words.ts';
import {
  ADDED,
  aroundLink,
  dateText,
  dayText,
  type EndOfV1,
  type GuideCall,
  type GuideDocument,
  type GuideExample,
  type GuideMistake,
  NOT_KNOWN,
  OTHER_SHAPE,
  type UnservedCall,
} from './guide-document.ts';

import { lastName } from './guide-values.ts';

/** Text in a line: plain, code, or an address of the rule book. */
export type Inline = string | { readonly code: string } | { readonly link: string };

/** A part of a letter, the same in every format. */
export type Block =
  | { readonly kind: 'heading' | 'paragraph' | 'label'; readonly text: readonly Inline[] }
  | { readonly kind: 'bullets'; readonly items: readonly (readonly Inline[])[] }
  | {
      readonly kind: 'table';
      readonly head: readonly string[];
      readonly rows: readonly (readonly (readonly Inline[])[])[];
    }
  /** Before and after in one, with the lines marked that differ. */
  | { readonly kind: 'example'; readonly lines: readonly DiffLine[] };

/** A guide as its reader gets it: half a screen to decide by, then what is needed for the work. */
export interface Letter {
  readonly title: string;
  readonly summary: readonly Block[];
  readonly details: readonly Block[];
}

/** Made by the operator's own program: no rule says how. */
const BY_PROGRAM = "today the operator's own program converts it to V2's form: ask for its logic";

const MINUTE_MS = 60_000;

/** Maximum calls, and reasons, in a sentence. */
const MAX_NAMED = 3;

/** Maximum examples of a call. */
const MAX_EXAMPLES = 3;

/** Writes the letter of a guide. Each fact, value and line that every call shares is in it once. */
export function letterOf(guide: GuideDocument): Letter {
  const { requests, calls, omitted } = guide;
  const title = titleOf(guide);
  if (requests === 0)
    return {
      title,
      summary: [paragraph('No V1 request of this client is among those examined.')],
      details: [],
    };
  const shared = sharedFields(calls);
  const said = new Said(guide, shared);
  const everywhere = calls.length === 0 && placeless(guide).none.length > 0 ? [] : everyCall(guide, shared);
  const sections = calls.flatMap((call) => sectionOf(call, guide, said));
  return {
    title,
    summary: [
      paragraph(...opening(guide)),
      ...historyOf(guide),
      ...missingInResponses(guide),
      ...callTable(guide, shared),
      ...(everywhere.length === 0 ? [] : [label('In every call'), list(everywhere)]),
      ...datesOf(guide),
    ],
    details: [
      ...(sections.some(({ kind }) => kind === 'example')
        ? [paragraph(...legend(calls.filter(({ isPlaceUnknown }) => isPlaceUnknown !== true)))]
        : []),
      ...sections,
      ...mistakesPart(guide),
      ...(omitted > 0 ? [paragraph(`Not shown: ${counted(omitted, 'request')} of other kinds.`)] : []),
    ],
  };
}

/** The name of a client in a sentence, and the title of its letter. */
export function titleOf({ name, agent, client }: Pick<GuideDocument, 'name' | 'agent' | 'client'>): string {
  return `From V1 to V2: ${name ?? agent ?? `client ${client}`}`;
}

function paragraph(...text: readonly Inline[]): Block {
  return { kind: 'paragraph', text };
}

function heading(...text: readonly Inline[]): Block {
  return { kind: 'heading', text };
}

function label(...text: readonly Inline[]): Block {
  return { kind: 'label', text };
}

function list(items: readonly (readonly Inline[])[]): Block {
  return { kind: 'bullets', items };
}

/**
 * Two texts with their differences marked: lines of different objects are not the same. A value that is not known may be of any type, so it
 * has no quotes.
 */
function beforeAndAfter(before: string, after: string): Block {
  const [old, now] = [before, after].map((text) => withPlaces(text.replaceAll(/"…"(?!:)/g, '…')));
  return {
    kind: 'example',
    lines: lineDiff(old ?? '', now ?? '').map(({ sign, text }) => ({
      sign,
      text: text.slice(text.indexOf(END_OF_PLACE) + 1),
    })),
  };
}

const END_OF_PLACE = '\u0000';

/** Puts before each line the names of the objects around it. */
function withPlaces(text: string): string {
  const around: string[] = [];
  const lines = text.split('\n').map((line) => {
    const place = around.join('\n');
    if (/[[{]$/.test(line)) around.push(line.trim());
    else if (/^\s*[\]}],?$/.test(line)) around.pop();
    return `${JSON.stringify(place)}${END_OF_PLACE}${line}`;
  });
  return lines.join('\n');
}

function code(text: string): Inline {
  return { code: text };
}

/** Who calls V1, how much, until when that works, and what to do. */
function opening(guide: GuideDocument): readonly Inline[] {
  const { name, agent, client, requests, end, zone } = guide;
  const last = end.find(({ isEnd }) => isEnd === true);
  const [first, latest] = [guide.first, guide.latest].map((time) =>
    dayText(Date.parse(time), new Zone(zone ?? 'UTC')),
  );
  const when = first === latest ? `on ${first}` : `between ${first} and ${latest}`;
  return [
    name === undefined
      ? `Your client ${agent === undefined ? client : `with the User-Agent ${agent}`} still uses V1 of the API: it`
      : `${name} still uses V1 of the API: your client`,
    ` sent ${counted(requests, 'request')} ${when}. `,
    ...(last === undefined ? ['V1 has no end date yet.'] : stepInlines(last)),
    ...workWords(guide, last),
  ];
}

/** What became of the requests so far; no block if nothing is known. */
function historyOf(guide: GuideDocument): readonly Block[] {
  const refused = guide.mistakes.reduce((sum, one) => (one.code === GONE ? sum : sum + one.count), 0);
  const sentences = [
    servedWords(guide),
    [dryRunWords(guide), whyWords(guide)].filter((words) => words !== '').join(' '),
    onPurposeWords(guide),
    ...guide.mistakes.map((mistake) => goneWords(mistake, guide)),
    refused === 0
      ? ''
      : `${capital(counted(refused, 'request'))} ${refused === 1 ? 'was' : 'were'} refused for a mistake in ${refused === 1 ? 'it' : 'them'}, to be corrected for either version.`,
  ].filter((words) => words !== '');
  return sentences.length === 0 ? [] : [paragraph(sentences.join(' '))];
}

/** Names each member that V2's responses do not have, with its calls: to the numbers above, a response without it is a success. */
function missingInResponses(guide: GuideDocument): readonly Block[] {
  const missing = guide.calls.flatMap((call) => {
    const names = call.responses.flatMap(({ v1, v2, isMade, hasOtherValues }) =>
      v2 === undefined && isMade !== true && hasOtherValues !== true ? (lastName(v1) ?? []) : [],
    );
    return names.length === 0 ? [] : [{ names: [...new Set(names)], place: placeIn(call, guide, 'v1') }];
  });
  const items = [...Map.groupBy(missing, ({ names }) => names.join('\n')).values()].map((alike) => [
    ...codesOf(alike[0]?.names ?? []),
    ' in ',
    ...joined(alike.map(({ place }) => [place])),
  ]);
  return items.length === 0
    ? []
    : [label("Missing in V2's responses, also where a request succeeds"), list(items)];
}

/** The calls that have no place in V2, and those whose place there no rule says. */
function placeless(guide: GuideDocument): Readonly<Record<'none' | 'unknown', readonly Inline[]>> {
  const { calls, unserved = [], mistakes } = guide;
  return {
    none: [
      ...unserved.map(({ name }) => code(name)),
      ...mistakes.flatMap((one) => (one.code === GONE ? placeOfMistake(one, guide) : [])),
    ],
    unknown: calls.flatMap((one) => (one.isPlaceUnknown === true ? placeIn(one, guide, 'v1') : [])),
  };
}

/** The first calls by name, and the number of the others. */
function namedCalls(calls: readonly Inline[]): readonly Inline[] {
  const more = calls.length - MAX_NAMED;
  const shown = calls.slice(0, MAX_NAMED);
  return [
    ...joined(
      shown.map((call) => [call]),
      ', ',
      more > 0 ? ', ' : ' and ',
    ),
    ...(more > 0 ? [` and ${counted(more, 'more call')}`] : []),
  ];
}

/** What the reader is asked to do. */
function workWords(guide: GuideDocument, end: EndOfV1 | undefined): readonly Inline[] {
  const { none, unknown } = placeless(guide);
  const known = guide.calls.length - unknown.length;
  if (guide.calls.length === 0)
    return [
      none.length === 0
        ? ' It is unknown what has to change: no accepted request shows it.'
        : ' None of your calls can be moved to V2, as the table says.',
    ];
  const isAll = unknown.length + none.length === 0;
  const those = isAll ? `these ${count(known)} calls` : `${count(known)} calls`;
  const calls = known > 1 ? those : isAll ? 'this call' : 'one call';
  const by = end === undefined || end.isOver === true || end.isSpared === true ? '' : ' by then';
  return [
    ...(known === 0 ? [] : [` Please move ${calls} to V2${by}${addressWords(guide)}.`]),
    ...(none.length === 0 ? [] : [' V2 does not have ', ...namedCalls(none), '.']),
    ...(unknown.length === 0
      ? []
      : [
          ' It is not known where V2 has ',
          ...namedCalls(unknown),
          `: ask before you move ${unknown.length === 1 ? 'it' : 'them'}.`,
        ]),
  ];
}

/** Says what became of the requests that V2 served; empty if it got none. */
function servedWords({ onV2, zone }: GuideDocument): string {
  if (onV2 === undefined) return '';
  const { first, last, isOver, between, succeeded, others, unserved } = onV2;
  const at = (time: string): string =>
    dateText(Math.floor(Date.parse(time) / MINUTE_MS) * MINUTE_MS, new Zone(zone ?? 'UTC'));
  const when = isOver ? `From ${at(first)} to ${at(last)}` : `Since ${at(first)}`;
  const statuses = (kind: typeof others): string =>
    kind.map((one) => `${one.status} ${count(one.count)}×`).join(', ');
  const timesOf = (kind: typeof others): number => kind.reduce((sum, one) => sum + one.count, 0);
  const all = succeeded + timesOf(others);
  const of = (kind: typeof others, what: string): string =>
    kind.length === 0 ? '' : `, ${count(timesOf(kind))} ${what} (${statuses(kind)})`;
  const refused = of(
    others.filter(({ status }) => status < 500),
    'refused',
  );
  const failed = of(
    others.filter(({ status }) => status >= 500),
    'failed on our side',
  );
  const served = `${when} V2 ${isOver ? 'served' : 'has served'} your requests to V1${between === 0 ? '' : `, apart from ${count(between)} that V1 served`}: ${count(succeeded)} of ${count(all)} succeeded${refused}${failed}.`;
  if (unserved.length === 0) return served;
  const [request, it] = timesOf(unserved) === 1 ? ['request', 'it'] : ['requests', 'them'];
  const lost = `${count(timesOf(unserved))} ${all === 0 ? '' : 'other '}${request}: the gateway responded to ${it} (${statuses(unserved)}).`;
  return all === 0 ? `${when} V2 did not respond to ${lost}` : `${served} V2 did not respond to ${lost}`;
}

/** Says how many requests would fail after the migration, or would have; empty without a verdict. */
export function dryRunWords({ dryRuns, onV2 }: Pick<GuideDocument, 'dryRuns' | 'onV2'>): string {
  const words = wouldFailWords(dryRuns);
  if (words === '') return '';
  if (onV2 === undefined) return `Your requests were checked before they go to V2: ${words}.`;
  return checkedBefore(dryRuns, 'other request');
}

/** Says why requests would fail after the migration, as far as it is known; empty if none would. */
function whyWords(guide: GuideDocument): string {
  const { calls, mistakes, dryRuns } = guide;
  if (dryRuns.failing === 0) return '';
  const unknown = calls.flatMap(({ examples }) =>
    examples.flatMap(({ moves }) =>
      moves.flatMap(({ from, remark }) => (remark.startsWith(NOT_KNOWN) ? shortName(from) : [])),
    ),
  );
  const refused = calls.flatMap(({ bodyChecks }) =>
    (bodyChecks?.pointers ?? []).flatMap(({ pointer }) => {
      const place = shortName(pointer);
      if (unknown.some((name) => name === place || name.endsWith(`.${place}`))) return [];
      return /^\d/.test(pointer) ? `V2 responds with ${pointer}` : `V2 refuses ${place}`;
    }),
  );
  const reasons = [
    ...unknown.map((name) => `${name} ${NOT_KNOWN}`),
    ...refused,
    ...mistakes.flatMap((mistake) =>
      mistake.code === GONE ? `V2 does not have ${textOf(placeOfMistake(mistake, guide))}` : [],
    ),
  ];
  const all = [...new Set(reasons)];
  if (all.length === 0) return '';
  return `The reason${all.length === 1 ? '' : 's'}: ${listed(all, MAX_NAMED, '; ')}.`;
}

/** Says how many requests would have failed on V2, of those that were checked before V2 served their client. */
export function checkedBefore({ judged, failing, both }: WouldFail, what: string): string {
  const [was, it, all] = judged === 1 ? ['was', 'it', 'it'] : ['were', 'them', 'all'];
  const which = failing === 0 ? 'none' : failing < judged ? count(failing) : all;
  const result =
    judged === both
      ? `V1 refused ${all === 'all' ? 'all of them' : it} as well`
      : `${which} would have failed on V2${exceptBoth(both)}`;
  return `${capital(counted(judged, what))} ${was} checked, by the rules now in force, while V1 served ${it}: ${result}.`;
}

/** Says what brownouts and the end of V1 refused; empty for nothing. */
function onPurposeWords({ onPurpose = [] }: GuideDocument): string {
  const all = onPurpose.reduce((sum, one) => sum + one.count, 0);
  if (all === 0) return '';
  return `${capital(counted(all, 'request'))} ${all === 1 ? 'was' : 'were'} refused on purpose: ${outcomeWords(onPurpose)}.`;
}

/** Says how many requests for an operation that V2 does not have were refused; empty for none. */
function goneWords(mistake: GuideMistake, guide: GuideDocument): string {
  const { code: kind, refused } = mistake;
  if (kind !== GONE || refused === 0) return '';
  const place = textOf(placeOfMistake(mistake, guide));
  return `${capital(counted(refused, 'request'))} to ${place} ${refused === 1 ? 'was' : 'were'} refused with 410, because V2 does not have it.`;
}

function stepInlines(step: EndOfV1): readonly Inline[] {
  const [before, after] = aroundLink(step);
  const { link } = step;
  return link === undefined ? [before] : [before, { link }, ...(after === '' ? [] : [after])];
}

/** A row for each call, most used first. */
function callTable(guide: GuideDocument, shared: SharedFields): readonly Block[] {
  const { calls, unserved = [], mistakes } = guide;
  const gone = mistakes.filter((mistake) => mistake.code === GONE);
  const rows = [
    ...calls.map((call) => ({
      count: call.count,
      cells: [
        [placeIn(call, guide, 'v1')],
        [call.isPlaceUnknown === true ? 'not known' : placeIn(call, guide, 'v2')],
        [call.isPlaceUnknown === true ? 'not known' : changesIn(call, shared)],
      ],
    })),
    ...unserved.map((call) => ({
      count: call.count,
      cells: [[code(call.name)], ['not in V2'], unservedWords(call, guide)],
    })),
    ...gone.map((mistake) => ({
      count: mistake.count,
      cells: [[placeOfMistake(mistake, guide)], ['not in V2'], [mistake.remedy]],
    })),
  ].toSorted((one, other) => other.count - one.count);
  if (rows.length === 0) return [];
  return [
    {
      kind: 'table',
      head: ['today', 'in V2', 'what else changes', 'requests'],
      rows: rows.map((row) => [...row.cells, [count(row.count)]]),
    },
  ];
}

/** Says who has nothing at an address, since when its calls have not worked, and what to do about them. */
function unservedWords(
  { name, count: all, since, outcomes, onlyV1, instead }: UnservedCall,
  guide: GuideDocument,
): Inline[] {
  const services = new Set(outcomes.map(({ by }) => by));
  // A path with ids may be right, and what the ids name missing.
  const what = name.includes('*') ? 'anything at such an address' : 'this address';
  if (onlyV1 !== undefined) {
    const asked = onlyV1.reduce((sum, one) => sum + one.count, 0);
    const [first, ...others] = onlyV1;
    const statuses =
      others.length === 0
        ? `${first?.status} for ${count(asked)} of ${counted(asked, 'request')}`
        : onlyV1.map(({ status, count: times }) => `${status} ${count(times)}×`).join(', ');
    const unasked = all === asked ? '' : ' that V2 got';
    return [
      `V2 does not have ${what} (${statuses}${unasked}), and it is not known what takes its place: ask`,
      ...(instead.length === 0 ? [] : ['; similar in V2: ', ...codesOf(instead)]),
    ];
  }
  const who =
    services.size > 1
      ? `neither V1 nor V2 has ${what}`
      : `${services.has('v1') ? 'V1' : 'V2'} does not have ${what}`;
  const day = dayText(Date.parse(since), new Zone(guide.zone ?? 'UTC'));
  return [
    `${who} (${outcomeWords(outcomes)}): this call has not worked since ${day} or before; remove it`,
    ...(instead.length === 0
      ? []
      : [instead.length === 1 ? ' or use ' : ' or use one of ', ...codesOf(instead)]),
  ];
}

/** Method and path of a call below the version, in V1 or V2. */
function placeIn(call: GuideCall, { from, to }: GuideDocument, version: 'v1' | 'v2'): Inline {
  const { name, moved, paths, examples } = call;
  const [example] = examples;
  const line = (version === 'v1' ? example?.before : example?.after)?.split('\n', 1)[0];
  const [method = '', target] = (moved?.[version] ?? line ?? '').split(' ');
  const path = paths?.[version] ?? target?.split('?', 1)[0];
  if (path === undefined) return isUnfit(name) ? code(name) : name;
  const prefix = version === 'v1' ? from : to;
  return code(`${method} ${path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path}`);
}

function textOf(part: Inline): string {
  return typeof part === 'string' ? part : 'code' in part ? part.code : part.link;
}

function placeOfMistake({ call, place }: GuideMistake, { from }: GuideDocument): Inline {
  if (place === undefined) return call;
  const [method = '', path = ''] = place.split(' ');
  return code(`${method} ${path.startsWith(`${from}/`) ? path.slice(from.length) : path}`);
}

/** What of a call changes beside its address and what all calls share. */
function changesIn(call: GuideCall, shared: SharedFields): string {
  const parts = new Set<string>();
  for (const example of call.examples) {
    const [before, after] = [partsOf(example.before, shared), partsOf(example.after, shared)];
    if (!hasSameQuery(before, after, call)) parts.add('query');
    if (before.fields.join('\n') !== after.fields.join('\n')) parts.add('header');
    if (before.body !== after.body) parts.add('body');
  }
  const read = isReadElsewhere(call) ? 'response' : call.responsesUnknown ? uncompared(call) : '';
  const sent = [...parts];
  const all = read === '' ? sent : [...sent, read];
  return all.length === 0 ? 'nothing' : all.join(', ');
}

/** What changes in responses that have not been compared with V2's: what the rules say. */
function uncompared({ responseRules }: GuideCall): string {
  if (responseRules === undefined) return 'response not known';
  return responseRules.length > 0 ? 'response' : 'response not compared';
}

/** Whether V2 has a call elsewhere, apart from the prefix of its path. */
function isMoved(call: GuideCall, guide: GuideDocument): boolean {
  const [v1, v2] = (['v1', 'v2'] as const).map((version) => JSON.stringify(placeIn(call, guide, version)));
  return v1 !== v2;
}

/** Whether two requests have the same query, apart from what the places of the call have. */
function hasSameQuery(before: RequestParts, after: RequestParts, { paths }: GuideCall): boolean {
  const own = (query: string, place = ''): string => {
    const ofPlace = (place.split('?', 2)[1] ?? '').split('&');
    return query
      .split('&')
      .filter((part) => !ofPlace.includes(part))
      .join('&');
  };
  return own(before.query, paths?.v1) === own(after.query, paths?.v2);
}

function isReadElsewhere({ responses }: GuideCall): boolean {
  return responses.length > 0;
}

/** The work of a client without any other change; empty if there is one, or a request that would fail. */
function addressWords({ calls, mistakes, dryRuns }: GuideDocument): string {
  if (dryRuns.failing > 0 || mistakes.some(({ code: kind }) => kind === GONE)) return '';
  const isOther = ({ changes, responses, responseRules = [], examples }: GuideCall): boolean =>
    changes.length + responses.length + responseRules.length > 0 ||
    examples.some(({ moves }) => moves.length > 0);
  if (calls.some(isOther)) return '';
  const isSure = calls.every(
    ({ responsesUnknown, unread, omitted, examples }) =>
      !responsesUnknown && unread + omitted === 0 && examples.every(({ isVerified }) => isVerified),
  );
  return isSure ? '; only the address changes' : '; as far as is known, only the address changes';
}

interface RequestParts {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly fields: readonly string[];
  readonly body: string;
}

function partsOf(text: string, { before, after }: SharedFields): RequestParts {
  const at = text.indexOf('\n\n');
  const head = at === -1 ? text : text.slice(0, at);
  const [line = '', ...fields] = head.split('\n');
  const [method = '', target = ''] = line.split(' ');
  const [path = '', query = ''] = target.split('?', 2);
  const isShared = (field: string): boolean => before.includes(field) || after.includes(field);
  return {
    method,
    path,
    query,
    fields: fields.filter((field) => !isShared(field)),
    body: at === -1 ? '' : text.slice(at + 2),
  };
}

/** Header lines that every call has today, and in V2. */
interface SharedFields {
  readonly before: readonly string[];
  readonly after: readonly string[];
}

const NOTHING_SHARED: SharedFields = { before: [], after: [] };

function sharedFields(calls: readonly GuideCall[]): SharedFields {
  const examples = calls.flatMap((call) => call.examples);
  const inAll = (side: 'before' | 'after'): readonly string[] => {
    const all = examples.map((example) => partsOf(example[side], NOTHING_SHARED).fields);
    return (all[0] ?? []).filter((field) => all.every((fields) => fields.includes(field)));
  };
  return { before: inAll('before'), after: inAll('after') };
}

/** What holds for each call. */
function everyCall(guide: GuideDocument, shared: SharedFields): readonly (readonly Inline[])[] {
  const { from, alsoFrom = [], to, version, key } = guide;
  const prefixes = joined(
    [from, ...alsoFrom].map((prefix) => [code(printPrefix(prefix))]),
    ' or ',
  );
  const fields = shared.before.filter((field) => !shared.after.includes(field));
  const added = shared.after.filter((field) => !shared.before.includes(field));
  const codes = (lines: readonly string[]): readonly Inline[] => joined(lines.map((line) => [code(line)]));
  return [
    ['The path begins with ', code(printPrefix(to)), ' instead of ', ...prefixes, '.'],
    ...(added.length === 0 && fields.length === 0
      ? []
      : [
          added.length === 0
            ? ['Leave out ', ...codes(fields), '.']
            : [
                'Send ',
                ...codes(added),
                ...(fields.length === 0 ? [] : [' instead of ', ...codes(fields)]),
                '.',
              ],
        ]),
    [
      'The host stays the same',
      ...(key.v1 === key.v2
        ? [', and your API key stays in ', code(key.v1)]
        : added.some((line) => line.startsWith(`${key.v2}:`))
          ? []
          : ['; your API key moves from ', code(key.v1), ' to ', code(key.v2)]),
      '.',
    ],
    ...(version === undefined
      ? []
      : [
          [
            'Send ',
            code(`${version.field}: ${version.value}`),
            ', so that later releases of V2 do not affect you unexpectedly.',
          ],
        ]),
  ];
}

/** The steps of V1's end that the opening does not say. */
function datesOf({ end }: GuideDocument): readonly Block[] {
  const others = end.filter(({ isEnd }) => isEnd !== true);
  return others.length === 0 ? [] : [label('Dates'), list(others.map(stepInlines))];
}

/** Explains the marks, and says once what is true of all examples. */
function legend(calls: readonly GuideCall[]): readonly Inline[] {
  const examples = calls.flatMap((call) => call.examples);
  const isSure = examples.every(({ isVerified }) => isVerified);
  const who = examples.some(({ isBySchema }) => isBySchema === true) ? 'V2 or its schema' : 'V2';
  return [
    'Below, lines with ',
    code('-'),
    ' are those of V1, and lines with ',
    code('+'),
    ' take their place in V2; ',
    code('…'),
    ' is any value. ',
    ...(calls.some(({ read }) => read !== undefined && read.isSampled !== true)
      ? ['Of responses, only members that differ are shown, as far as they are known. ']
      : []),
    isSure
      ? `${who} has accepted requests like each of these.`
      : examples.some(({ isVerified }) => isVerified)
        ? `${who} has accepted requests like these, unless a section says that one is not verified.`
        : 'No section is verified yet.',
  ];
}

/** What the letter has said so far, so that nothing is said twice. */
class Said {
  readonly shared: SharedFields;
  private readonly prose: ReadonlyMap<string, string>;
  private readonly sentences = new Set<string>();
  private readonly responses: GuideCall[] = [];

  constructor({ changes }: GuideDocument, shared: SharedFields) {
    this.shared = shared;
    this.prose = new Map(changes.map(({ id, prose }) => [id, prose]));
  }

  /** The facts of a call that are new to the reader. */
  facts({ changes }: GuideCall): readonly string[] {
    return this.fresh(changes.flatMap((id) => this.prose.get(id) ?? []).filter((text) => text !== ''));
  }

  /** A call whose example of a response shows all that this one would, and little more. */
  responseLike(call: GuideCall): GuideCall | undefined {
    const rowsOf = ({ responses }: GuideCall): readonly string[] =>
      responses.map(({ v1, v2 }) => JSON.stringify([v1, v2]));
    const rows = rowsOf(call);
    const alike = this.responses.find((one) => {
      const known = new Set(rowsOf(one));
      return known.size <= rows.length + 1 && rows.every((row) => known.has(row));
    });
    if (alike === undefined) this.responses.push(call);
    return alike;
  }

  fresh(sentences: readonly string[]): readonly string[] {
    const left = sentences.filter((sentence) => !this.sentences.has(sentence));
    for (const sentence of left) this.sentences.add(sentence);
    return [...new Set(left)];
  }
}

/** A call: what it sends and reads, before and after, with what lines cannot show. Empty if only what all calls share changes. */
function sectionOf(call: GuideCall, guide: GuideDocument, said: Said): readonly Block[] {
  const facts = said.facts(call);
  const shown = shownOf(call);
  const requests = shown.flatMap((example) => requestPart(example, shown.length > 1, { call, guide, said }));
  const parts = [
    ...neverWorked(call),
    ...objectionsTo(call),
    ...(facts.length === 0 ? [] : [paragraph(facts.map(ended).join(' '))]),
    ...goneMembers(shown),
    ...requests,
    ...responsePart(call, guide, said),
    ...remarksOf(call, shown),
  ];
  if (parts.length === 0 || call.isPlaceUnknown === true) return [];
  return [heading(placeIn(call, guide, 'v1')), ...parts];
}

/** Names each member of a request that V2 does not have, beside the lines that show it. */
function goneMembers(shown: readonly GuideExample[]): readonly Block[] {
  const sent = shown.flatMap(({ moves }) =>
    moves.flatMap(({ from, to, remark }) =>
      to === undefined && remark === '' && from.startsWith('/') ? [from] : [],
    ),
  );
  const names = codesOf(sent.flatMap((place) => lastName(place) ?? []));
  return sent.length === 0 ? [] : [paragraph('V2 does not take ', ...names, ' any more.')];
}

/** The examples of a call that help its owner; those without accepted members only if there are no others. */
function shownOf({ examples }: GuideCall): readonly GuideExample[] {
  const helpful = examples.filter(
    ({ before, isVerified }) => isVerified || !before.endsWith(`\n${OTHER_SHAPE}`),
  );
  return (helpful.length === 0 ? examples : helpful).slice(0, MAX_EXAMPLES);
}

function requestPart(
  example: GuideExample,
  isOneOfSeveral: boolean,
  { call, guide, said }: { readonly call: GuideCall; readonly guide: GuideDocument; readonly said: Said },
): readonly Block[] {
  const { before, after, isKnownToFail, count: seen } = example;
  const [old, now] = [partsOf(before, said.shared), partsOf(after, said.shared)];
  const isSame =
    !isMoved(call, guide) &&
    hasSameQuery(old, now, call) &&
    old.fields.join('\n') === now.fields.join('\n') &&
    old.body === now.body;
  const notes = notesOf(example, said);
  const evidence = example.isVerified ? [] : [paragraph(example.evidence)];
  const older =
    example.earlier.length === 0
      ? []
      : [
          paragraph(
            'Not sent since the rules of this migration changed, and shown by the earlier ones: ',
            ...codesOf(example.earlier),
            '.',
          ),
        ];
  if (isSame && isKnownToFail !== true && !isOneOfSeveral) return [...notes, ...evidence, ...older];
  const title =
    isKnownToFail === true
      ? `Request, ${counted(seen, 'time')}: the gateway sends this, and V2 does not accept it`
      : `Request${isOneOfSeveral ? `, ${counted(seen, 'time')}` : ''}`;
  return [label(title), beforeAndAfter(printed(old), printed(now)), ...notes, ...evidence, ...older];
}

function printed({ method, path, query, fields, body }: RequestParts): string {
  const head = [`${method} ${path}${query === '' ? '' : `?${query}`}`, ...fields].join('\n');
  return body === '' ? head : `${head}\n\n${body}`;
}

/** Remarks of rules that no example shows, each once in a letter. */
function notesOf({ moves }: GuideExample, said: Said): readonly Block[] {
  const byProgram = moves.filter(({ remark }) => remark === BY_PROGRAM);
  const notes = moves.flatMap(({ from, to, remark, isShown }) =>
    remark === '' || remark === BY_PROGRAM || isShown === true
      ? []
      : [{ name: shortName(to ?? from), remark }],
  );
  const fresh = new Set(said.fresh(notes.map(({ name, remark }) => `${name}: ${remark}`)));
  const items = notes
    .filter(({ name, remark }) => fresh.has(`${name}: ${remark}`))
    .map(({ name, remark }): readonly Inline[] => [
      code(name),
      `${remark.startsWith(NOT_KNOWN) ? '' : ':'} ${remark}.`,
    ]);
  return [
    ...(items.length === 0 ? [] : [list(items)]),
    ...(byProgram.length === 0 ? [] : [paragraph(...programWords(byProgram))]),
  ];
}

/** What the operator's own program does to a request. */
function programWords(moves: GuideExample['moves']): readonly Inline[] {
  const from = moves.flatMap((move) => (move.from === ADDED || move.from === '' ? [] : [move.from]));
  const to = moves.flatMap((move) => (move.to === undefined || move.to === '/' ? [] : [move.to]));
  const what: readonly Inline[] =
    from.length === 0
      ? to.length === 0
        ? ['makes this request of yours']
        : ['adds ', ...codesOf(to)]
      : to.length === 0
        ? ['takes ', ...codesOf(from), ' out']
        : ['makes ', ...codesOf(to), ' of ', ...codesOf(from)];
  return ['A program of the gateway ', ...what, " today: ask the API's team for its logic."];
}

function codesOf(places: readonly string[]): readonly Inline[] {
  return joined(
    [...new Set(places.map(shortName))].map((name) => [code(name)]),
    ', ',
    ' and ',
  );
}

/** A list in a line; `last` stands before its last part. */
function joined(
  parts: readonly (readonly Inline[])[],
  separator = ', ',
  last = separator,
): readonly Inline[] {
  return parts.flatMap((part, at) =>
    at === 0 ? part : [at === parts.length - 1 ? last : separator, ...part],
  );
}

/** A pointer, parameter or field as people write it: `customer.name`. */
function shortName(place: string): string {
  if (place === '/' || place === '') return 'the body';
  if (!place.startsWith('/')) return place.replaceAll(/^\?|:$/g, '');
  return place.slice(1).replaceAll('/', '.');
}

function responsePart(call: GuideCall, guide: GuideDocument, said: Said): readonly Block[] {
  const { responses, responsesUnknown, responseRules, read } = call;
  if (responsesUnknown)
    return [
      label('Response'),
      paragraph(
        responseRules === undefined
          ? "Unknown: no response of V1 has been compared with V2's yet."
          : `${responseRules.length === 0 ? 'No rule of this migration changes it.' : `By the rules of this migration: ${responseRules.map(ended).join(' ')}`} No response of V1 has been compared with V2's yet.`,
      ),
    ];
  if (read?.isSampled === true)
    return [
      label('Response'),
      paragraph('One of your requests got what is marked ', code('-'), ', made of what V2 sent:'),
      beforeAndAfter(read.before, read.after),
    ];
  const alike = read === undefined ? undefined : said.responseLike(call);
  if (alike !== undefined)
    return [label('Response'), paragraph('As that of ', placeIn(alike, guide, 'v1'), '.')];
  if (read !== undefined)
    return [label('Response'), beforeAndAfter(read.before, read.after), ...remarksOfResponse(responses)];
  if (responses.length === 0) return [];
  return [
    label('Response'),
    paragraph("A program of the gateway makes it from V2's today: ask the API's team for its logic."),
  ];
}

/** Values of responses that no example shows. */
function remarksOfResponse(responses: GuideCall['responses']): readonly Block[] {
  const left = responses.filter(({ hasOtherValues, isShown }) => hasOtherValues === true && isShown !== true);
  if (left.length === 0) return [];
  return [
    list(
      left.map((member) => [
        code(shortName(member.v1)),
        ` has other values in V2${member.remark === undefined ? '' : `; for today's: ${member.remark}`}.`,
      ]),
    ),
  ];
}

/** Says that no request of a call has succeeded, which its owner may not know. */
function neverWorked(call: GuideCall): readonly Block[] {
  const failed = failedOf(call);
  if (failed.length === 0 || hasSucceeded(call)) return [];
  return [paragraph(`None of these requests has succeeded: ${outcomeWords(failed)}.`)];
}

/** V2's reasons for refusing requests, with the value that it refuses. */
function objectionsTo({ objections = [] }: GuideCall): readonly Block[] {
  if (objections.length === 0) return [];
  return [label('What V2 refuses'), list(objections.map((objection) => [ended(objection)]))];
}

function hasSucceeded({ outcomes }: GuideCall): boolean {
  return outcomes.some(({ status }) => status > 0 && status < 400);
}

function failedOf({ outcomes }: GuideCall): GuideCall['outcomes'] {
  return outcomes.filter(
    ({ code: failure, status }) =>
      !isOnPurpose(failure) && (failure !== undefined || status === 0 || status >= 400),
  );
}

/** Refusals, checks and requests that are not shown. */
function remarksOf(call: GuideCall, shown: readonly GuideExample[]): readonly Block[] {
  const { bodyChecks, unread, omitted, examples } = call;
  const failed = hasSucceeded(call) ? failedOf(call) : [];
  const left = examples.reduce((sum, one) => sum + (shown.includes(one) ? 0 : one.count), omitted);
  const isRefusing = bodyChecks !== undefined && bodyChecks.invalid + bodyChecks.refused > 0;
  return [
    ...(failed.length === 0
      ? []
      : [paragraph(`Some of these requests did not succeed: ${outcomeWords(failed)}.`)]),
    ...(isRefusing ? [paragraph(`Checks before the migration: ${bodyCheckCounts(bodyChecks)}.`)] : []),
    ...(unread > 0
      ? [paragraph(`Not shown: ${counted(unread, 'request')} that the gateway did not read in full.`)]
      : []),
    ...(left > 0 ? [paragraph(`Not shown: ${counted(left, 'request')} with other bodies.`)] : []),
  ];
}

function mistakesPart(guide: GuideDocument): readonly Block[] {
  const mistakes = guide.mistakes.filter((mistake) => mistake.code !== GONE);
  if (mistakes.length === 0) return [];
  return [
    heading('Requests with mistakes'),
    list(
      mistakes.map((mistake) => [
        placeOfMistake(mistake, guide),
        `: ${counted(mistake.count, 'request')} refused as ${mistake.code}`,
        ...(mistake.pointers.length === 0 ? [] : [' at ']),
        ...joined(mistake.pointers.map((pointer) => [code(pointer)])),
        `, the last on ${dayText(Date.parse(mistake.last), new Zone(guide.zone ?? 'UTC'))}. ${mistake.remedy}`,
      ]),
    ),
  ];
}

/** Adds the full stop that a summary of the rule book may lack, since another sentence follows it. */
export function ended(summary: string): string {
  const text = summary.trim();
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}
