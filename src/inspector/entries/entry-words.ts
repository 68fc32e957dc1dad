import { capital } from '../../report/text.ts';
import { count as number, listed } from '../../rules/words.ts';
import {
  editCount,
  type EntryMode,
  modeOf,
  type Outcome,
  outcomeOf,
  responseEditCount,
  sentTo,
  statusFrom,
  type Entry,
} from '../../rewrite-log/entry.ts';
import type { NumberedEntry } from '../api.ts';

/** The words of an outcome, the same on the page and in `tail`. */
export const OUTCOME_WORDS: Readonly<Record<Outcome, string>> = {
  rewritten: 'rewritten',
  unchanged: 'unchanged',
  refused: 'refused',
  passed: 'passed',
  served: 'served',
  'would-rewritten': 'would: rewritten',
  'would-unchanged': 'would: unchanged',
  'would-refused': 'would: refused',
  'to-v1': 'to V1',
};

/** The meaning of an outcome in a sentence. */
export const OUTCOME_MEANINGS: Readonly<Record<Outcome, string>> = {
  rewritten: 'V1 request with an edited body or query, or with an edited response; an edited webhook of V2',
  unchanged: 'V1 request; body, query and response unchanged; an unchanged webhook of V2',
  refused: 'refused by the gateway; nothing was sent',
  passed: 'native V2 request, passed unread',
  served: 'a client fetched its own report; nothing was sent',
  'would-rewritten': 'for V1, as it came; migration would have edited its body or query',
  'would-unchanged':
    'for V1, as it came; migration would have sent its body and query to V2 unchanged; the response is not tried',
  'would-refused': 'for V1, as it came; migration would have refused it',
  'to-v1': 'for V1, as it came; the outcome of a migration is not known',
};

/** What became of the request alone: an exchange may be rewritten only because its response was. */
export function requestOutcomeOf(entry: Entry): Outcome {
  const outcome = outcomeOf(entry);
  const isOfResponse = editCount(entry) === 0 && responseEditCount(entry) > 0 && entry.route === 'migrate';
  return outcome === 'rewritten' && isOfResponse ? 'unchanged' : outcome;
}

/** That outcome in words, and what they mean; `to` is the address of the operation in V2, if it has another. */
export function requestBadge(
  entry: Entry,
  to: string | undefined,
): { readonly outcome: Outcome; readonly words: string; readonly meaning: string } {
  const outcome = requestOutcomeOf(entry);
  const words = OUTCOME_WORDS[outcome];
  if (to !== undefined && entry.route === 'migrate' && words.endsWith('unchanged')) {
    const meaning = `V1 request with its body and query unchanged; V2 has it as ${to}`;
    return { outcome, words: words.replace('unchanged', 'address changed'), meaning };
  }
  const isOfResponse = outcome !== outcomeOf(entry);
  return {
    outcome,
    words,
    meaning: isOfResponse
      ? 'V1 request with its body and query unchanged; its response was edited'
      : OUTCOME_MEANINGS[outcome],
  };
}

/** The meaning of a mode in a sentence. */
export const MODE_MEANINGS: Readonly<Record<EntryMode, string>> = {
  migrate: 'V1 requests go to V2',
  observe: 'V1 responds; migration is a dry run',
  shadow: 'V1 responds; reads are repeated on V2 and compared',
  verify: 'V2 responds; a share of the reads is repeated on V1 and compared',
  canary: 'some clients are migrated, V1 responds to the others',
};

const SERVICES: Readonly<Record<string, string>> = { v1: 'V1', v2: 'V2' };

const UNKNOWN_CHECKS: Readonly<Record<string, string>> = {
  'no-schema': "V2's description has no schema for the operation",
  'unusable-schema': 'the schema could not be interpreted',
  'no-description': "V2's description could not be read yet",
  'not-read': 'the gateway does not read such a body',
  'not-json': 'the body is not JSON',
  'too-large': 'it is larger than 16 KiB',
  'too-slow': 'the check took too many steps',
  budget: 'the checks of that second were used up',
};

/** Maximum differences that the log lists. */
const MAX_DIFFERENCES = 32;

/** Maximum members that a sentence names. */
const MAX_LACKING = 5;

/** Maximum places that are named for a failure. */
const MAX_PLACES = 3;

