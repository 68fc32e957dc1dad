import { generalPointer, tokenName } from '../json/pointer.ts';
import { memberOf } from '../json/values.ts';
import { MovedMembers } from '../rewrite-log/response-findings.ts';
import { type Change, isRewritten, type RuleBook } from '../rules/rule-book.ts';
import { isUnwrapping, lensNamed, lensOf, placedMembers } from '../rules/kinds/kinds.ts';
import { keepsMember, namedMembers } from '../rules/kinds/words.ts';
import type { Path, RequestRule, RequestRuleName } from '../rules/rule.ts';
import { isRefusedBySchema } from './tally/outcomes.ts';
import { refusalOf, type TallyEntry } from './tally/tally-entry.ts';
import { nameIn, terminalText } from './text.ts';
import { count as number, counted } from '../rules/words.ts';

/** Attribute names that V1 clients sent, by operation. */
export interface Census {
  /** V1 exchanges whose names were recorded, out of `exchanges`. */
  readonly sampled: number;
  readonly exchanges: number;
  /** By operation, the least accepted first. */
  readonly rows: readonly CensusRow[];
  /** `strip` rules for names that V2 does not accept. */
  readonly strips: readonly StripProposal[];
  /** Names that V2 may not accept, by some evidence, and why it is not enough for a rule. */
  readonly suspects: readonly Suspect[];
  /** `strips` as YAML to paste into the rule book; empty if there are none. */
  readonly proposal: string;
  /** Occurrences of names that are not listed, because there are too many. */
  readonly omitted: number;
}

/** The counts of a name, in the order of a record. */
export const COUNTS = [
  'count',
  'accepted',
  'echoed',
  'unechoed',
  'unprocessable',
  'named',
  'acceptedByV1',
  'deprecated',
  'namedByV1',
] as const;

/** Counts of one name. */
export interface CensusCounts extends Record<(typeof COUNTS)[number], number> {
  readonly clients: Set<string>;
  /** Exchanges that V1 accepted and V2's schema refuses, with its first fault at the name, and those that the schema accepts. */
  refusedBySchema: number;
  validBySchema: number;
  change?: string;
  rule?: RequestRuleName;
}

/** An attribute with its row, and its pointers in the V1 body and in the V2 body. */
interface PlacedRow {
  readonly row: CensusCounts;
  readonly v1: string;
  /** Undefined when an edit removes it. */
  readonly v2: string | undefined;
}

/** Rows for a list of names, in one operation and with one list of edits; valid until rows are dropped. */
interface Place {
  readonly round: number;
  readonly operation: string;
  readonly edits: TallyEntry['edits'];
  readonly rows: PlacedRow[];
  omitted: number;
}

/** Maximum names of one operation, and of all together: names that contain data would grow without limit. */
const MAX_NAMES = 1000;
const MAX_ROWS = 5000;

/** Share of rows to keep when there are too many: the most frequent ones. */
const KEPT_SHARE = 0.5;

/** Maximum unechoed names in an entry: if it lists that many, there may be more. */
const MAX_UNECHOED = 16;

export const NO_COUNTS = {
  count: 0,
  accepted: 0,
  echoed: 0,
  unechoed: 0,
  unprocessable: 0,
  named: 0,
  acceptedByV1: 0,
  deprecated: 0,
  namedByV1: 0,
  refusedBySchema: 0,
  validBySchema: 0,
};

/** Maximum clients listed for a name: if it has that many, there may be more. */
export const MAX_ROW_CLIENTS = 10;

/** Display names by client hash. */
type ClientNames = ReadonlyMap<string, string>;

const NO_NAMES: ClientNames = new Map();

/** Summary of a change that holds proposed rules. */
const CHANGE_SUMMARY = 'Attributes that V2 does not take.';

/** Minimum number of 422 responses that point at a name before they count as evidence that V2 refuses it. */
const MIN_NAMED = 3;

/** Counts the names that V1 clients send, by operation and outcome. */
export class CensusTally {
  /** Counts by operation and pointer. */
  readonly operations = new Map<string, Map<string, CensusCounts>>();
  private readonly places = new WeakMap<readonly string[], Place>();
  /** V1 exchanges whose names were recorded, and all of them. */
  sampled = 0;
  exchanges = 0;
  /** Occurrences of names that are not listed. */
  omitted = 0;
  private rowCount = 0;
  /** How often rows were dropped: places of an earlier round are looked up again. */
  private round = 0;