/** The service that got the request, `–` for none; a read that was also compared names both. */
export function sentToWords(entry: Entry): string {
  if (entry.route === 'webhook' && entry.upstreamPath !== undefined && entry.sent !== false)
    return 'subscriber';
  const to = sentTo(entry);
  if (to === undefined) return '–';
  const { verdict } = entry.comparison ?? {};
  const other = to === 'v2' ? 'V1' : 'V2';
  return verdict === 'same' || verdict === 'different' ? `${serviceOf(to)}, ${other}` : serviceOf(to);
}

/** The receiver of the request, for use within a sentence. */
function receiverOf({ route, origin }: Entry): string {
  return route === 'webhook' ? 'the subscriber' : serviceOf(origin ?? 'v2');
}

/** Unknown names, possible in logs of other software, are returned unchanged. */
function serviceOf(origin: string): string {
  return SERVICES[origin] ?? origin;
}

/** Number of edits with those that the log does not list: `1 edit`, `5,001 edits, 348 of them listed`. */
export function editWords(entry: Pick<Entry, 'edits' | 'editsOmitted'>): string {
  return wordsOfEdits(editCount(entry), entry.editsOmitted);
}

function wordsOfEdits(all: number, omitted = 0, what = ''): string {
  const words = `${number(all)} ${all === 1 ? 'edit' : 'edits'}${what}`;
  return omitted === 0 ? words : `${words}, ${number(all - omitted)} of them listed`;
}

/** Number of edits of the response: `3 edits of the response`; undefined without any. */
export function responseEditWords(
  entry: Pick<Entry, 'responseEdits' | 'responseEditsOmitted'>,
): string | undefined {
  const all = responseEditCount(entry);
  return all === 0 ? undefined : wordsOfEdits(all, entry.responseEditsOmitted, ' of the response');
}

/** The failure code with its pointer, position and cause, as far as they are known. */
export function failureWords({
  failure,
  pointer,
  position,
  cause,
}: Partial<Pick<Entry, 'failure' | 'pointer' | 'position' | 'cause'>>): string | undefined {
  if (failure === undefined) return undefined;
  const at = pointer === undefined ? '' : ` at ${pointer === '' ? '/' : pointer}`;
  const where =
    position === undefined
      ? ''
      : ` at byte ${position.offset}, line ${position.line}, column ${position.column}`;
  return `${failure}${at}${where}${cause === undefined ? '' : ` (${cause})`}`;
}

/** The duration of an exchange, and how much of it the service took. */
export function durationWords(entry: Entry): string {
  const { totalMs, upstreamMs, origin = 'v2' } = entry;
  const share =
    upstreamMs === undefined ? '' : `, of it ${serviceOf(origin)} ${millisecondWords(upstreamMs)}`;
  return `${millisecondWords(totalMs)}${share}`;
}

function millisecondWords(value: number): string {
  return `${value < 10 ? value.toFixed(1) : number(Math.round(value))} ms`;
}

/** An entry with the reason that a service gave, if it is kept. */
type DescribedEntry = Entry & Pick<NumberedEntry, 'reason' | 'lacks'>;

/**
 * The reason why an exchange failed, or would fail after the migration, with code, place and the sentence of the service, such as `V2 422
 * at /name: is missing`; undefined for one that did not fail.
 */
export function reasonWords(entry: DescribedEntry): string | undefined {
  const { status, would, comparison, failure } = entry;
  if (failure !== undefined) return failureWords(entry);
  const from = statusFrom(entry);
  if (status >= 400 && (from === 'v1' || from === 'v2'))
    return `${serviceOf(from)} ${entry.upstreamStatus ?? status}${saidWords(entry)}`;
  if (would?.verdict === 'refused') return `would: ${failureWords(would) ?? 'refused'}`;
  if (would?.v2 === 'invalid') return bodyCheckWords(entry);
  const failed = failedRead(comparison);
  return failed === undefined ? undefined : `read repeated on V2: ${failed.v2} instead of ${failed.v1}`;
}

/** The places and the text of a service's errors. */
function saidWords({ errorPointers = [], reason }: DescribedEntry): string {
  const places = errorPointers.length === 0 ? '' : ` at ${errorPointers.slice(0, MAX_PLACES).join(', ')}`;
  return `${places}${reason === undefined ? '' : `: ${reason}`}`;
}

/** The statuses of a compared read that failed on one service only, so that its bodies cannot be compared. */
function failedRead(
  comparison: Entry['comparison'],
): { readonly v1: number; readonly v2: number } | undefined {
  const { status } = comparison ?? {};
  return status === undefined || status.v1 >= 400 === status.v2 >= 400 ? undefined : status;
}