  add(operation: string, entry: TallyEntry): void {
    this.exchanges += 1;
    // The names in a refused body say nothing: it is unknown which of them are inside the wrapper.
    if (entry.attributes === undefined || refusalOf(entry) !== undefined) return;
    this.sampled += 1;
    const place = this.placeOf(operation, entry.attributes, entry.edits);
    for (const row of place.rows) count(row, entry);
    this.omitted += place.omitted;
  }

  /**
   * Returns the counts so far. `schema` says which names V2's OpenAPI has; `rules` says which names a rule handles now: requests from
   * before that rule do not show it; `names` are those of clients by their hashes.
   */
  result(schema?: OpenApiNames, rules?: CensusRules, names: ClientNames = NO_NAMES): Census {
    const operations = [...this.operations].sort(([one], [other]) => (one < other ? -1 : 1));
    const rows = operations.flatMap(([operation, names]) => {
      const changes = rules && changesFor(operation, rules);
      return [...names]
        .map(([pointer, row]) => censusRow(operation, pointer, handledNow(pointer, row, changes), schema))
        .sort((one, other) => share(one) - share(other) || other.count - one.count);
    });
    const { strips, suspects } = proposeStrips(rows, names);
    return {
      sampled: this.sampled,
      exchanges: this.exchanges,
      rows,
      strips,
      suspects,
      proposal: proposalYaml(strips),
      omitted: this.omitted,
    };
  }

  /** Returns the rows for a list of names; a list that entries share is looked up once. */
  private placeOf(operation: string, attributes: readonly string[], edits: TallyEntry['edits']): Place {
    const known = this.places.get(attributes);
    if (known?.round === this.round && known.operation === operation && known.edits === edits) return known;
    const rows = this.rowsOf(operation);
    const place: Place = { round: this.round, operation, edits, rows: [], omitted: 0 };
    const moved = new MovedMembers(edits);
    const { wrapper } = moved;
    for (const attribute of attributes) {
      if (!attribute.startsWith(`${wrapper}/`)) continue;
      const row = this.rowOf(rows, attribute.slice(wrapper.length));
      if (row === undefined) place.omitted += 1;
      else place.rows.push({ row, v1: attribute, v2: moved.of(attribute) });
    }
    for (const { from, change, rule } of edits) {
      if (from === undefined || isUnwrapping(rule) || rule === 'transform') continue;
      const row = rows.get(generalPointer(from.slice(wrapper.length)));
      if (row === undefined) continue;
      row.change = change;
      row.rule = rule;
    }
    this.places.set(attributes, place);
    return place;
  }

  /** Returns the rows of an operation, with room for more: of too many names, the least frequent are dropped. */
  private rowsOf(operation: string): Map<string, CensusCounts> {
    const rows = this.operations.get(operation) ?? new Map<string, CensusCounts>();
    if (rows.size >= MAX_NAMES) this.dropRows([rows], MAX_NAMES * KEPT_SHARE);
    if (this.rowCount >= MAX_ROWS) this.dropRows([...this.operations.values()], MAX_ROWS * KEPT_SHARE);
    // Not earlier: operations that are left without a row are deleted.
    this.operations.set(operation, rows);
    return rows;
  }

  private rowOf(rows: Map<string, CensusCounts>, pointer: string): CensusCounts | undefined {
    const known = rows.get(pointer);
    if (known !== undefined || rows.size >= MAX_NAMES || this.rowCount >= MAX_ROWS) return known;
    const row: CensusCounts = { ...NO_COUNTS, clients: new Set() };
    rows.set(pointer, row);
    this.rowCount += 1;
    return row;
  }

  private dropRows(tables: readonly Map<string, CensusCounts>[], kept: number): void {
    const all = tables.flatMap((rows) => [...rows].map(([pointer, row]) => ({ rows, pointer, row })));
    all.sort((one, other) => other.row.count - one.row.count);
    for (const { rows, pointer, row } of all.slice(kept)) {
      rows.delete(pointer);
      this.omitted += row.count;
      this.rowCount -= 1;
    }
    for (const [operation, rows] of this.operations) if (rows.size === 0) this.operations.delete(operation);
    this.round += 1;
  }
}

function count({ row, v1, v2 }: PlacedRow, entry: TallyEntry): void {
  const { client, status, failure, origin } = entry;
  row.count += 1;
  if (client !== undefined && row.clients.size < MAX_ROW_CLIENTS) row.clients.add(client);
  // No service responded, so the response says nothing about the name.
  if (failure !== undefined) return;
  const isAccepted = status >= 200 && status < 300;
  if (origin === 'v1') {
    if (isAccepted) row.acceptedByV1 += 1;
    if (entry.deprecated?.includes(v1) === true) row.deprecated += 1;
    if (entry.errorPointers?.includes(v1) === true) row.namedByV1 += 1;
    if (isAccepted && entry.would?.v2 === 'valid') row.validBySchema += 1;
    const { would } = entry;
    if (v2 !== undefined && isRefusedBySchema(entry) && generalPointer(would?.at ?? '') === v2)
      row.refusedBySchema += 1;
    return;
  }
  if (isAccepted) row.accepted += 1;
  if (isAccepted && entry.unechoed !== undefined && entry.unechoed.length < MAX_UNECHOED) {
    if (isAmong(entry.unechoed, v1)) row.unechoed += 1;
    else row.echoed += 1;
  }
  if (status === 422) row.unprocessable += 1;
  if (v2 !== undefined && entry.errorPointers?.includes(v2) === true) row.named += 1;
}

/** Whether a pointer, or one of its containers, is in a list. */
function isAmong(pointers: readonly string[], pointer: string): boolean {
  return pointers.some((outer) => pointer === outer || pointer.startsWith(`${outer}/`));
}

/** The rule book in force. */
export type CensusRules = Pick<RuleBook, 'changes' | 'operations'>;

/** The changes whose request rules apply to the requests of an operation. */
function changesFor(operation: string, { changes, operations }: CensusRules): readonly Change[] {
  const method = operations.find(({ id }) => id === operation)?.method;
  return changes.filter(({ on }) =>
    on === 'every' ? method === undefined || isRewritten(method) : on.includes(operation),
  );
}

/** The row with the change and rule that handle its member now; none if the rule book no longer has the change. */
function handledNow(
  pointer: string,
  row: CensusCounts,
  changes: readonly Change[] | undefined,
): CensusCounts {
  if (changes === undefined) return row;
  const handled = handlerOf(pointer, changes);
  if (handled !== undefined) return { ...row, ...handled };
  if (row.change === undefined || changes.some(({ id }) => id === row.change)) return row;
  const { change: _, rule: __, ...counts } = row;
  return counts;
}

/** The first rule about the member at a pointer below the wrapper, which earlier rules may have moved with its container. */
function handlerOf(
  pointer: string,
  changes: readonly Change[],
): { readonly change: string; readonly rule: RequestRuleName } | undefined {
  let path: Path = pointer.split('/').slice(1).map(tokenName);
  for (const { id, request } of changes)
    for (const rule of request) {
      const lens = lensOf(rule);
      if (!('in' in rule) || lens.isForAbsent?.(rule) === true) continue;
      const objects = rule.in[0] === '**' ? placeOf(rule, path) : rule.in;
      if (!beginsWith(path, objects)) continue;
      const within = path.slice(objects.length);
      const [name] = within;
      if (name === undefined) continue;
      const handled = { change: id, rule: rule.rule };
      if (lens.drops?.(rule, name) === true) return handled;
      const named = lens.drops === undefined ? namedMembers(rule) : [];
      const at = named.findIndex((member) => beginsWith(within, member));
      const rest = within.slice(named[at]?.length ?? 0);
      if (at !== -1 && rest.length === 0) return handled;
      const placed = placedMembers(rule);
      const to = placed[at] ?? placed[0];
      if (at !== -1 && to !== undefined && !keepsMember(rule.rule)) path = [...objects, ...to, ...rest];
    }
  return undefined;
}

/** The objects on a path that a rule for any depth applies to: those around the first member that it names. */
function placeOf(rule: RequestRule, path: Path): Path {
  const first = new Set(namedMembers(rule).map(([name]) => name));
  const at = path.findIndex((name) => first.has(name));
  return path.slice(0, Math.max(0, at));
}

function beginsWith(path: Path, start: Path): boolean {
  return start.every((step, at) => step === path[at]);
}