/**
 * Describes an exchange in sentences, the reason of a failure first: the request, the response with its time, the dry run. Each sentence
 * states a fact of the entry, or that a fact is not known.
 */
export function accountOf(entry: DescribedEntry): readonly string[] {
  const [sent, responded] = [requestSentence(entry), responseSentence(entry)];
  const hasResponded = entry.status >= 400 && sentTo(entry) !== undefined && statusFrom(entry) !== 'gateway';
  return [
    ...(hasResponded ? [responded, sent] : [sent, responded]),
    entry.incomplete === true
      ? 'The exchange with the client ended before the end of the response.'
      : undefined,
    wouldSentence(entry),
    bodyCheckSentence(entry),
    comparisonSentence(entry),
    responseEditSentence(entry),
    lacksSentence(entry),
    lookupSentence(entry),
    entry.heldMs === undefined
      ? undefined
      : `It was held for ${millisecondWords(entry.heldMs)} for the rate limit of the service.`,
    newcomerSentence(entry),
  ].filter((sentence) => sentence !== undefined);
}

function lacksSentence(entry: DescribedEntry): string | undefined {
  const words = lacksWords(entry);
  return words === undefined ? undefined : `The client does not get all that V1 gave: ${words}.`;
}

function newcomerSentence({ newcomer }: Entry): string | undefined {
  switch (newcomer) {
    case undefined:
    case 'refused':
      return undefined;
    case 'warned':
      return 'The client is new to V1; the response points to its guide.';
    case 'would':
      return 'The client was not known to use V1: once V1 is closed to newcomers, such a request is refused.';
    case 'not-known':
      return 'V1 is closed to newcomers; the gateway served this client, because it did not know whether it is new.';
  }
}

function requestSentence(entry: Entry): string {
  const { verdict, upstreamPath, sent, cause, failure, attempts } = entry;
  const service = receiverOf(entry);
  if (verdict === 'refused') return refusedSentence(entry);
  if (verdict === 'served') return servedSentence(entry);
  if (upstreamPath === undefined) {
    return entry.status === 0
      ? 'The exchange with the client ended before its request was forwarded. Nothing was sent.'
      : `The gateway sent nothing (${failure ?? 'no reason is known'}).`;
  }
  if (sent === false && entry.status === 0)
    return `The exchange with the client ended while its request waited for a connection to ${service}. Nothing was sent.`;
  if (sent === false)
    return `Nothing of the request reached ${service} (${cause ?? failure ?? 'no cause is known'}).`;
  const tries = attempts === undefined ? '' : ` It was tried ${attempts} times.`;
  if (entry.status === 0 && failure === undefined && entry.upstreamMs === undefined)
    return `The exchange with the client ended before a response. ${capital(service)} may have carried the request out.${tries}`;
  const doubt = sent === true ? ` ${capital(service)} may have carried it out.` : '';
  return `Sent to ${service} ${manner(entry)}${movedWords(entry)}.${tries}${doubt}`;
}

/** V2's method for a moved operation, and V2's status if the client gets another one. */
function movedWords({ method, upstreamMethod, status, upstreamStatus }: Entry): string {
  const words = [
    ...(upstreamMethod === undefined ? [] : [`as ${upstreamMethod} instead of ${method}`]),
    ...(upstreamStatus === undefined ? [] : [`which responded with ${upstreamStatus} instead of ${status}`]),
  ];
  return words.length === 0 ? '' : `, ${words.join(', ')}`;
}

function refusedSentence(entry: Entry): string {
  const { status, failure, note, route } = entry;
  const end = route === 'webhook' ? 'Nothing was delivered.' : 'Nothing was sent to V1 or V2.';
  if (status === 0)
    return `The gateway refused it: ${failureWords(entry) ?? 'no reason is known'}. The client received no response. ${end}`;
  if (failure === 'brownout')
    return `The gateway responded with ${status}: brownout ${note ?? ''} was on. ${end}`;
  if (failure === 'newcomer')
    return `The gateway responded with ${status}: V1 takes no new clients, and this one has never used it. ${end}`;
  if (failure === 'operation-gone')
    return `The gateway responded with ${status}: V2 does not have this operation any more. ${end}`;
  if (failure === 'sunset') return `The gateway responded with ${status}: V1 has ended. ${end}`;
  return `The gateway refused it with ${status}: ${failureWords(entry) ?? 'no reason is known'}. ${end}`;
}