function censusRow(
  operation: string,
  pointer: string,
  row: CensusCounts,
  schema: OpenApiNames | undefined,
): CensusRow {
  const { clients, change, rule, refusedBySchema, validBySchema, ...counts } = row;
  const inSchema = change === undefined ? schema?.has(operation, pointer) : undefined;
  return {
    operation,
    pointer,
    ...counts,
    ...(refusedBySchema === 0 ? {} : { refusedBySchema }),
    ...(validBySchema === 0 ? {} : { validBySchema }),
    ...(inSchema === undefined ? {} : { inSchema }),
    clients: [...clients],
    ...(change === undefined || rule === undefined ? {} : { change, rule }),
  };
}

function share(row: CensusRow): number {
  return row.accepted / row.count;
}

/** One attribute name that clients of an operation send, with the evidence of every source. */
export interface CensusRow {
  readonly operation: string;
  /** Pointer below the wrapper, array elements as `*`, such as `/items/*`. */
  readonly pointer: string;
  /** Number of exchanges with it. */
  readonly count: number;
  /** Number of those to which V2 itself responded with 2xx. */
  readonly accepted: number;
  /** Number of those 2xx responses that echoed it, and of those that did not; others were not compared. */
  readonly echoed: number;
  readonly unechoed: number;
  /** Number of exchanges to which V2 itself responded with 422. */
  readonly unprocessable: number;
  /** Number of those whose errors point at it. */
  readonly named: number;
  /** Number of exchanges to which V1 responded with 2xx, and of those whose response calls it deprecated. */
  readonly acceptedByV1: number;
  readonly deprecated: number;
  /** Number of exchanges that V1 refused with errors that point at it. */
  readonly namedByV1: number;
  /** Number of exchanges that V1 accepted and V2's schema refuses because of it, and of those that the schema accepts; absent for none. */
  readonly refusedBySchema?: number;
  readonly validBySchema?: number;
  /** Whether V2's OpenAPI has it; absent without one, or if it allows any member. */
  readonly inSchema?: boolean;
  /** The first ten clients that sent it. */
  readonly clients: readonly string[];
  /** The change and the rule that removed or moved it. */
  readonly change?: string;
  readonly rule?: RequestRuleName;
}

/** A member to strip from the requests of an operation. */
export interface StripProposal {
  /** Operation id; absent for every operation without a name. */
  readonly operation?: string;
  /** Member names joined by dots, of the object that contains the member; absent for the body itself. */
  readonly in?: string;
  readonly member: string;
  /** The counts of each source. */
  readonly why: string;
  /** Clients whose requests the rule would change, the first ten. */
  readonly clients: readonly string[];
  /** Their display names; absent if none has one. */
  readonly names?: readonly string[];
}

/** An attribute that V2 may not accept, without enough evidence for a rule. */
interface Suspect {
  readonly operation: string;
  readonly pointer: string;
  readonly why: string;
  readonly clients: readonly string[];
}

interface Proposals {
  readonly strips: readonly StripProposal[];
  readonly suspects: readonly Suspect[];
}

/** Proposes `strip` rules for names that no rule handles and that V2 does not accept, with the evidence of each source. */
function proposeStrips(rows: readonly CensusRow[], names: ClientNames): Proposals {
  const judged = judgeRows(rows);
  const places = new Set(
    judged
      .filter(({ verdict }) => verdict === 'strip')
      .map(({ row }) => evidencePlace(row.operation, row.pointer)),
  );
  const outer = judged.filter(({ row }) => !isInside(row, places));
  const isStrip = ({ verdict, row }: Judgement): boolean => verdict === 'strip' && isPath(row.pointer);
  return {
    strips: outer.filter(isStrip).map(({ row, why }) => stripOf(row, why, names)),
    suspects: outer
      .filter((judgement) => !isStrip(judgement))
      .map(({ row: { operation, pointer, clients }, why }) => ({ operation, pointer, why, clients })),
  };
}

/** How many requests had names to count. */
export function censusNote({ sampled, exchanges }: Pick<Census, 'sampled' | 'exchanges'>): string {
  return `names in the bodies of ${number(sampled)} of ${counted(exchanges, 'V1 request')}; others have none, or were refused`;
}

/** Stands for the change of an attribute that V2 does not accept, and that no rule handles. */
export const NO_RULE = 'no rule yet';

/** Says of each attribute which change handles it, or that one is missing, or may be. */
export function handlersIn({ strips, suspects }: Census): (row: CensusRow) => string {
  const proposed = new Set(
    strips.map(({ operation = '(other)', in: inside, member }) =>
      evidencePlace(operation, `/${inside === undefined ? '' : `${inside.replaceAll('.', '/')}/`}${member}`),
    ),
  );
  const doubtful = new Set(suspects.map(({ operation, pointer }) => evidencePlace(operation, pointer)));
  return ({ operation, pointer, change }) => {
    if (change !== undefined) return change;
    const place = evidencePlace(operation, pointer);
    return proposed.has(place) ? NO_RULE : doubtful.has(place) ? 'not known' : '–';
  };
}

/** Id of the change that holds the proposed rules of an operation. */
export function changeIdOf(operation: string | undefined): string {
  return `removed-from-${(operation ?? 'other').replaceAll(/[^a-z0-9]+/gi, '-').replaceAll(/^-|-$/g, '')}`;
}

/** Prints proposals as YAML to paste under `changes`; empty without any. */
export function proposalYaml(strips: readonly StripProposal[]): string {
  const operations = Map.groupBy(strips, ({ operation }) => operation);
  return [...operations].map(([operation, members]) => printChange(operation, members)).join('');
}

function stripOf({ operation, pointer, clients }: CensusRow, why: string, names: ClientNames): StripProposal {
  const at = pointer.lastIndexOf('/');
  const inside = pointer.slice(1, Math.max(1, at)).replaceAll('/', '.');
  return {
    ...(operation === '(other)' ? {} : { operation }),
    ...(inside === '' ? {} : { in: inside }),
    member: tokenName(pointer.slice(at + 1)),
    why,
    clients,
    ...(clients.some((client) => names.has(client))
      ? { names: clients.map((client) => nameIn(names, client)) }
      : {}),
  };
}

/** Whether the proposals have one of its containers. */
function isInside({ operation, pointer }: CensusRow, places: ReadonlySet<string>): boolean {
  for (let end = pointer.lastIndexOf('/'); end > 0; end = pointer.lastIndexOf('/', end - 1))
    if (places.has(evidencePlace(operation, pointer.slice(0, end)))) return true;
  return false;
}

/** Rule book paths use dots as separators. */
function isPath(pointer: string): boolean {
  return !/[.~]/.test(pointer);
}

function printChange(operation: string | undefined, strips: readonly StripProposal[]): string {
  const places = Map.groupBy(strips, (strip) => strip.in);
  const on = operation === undefined ? 'every' : `[${printName(operation)}]`;
  const rules = [...places].map(([place, members]) => {
    const evidence = members.map(
      ({ member, why, clients, names = clients }) =>
        `        # ${quotedName(member)}: ${why}; of ${clientWords(names)}`,
    );
    const inside = place === undefined ? '' : `\n        in: ${printName(place)}`;
    const names = members.map(({ member }) => printName(member)).join(', ');
    return `${evidence.join('\n')}\n      - strip: [${names}]${inside}\n`;
  });
  return `  - id: ${changeIdOf(operation)}\n    summary: ${CHANGE_SUMMARY}\n    on: ${on}\n    request:\n${rules.join('')}`;
}

function clientWords(clients: readonly string[]): string {
  const names = clients.map(terminalText).join(', ') || 'unknown clients';
  return clients.length < MAX_ROW_CLIENTS ? names : `${names} and perhaps more`;
}

function quotedName(name: string): string {
  return terminalText(JSON.stringify(name).slice(1, -1));
}

/** Plain words need no quotes in YAML; other text is quoted. */
function printName(name: string): string {
  return /^[a-z_][\w.-]*$/i.test(name) && !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(name)
    ? name
    : terminalText(JSON.stringify(name));
}

/** The verdict on an attribute: V2 does not accept it, or may not. */
interface Judgement {
  readonly row: CensusRow;
  readonly verdict: 'strip' | 'unknown';
  /** The counts of each source, and for `unknown` the reason, in a sentence. */
  readonly why: string;
}