function servedSentence({ status, method }: Entry): string {
  if (method === 'OPTIONS') return `The gateway responded to an OPTIONS itself, with ${status}.`;
  return status === 0
    ? 'The client requested its own report, and disconnected before the response. Nothing was sent to V1 or V2.'
    : `The client requested its own report; the gateway responded with ${status}. Nothing was sent to V1 or V2.`;
}

function manner(entry: Entry): string {
  const { verdict, origin, bytesIn, edits, note, route } = entry;
  if (origin === 'v1') return 'as it came';
  if (verdict === 'passed') return 'unread';
  // The verdict is about the exchange: perhaps only its response was edited.
  if (verdict === 'rewritten' && editCount(entry) > 0) return `with ${editWords(entry)}`;
  // A webhook is edited by response rules.
  if (verdict === 'rewritten' && route === 'webhook')
    return `with ${wordsOfEdits(responseEditCount(entry), entry.responseEditsOmitted)}`;
  return bodyWords(bytesIn, edits, note);
}

function bodyWords(bytesIn: number, edits: Entry['edits'], note: string | undefined): string {
  if (bytesIn === 0) return 'without a body';
  if (edits.some((edit) => edit.note === 'already-flat'))
    return 'with its body unchanged, as it was already flat';
  return note === undefined ? 'with its body unchanged' : `with its body unchanged (${note})`;
}

function responseSentence(entry: DescribedEntry): string | undefined {
  const { status, failure, cause, upstreamMs, verdict, route } = entry;
  if (verdict === 'refused' || verdict === 'served') return undefined;
  const service = capital(receiverOf(entry));
  const after = upstreamMs === undefined ? '' : ` after ${millisecondWords(upstreamMs)}`;
  const from = statusFrom(entry);
  if (from === undefined && (route !== 'webhook' || status === 0))
    return upstreamMs === undefined
      ? undefined
      : `${service} responded${after}, but the exchange with the client had ended.`;
  if (from !== 'gateway') {
    const broken =
      failure === undefined ? '' : `, and its response broke off${cause === undefined ? '' : ` (${cause})`}`;
    if (status >= 400 && broken === '')
      return `${service} responded with ${status}${after}${saidWords(entry)}.`.replace(/([.!?])\.$/, '$1');
    return `${service} responded with ${status}${after}${broken}.`;
  }
  const heard =
    upstreamMs !== undefined
      ? `${service} gave an unusable response${after}`
      : failure === 'upstream-invalid'
        ? `${service} sent no valid response`
        : `${service} gave no response`;
  return entry.sent === false || failure === 'internal'
    ? `The gateway responded with ${status} (${failure}).`
    : `${heard}${cause === undefined ? '' : ` (${cause})`}; the gateway responded with ${status} (${failure}).`;
}

function wouldSentence(entry: Entry): string | undefined {
  const { origin, would, verdict, edits, bytesIn, note } = entry;
  if (origin !== 'v1') return undefined;
  if (would === undefined) {
    return verdict === 'refused'
      ? undefined
      : 'The outcome of a migration is not known: the gateway did not read the whole body.';
  }
  const isCopied = entry.comparison !== undefined;
  const start = `Dry run, ${isCopied ? 'not for the client' : 'not sent to V2'}:`;
  switch (would.verdict) {
    case 'rewritten':
      return `${start} a migration would have made ${editWords(entry)}.`;
    case 'unchanged':
      return `${start} a migration would have gone to V2 ${bodyWords(bytesIn, edits, note)}.`;
    case 'refused':
      if (would.failure === 'operation-gone')
        return `${start} V2 does not have this operation, so the gateway responds with 410 after the migration.`;
      return `${start} a migration would have been refused (${failureWords(would) ?? 'no reason is known'}).`;
  }
}

function bodyCheckSentence({ would }: Entry): string | undefined {
  if (would?.v2 === undefined) return undefined;
  switch (would.v2) {
    case 'valid':
      return "V2's schema accepts that body. V2 itself was not asked.";
    case 'invalid':
      return `V2's schema refuses that body at ${would.at === undefined || would.at === '' ? 'its root' : would.at}. V2 itself was not asked.`;
    case 'unknown':
      return `Whether V2 accepts that body is not known: ${unknownWords(would.why)}.`;
  }
}

function unknownWords(why: string | undefined): string {
  return UNKNOWN_CHECKS[why ?? ''] ?? why ?? 'no reason is known';
}