/** Evaluates the attributes that no rule handles; one without evidence against it gets no verdict. */
function judgeRows(rows: readonly CensusRow[]): readonly Judgement[] {
  const moves = new Map<string, CensusRow>();
  const accepted = new Set<string>();
  for (const row of rows) {
    if (row.rule !== undefined && isMoving(row.rule)) moves.set(lastName(row.pointer), row);
    if (row.accepted + (row.validBySchema ?? 0) === 0) continue;
    accepted.add(evidencePlace(row.operation, ''));
    accepted.add(evidencePlace(row.operation, row.pointer));
  }
  return rows.flatMap((row) => {
    const isDispensable =
      row.accepted + (row.validBySchema ?? 0) === 0 &&
      accepted.has(evidencePlace(row.operation, outerOf(row.pointer)));
    const judgement = judge(row, moves.get(lastName(row.pointer)), isDispensable);
    return judgement === undefined ? [] : [{ row, ...judgement }];
  });
}

/** True for a kind that renames or moves members, and leaves their values. */
function isMoving(rule: string): boolean {
  const lens = lensNamed(rule);
  return lens?.became !== undefined && lens.drops === undefined;
}

/** `isDispensable`: V2 accepted requests with the object around the attribute, and never one with the attribute in it. */
function judge(
  row: CensusRow,
  moved: CensusRow | undefined,
  isDispensable: boolean,
): Omit<Judgement, 'row'> | undefined {
  const { change, accepted, echoed, unechoed, unprocessable, deprecated, inSchema } = row;
  if (change !== undefined || echoed > 0) return undefined;
  const isAgainst = namedBy(row) > 0 || deprecated > 0 || unechoed > 0 || inSchema === false;
  if (!isAgainst && (accepted > 0 || unprocessable < MIN_NAMED)) return undefined;
  const counts = evidence(row);
  const unknown = (reason: string): Omit<Judgement, 'row'> => ({
    verdict: 'unknown',
    why: `${counts}; ${reason}`,
  });
  if (moved !== undefined)
    return unknown(
      `${moved.change} handles a member of that name in ${moved.operation}, perhaps here as well`,
    );
  if (inSchema === true) return unknown("V2's OpenAPI has it");
  if (inSchema === false || deprecated > 0) {
    return accepted > unechoed
      ? unknown('V2 accepted it; whether V2 uses it is unknown')
      : { verdict: 'strip', why: counts };
  }
  if (accepted > 0) return unechoed > 0 ? unknown('V2 may use it without echoing it') : undefined;
  const doubt = doubtOf(row, isDispensable);
  if (doubt !== undefined) return unknown(doubt);
  return { verdict: 'strip', why: `${counts}, ${whoRefused(row)} accepted requests without it` };
}

/** How often V2 or its schema refused a request and pointed at the name. */
function namedBy({ named, refusedBySchema = 0 }: CensusRow): number {
  return named + refusedBySchema;
}

function whoRefused({ refusedBySchema }: CensusRow): string {
  return refusedBySchema === undefined ? 'V2' : 'V2 or its schema';
}

/** Why V2's refusals do not show that it does not accept the name; undefined if they do. */
function doubtOf(row: CensusRow, isDispensable: boolean): string | undefined {
  const { acceptedByV1, namedByV1 } = row;
  if (namedBy(row) === 0) return "V2's errors do not say which member they are about";
  const who = whoRefused(row);
  const doubt = `${who} may refuse the value and not the name`;
  if (acceptedByV1 === 0) return `${doubt}: V1 was not seen to accept it`;
  if (namedByV1 > 0) return `${doubt}: V1 refused it as well`;
  if (!isDispensable) return `${doubt}: ${who} was not seen to accept a request without it`;
  return namedBy(row) < MIN_NAMED ? `${doubt} from so few requests` : undefined;
}