function comparisonSentence({ comparison, origin }: Entry): string | undefined {
  if (comparison === undefined) return undefined;
  const { verdict, differences, status, why, noise } = comparison;
  if (verdict === 'unknown') return `V1 and V2 could not be compared (${why ?? 'no reason is known'}).`;
  const start =
    origin === 'v1'
      ? 'After the response, the read was repeated on V1 and, migrated in both directions, on V2:'
      : 'After the response, the read was sent to V1 twice, as it came:';
  const failed = failedRead(comparison);
  if (failed !== undefined) {
    const repeated = origin === 'v1' ? 'repeated on V1 and, migrated, on V2' : 'sent to V1 twice, as it came';
    return `After the response, the read was ${repeated}: V2 responded with ${failed.v2}, V1 with ${failed.v1}, so their fields were not compared.`;
  }
  const ignored =
    noise === 0 ? '' : `, except for ${noise} that ${noise === 1 ? 'differs' : 'differ'} on V1 itself`;
  if (verdict === 'same') return `${start} V2 has every field of V1 with the same value${ignored}.`;
  const statuses = status === undefined ? '' : ` V1 responded with ${status.v1}, V2 with ${status.v2}.`;
  const fields = `${differences.length === MAX_DIFFERENCES ? 'at least ' : ''}${number(differences.length)}`;
  return `${start} V2 differs in ${fields} ${differences.length === 1 ? 'field' : 'fields'}${ignored}.${lackingWords(differences)}${statuses}`;
}

/** Names the members that V2's response lacks by a comparison. */
function lackingWords(differences: NonNullable<Entry['comparison']>['differences']): string {
  const all = differences.flatMap(({ path, kind }) => (kind === 'missing' ? [path] : []));
  return all.length === 0 ? '' : ` It lacks ${listed(all, MAX_LACKING)}.`;
}

/** What a response of V2 lacks that V1's had: `it lacks /phone, which V1's responses had`; undefined for nothing. */
function lacksWords({ lacks = [] }: Pick<NumberedEntry, 'lacks'>): string | undefined {
  return lacks.length === 0 ? undefined : `it lacks ${listed(lacks, MAX_LACKING)}, which V1's responses had`;
}

/** The heading above the edits of a response: their number, and what it lacks; empty without either. */
export function responseTitle(
  entry: Pick<NumberedEntry, 'responseEdits' | 'responseEditsOmitted' | 'lacks'>,
): string {
  const edits = responseEditWords(entry);
  const lacks = lacksWords(entry);
  if (lacks === undefined) return edits ?? '';
  return `${edits ?? 'No edits of the response'}; ${lacks}`;
}

function responseEditSentence(entry: Entry): string | undefined {
  const { responseNote, route } = entry;
  const all = responseEditCount(entry);
  if (route === 'webhook')
    return responseNote === undefined
      ? undefined
      : `It was delivered as it came, although a response rule applies (${responseNote}).`;
  if (all > 0)
    return `Its response was rewritten for the V1 client with ${wordsOfEdits(all, entry.responseEditsOmitted)}.`;
  if (responseNote === undefined || responseNote.startsWith('lookup-')) return undefined;
  if (responseNote === 'response-no-resource')
    return 'The response has no resource at the place that the rule book gives for inverse: the client got it as V2 sent it.';
  return responseNote === 'response-until-close'
    ? 'Only the end of the TLS connection, without close_notify, marked the end of the response: it may be cut off.'
    : `The response was passed on as it came, although a response rule applies (${responseNote}).`;
}

/** The lookups at V2 for the response, and whether a part of it is missing. */
function lookupSentence({ lookups = [], responseNote, failure }: Entry): string | undefined {
  const isMissing = failure === 'lookup-failed' || responseNote?.startsWith('lookup-') === true;
  const missing = isMissing ? 'A part of the response that a rule looks up is missing.' : undefined;
  if (lookups.length === 0) return missing;
  const asked = lookups.reduce((sum, { count }) => sum + count, 0);
  const answers = lookups.map(
    ({ address, status, cause, count }) => `${address} ${cause ?? status ?? ''} (${count})`,
  );
  const told = `For the response, V2 was asked ${asked === 1 ? 'once' : `${number(asked)} times`} more: ${answers.join(', ')}.`;
  return missing === undefined ? told : `${told} ${missing}`;
}

/** Verdict of V2's schema on the body of a dry run, such as `V2 would refuse /name`. */
export function bodyCheckWords({ would }: Pick<Entry, 'would'>): string | undefined {
  if (would?.v2 === undefined) return undefined;
  switch (would.v2) {
    case 'valid':
      return "V2's schema accepts it";
    case 'invalid':
      return `V2's schema refuses ${would.at === undefined || would.at === '' ? 'the body' : would.at}`;
    case 'unknown':
      return `V2's schema: not known (${would.why ?? 'no reason'})`;
  }
}

/** The heading above the edits of an exchange. */
export function editsTitle(entry: Entry): string {
  const outcome = outcomeOf(entry);
  switch (outcome) {
    case 'refused':
      // A request refused before V2 logs no edits: those of one for V1 are its dry run.
      return editCount(entry) > 0 ? `Refused; dry run: ${editWords(entry)}` : 'Refused: no edits';
    case 'passed':
      return entry.route === 'other'
        ? 'No edits: requests under neither prefix pass unread'
        : 'No edits: V2 requests pass unread';
    case 'served':
      return 'No edits: the gateway itself responded';
    case 'to-v1':
      return 'Edits are not known';
    case 'would-refused':
      return 'It would have been refused: no edits';
    case 'would-rewritten':
      return `Dry run: ${editWords(entry)}`;
    case 'rewritten':
      if (entry.route === 'webhook')
        return wordsOfEdits(responseEditCount(entry), entry.responseEditsOmitted);
      return editCount(entry) > 0 ? editWords(entry) : unedited(entry);
    case 'unchanged':
    case 'would-unchanged':
      return unedited(entry);
  }
}

/** The heading above a request without edits; its response may have some. */
function unedited(entry: Entry): string {
  const why = entry.bytesIn === 0 ? 'there is no body' : 'the body stays as it is';
  const response = responseEditWords(entry);
  return response === undefined ? `No edits: ${why}` : `No edits of the request: ${why}; ${response}`;
}

/** The captions of the two bodies. */
export function bodyCaptions(entry: Entry): { readonly before: string; readonly after: string } {
  const isWebhook = entry.route === 'webhook';
  const before = isWebhook ? 'as V2 sent it' : 'as the client sent it';
  if (isWebhook && entry.upstreamPath !== undefined) return { before, after: 'as the gateway delivered it' };
  if (entry.origin === 'v1') {
    const isReceived = statusFrom(entry) === 'v1';
    return {
      before: isReceived ? `${before} and V1 received it` : before,
      after: 'dry run, not sent to V2',
    };
  }
  if (sentTo(entry) === undefined) return { before, after: 'made, but not sent' };
  return {
    before,
    after: statusFrom(entry) === 'v2' ? 'as V2 received it' : 'as the gateway sent it',
  };
}

/** One sentence about an entry, for screen readers. */
export function entrySentence(entry: Entry): string {
  const mode = modeOf(entry);
  const parts = [
    entryName(entry),
    ...(mode === undefined ? [] : [`mode ${mode}`]),
    OUTCOME_WORDS[outcomeOf(entry)],
    editWords(entry),
    ...(responseEditCount(entry) > 0 ? [responseEditWords(entry)] : []),
    `status ${entry.status === 0 ? 'gone' : entry.status}${entry.incomplete === true ? ', incomplete' : ''}`,
  ];
  return parts.join(', ');
}

/** The operation's id, or method and path if no operation matches. */
export function entryName(entry: Entry): string {
  return entry.operation ?? requestLine(entry);
}

/** Method and path of a request, unless its head could not be read. */
export function requestLine({ method, path }: Pick<Entry, 'method' | 'path'>): string {
  return method === '' ? '(unread request)' : `${method} ${path}`;
}

/** The first half of a client's hash: enough to distinguish clients by eye. */
export function shortClient(client: string | undefined): string {
  return client === undefined ? '–' : client.slice(0, 8);
}

type ClientStatus = Pick<Entry, 'status' | 'incomplete'>;

/** The class of a status, for colours: `ok`, `fault` or `failure`. */
export function statusTone({ status, incomplete }: ClientStatus): 'ok' | 'fault' | 'failure' {
  if (status >= 500 || status === 0 || incomplete === true) return 'failure';
  return status >= 400 ? 'fault' : 'ok';
}

/** The text of a status: `gone` when the client disconnected before one was sent, `200…` when the client did not get the whole response. */
export function statusWords({ status, incomplete }: ClientStatus): string {
  if (status === 0) return 'gone';
  return incomplete === true ? `${status}…` : String(status);
}

/** The reason for a status that the gateway chose, and a note that the response is incomplete; undefined when neither applies. */
export function statusTitle(entry: Entry): string | undefined {
  const failed = failureWords(entry);
  if (entry.incomplete !== true) return failed;
  const words = 'incomplete: the client did not get the end of its response';
  return failed === undefined ? words : `${words}; ${failed}`;
}