function evidence(row: CensusRow): string {
  const parts = [
    `sent ${number(row.count)}×`,
    row.named > 0 ? `V2 refused it ${number(row.named)}×` : '',
    row.named === 0 && row.unprocessable > 0
      ? `V2 refused requests with it ${number(row.unprocessable)}×`
      : '',
    row.refusedBySchema === undefined ? '' : `V2's schema refused it ${number(row.refusedBySchema)}×`,
    row.accepted > 0 ? `V2 accepted it ${number(row.accepted)}×` : '',
    row.unechoed > 0 ? `not echoed ${number(row.unechoed)}×` : '',
    row.acceptedByV1 > 0 ? `V1 accepted it ${number(row.acceptedByV1)}×` : '',
    row.deprecated > 0 ? `V1 called it deprecated ${number(row.deprecated)}×` : '',
    row.namedByV1 > 0 ? `V1 refused it ${number(row.namedByV1)}×` : '',
    row.inSchema === false ? "not in V2's OpenAPI" : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}

function lastName(pointer: string): string {
  return pointer.slice(pointer.lastIndexOf('/') + 1);
}

/** The pointer of the object or list around a member; empty for the body. */
function outerOf(pointer: string): string {
  return pointer.slice(0, pointer.lastIndexOf('/'));
}

function evidencePlace(operation: string, pointer: string): string {
  return `${operation} ${pointer}`;
}

/** An operation whose request body a description knows. */
interface DescribedOperation {
  readonly id: string;
  readonly method: string;
  /** Path below the version, such as `/properties/{id}`. */
  readonly template: string;
}

/** Maximum references and alternatives to follow for one name: a description can refer to itself. */
const MAX_STEPS = 2000;

/** Looks up attribute names in the request bodies of V2's OpenAPI description. */
export class OpenApiNames {
  private readonly document: unknown;
  private readonly operations: ReadonlyMap<string, DescribedOperation>;
  private readonly paths: ReadonlyMap<string, unknown>;
  private steps = 0;

  constructor(document: unknown, operations: readonly DescribedOperation[]) {
    this.document = document;
    this.operations = new Map(operations.map((operation) => [operation.id, operation]));
    const paths = entriesOf(memberOf(document, 'paths'));
    this.paths = new Map(paths.map(([path, item]) => [plainPath(path), item]));
  }

  /** Whether the body of an operation has the member at `pointer` (`*` for elements); undefined if the schema leaves that open. */
  has(operation: string, pointer: string): boolean | undefined {
    const described = this.operations.get(operation);
    if (described === undefined) return undefined;
    const item = this.paths.get(plainPath(described.template));
    const body = this.resolved(memberOf(memberOf(item, described.method.toLowerCase()), 'requestBody'));
    const schema = memberOf(memberOf(memberOf(body, 'content'), 'application/json'), 'schema');
    if (schema === undefined) return undefined;
    this.steps = 0;
    return this.find(schema, pointer.split('/').slice(1));
  }

  private find(given: unknown, steps: readonly string[]): boolean | undefined {
    this.steps += 1;
    const schema = this.resolved(given);
    if (this.steps > MAX_STEPS || typeof schema !== 'object' || schema === null) return undefined;
    const [step, ...rest] = steps;
    if (step === undefined) return true;
    const alternatives = ['anyOf', 'oneOf', 'allOf'].flatMap((name) => {
      const list = memberOf(schema, name);
      return Array.isArray(list) ? list : [];
    });
    const found = alternatives.map((part: unknown) => this.find(part, steps));
    const own = this.own(schema, step, rest);
    const all = own === 'none' ? found : [...found, own];
    if (all.includes(true)) return true;
    return all.length === 0 || all.includes(undefined) ? undefined : false;
  }

  /** Looks up a step in the schema's own members; `none` if it has none and its alternatives decide. */
  private own(schema: object, step: string, rest: readonly string[]): boolean | undefined | 'none' {
    const type = memberOf(schema, 'type');
    const types = type === undefined ? [] : [type].flat();
    const isOpen = types.length === 0;
    if (step === '*') {
      const items = memberOf(schema, 'items');
      if (items !== undefined) return this.find(items, rest);
      return isOpen ? 'none' : types.includes('array') ? undefined : false;
    }
    const properties = memberOf(schema, 'properties');
    const name = tokenName(step);
    const property = memberOf(properties, name);
    if (property !== undefined) return this.find(property, rest);
    if (memberOf(schema, 'additionalProperties') === false) return false;
    if (properties === undefined && isOpen) return 'none';
    return isOpen || types.includes('object') ? undefined : false;
  }

  private resolved(value: unknown): unknown {
    let target = value;
    for (let hops = 0; hops < 10; hops += 1) {
      const reference = memberOf(target, '$ref');
      if (typeof reference !== 'string' || !reference.startsWith('#/')) return target;
      target = this.document;
      for (const step of reference.slice(2).split('/')) target = memberOf(target, tokenName(step));
    }
    return undefined;
  }
}

/** A path below the version, without the names of its parameters. */
function plainPath(path: string): string {
  return path.replace(/^\/api\/v2(?=\/|$)/, '').replaceAll(/\{[^{}]*\}/g, '{}');
}

function entriesOf(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}
