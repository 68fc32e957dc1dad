import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { CHECKED_WORDS, wouldFail, wouldFailWords } from '../../rollout/body-checks.ts';
import type {
  ChangeRecord,
  ModeView,
  RollbackView,
  RolloutRequest,
  RolloutView as Rollout,
} from '../../rollout/rollout-tally.ts';
import {
  evidenceSentence,
  latencySentence,
  type OriginCount,
  reasonSentence,
} from '../../rollout/rollout-state.ts';
import { listed } from '../../report/text.ts';
import type { Report, RulesView } from '../api.ts';
import { causeFilter, type Condition, rateLimitSentence } from '../conditions.ts';
import { otherModes, rolloutEffect, type RolloutEffect, ruleWords } from '../rollout-effect.ts';
import { AdminFailure, asFailure, getJson, postJson, useAsked, useAttempt } from './admin-client.ts';
import { ago, clockTime, count, counted, dayTime } from './format.ts';
import { type Go, keepValue, keptValue, toExchanges } from './page-state.ts';
import {
  Button,
  Card,
  Checkbox,
  type Column,
  Form,
  LinkButton,
  Loading,
  type PageTools,
  ScrollTable,
  sentence,
  SentenceList,
  visibleText,
} from './parts.tsx';

const REFRESH = 2000;

/** Properties of the rollout. */
interface RolloutViewProps extends Pick<PageTools, 'go' | 'announce'> {
  readonly rules: RulesView | undefined;
  /** The conditions of the services and the gateway. */
  readonly conditions: readonly Condition[];
}

const SOURCES: Readonly<Record<ModeView['from'], string>> = {
  default: 'the default',
  'rule-book': 'the rule book',
  operator: 'an operator',
  'roll-back': 'a roll-back',
};

const MODES: Readonly<Record<ModeView['mode'], string>> = {
  migrate: 'Migrate: requests go to V2',
  observe: 'Observe: V1 responds',
  shadow: 'Shadow: V1 responds, reads are compared',
  canary: 'Canary',
  verify: 'Verify: V2 responds, V1 is also asked for reads',
};

/** Maximum differing fields listed for an operation. */
const MAX_FIELDS = 10;

/** Maximum operations and clients with their own modes that the heading names. */
const MAX_OTHERS = 5;

/** Maximum pointers listed for a client and operation. */
const MAX_POINTERS = 5;

const COUNTERS = [
  ['Refused, V1 accepted', 'invalid'],
  ['Refused by V1 as well', 'refusedByBoth'],
  ['Accepted', 'valid'],
  ['Not known', 'unknown'],
  ['Refused by the gateway, V1 accepted', 'refused'],
] as const;

const FORM_MODES = [
  ['observe', 'Observe: V1 responds'],
  ['shadow', 'Shadow: V1 responds, reads are compared'],
  ['canary', 'Canary: a share of the clients is migrated'],
  ['migrate', 'Migrate: requests go to V2'],
  ['verify', 'Verify: V2 responds, a share of the reads is compared with V1'],
  ['', 'The mode of the rule book'],
] as const;

const CLIENT = '(client)';

/** The modes of V1 traffic, the state of the canary, the results of shadowing, and the notices to V1 clients. */
export function RolloutView({ go, announce, rules, conditions }: RolloutViewProps): VNode {
  const { response: asked, failure } = useAsked<Rollout>('rollout', REFRESH);
  const [changed, setChanged] = useState<Rollout | undefined>(undefined);
  const [checked, setChecked] = useState<CheckedCommand | undefined>(undefined);
  const [fault, attempt] = useAttempt();
  const response = changed !== undefined && changed.revision > (asked?.revision ?? 0) ? changed : asked;
  if (response === undefined) return <Loading failure={failure} subject="the rollout" />;
  const operations = rules?.operations.filter(({ id }) => id !== '(other)') ?? [];
  const methodOf = (operation: string): string | undefined =>
    operations.find(({ id }) => id === operation)?.method;
  const check = (request: RolloutRequest): Promise<boolean> =>
    attempt(async () => {
      const [now, report, refusal] = await Promise.all([
        getJson<Rollout>('rollout'),
        getJson<Report>('report?format=json'),
        refusalOf(request),
      ]);
      const effect = rolloutEffect(request, now, report, methodOf);
      setChecked({ request, effect, refusal, revision: now.revision });
    });
  const carryOut = async ({ request, revision, effect }: CheckedCommand, said: Said): Promise<void> => {
    const now = await getJson<Rollout>('rollout');
    if (now.revision !== revision)
      throw new AdminFailure(
        409,
        'The rollout was changed meanwhile, so this preview is out of date. Cancel, and check again.',
      );
    setChanged(await postJson<Rollout>('rollout', { ...request, ...said }));
    setChecked(undefined);
    announce(`Done: ${effect.title}.`);
  };
  return (
    <div class="view rollout">
      <h2>Rollout</h2>
      {banner(response, conditions, go)}
      {modesCard(response, { go, methodOf, check: (request) => void check(request) })}
      {fault !== '' && (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
      <RolloutForm rollout={response} operations={operations} check={(request) => void check(request)} />
      {changesCard(response)}
      {canariesCard(response, go)}
      {shadowsCard(response)}
      {bodyChecksCard(response, go)}
      {checked !== undefined && (
        <RolloutDialog checked={checked} onCancel={() => setChecked(undefined)} carryOut={carryOut} />
      )}
    </div>
  );
}

/** Asks the gateway why it would refuse a command now; undefined when it would not. */
async function refusalOf(request: RolloutRequest): Promise<Refusal | undefined> {
  try {
    await postJson<Rollout>('rollout', { ...request, check: true });
    return undefined;
  } catch (error) {
    const failure = asFailure(error);
    if (failure.status !== 422) throw failure;
    return { words: pageWords(failure.message), canInsist: failure.message.includes('--force') };
  }
}

/** Removes the flag of the command line from a refusal; the page has a checkbox instead. */
function pageWords(refusal: string): string {
  return refusal.replace('insist with --force', 'insist');
}

/** Why a command would be refused, and whether an operator may insist. */
interface Refusal {
  readonly words: string;
  readonly canInsist: boolean;
}

function banner(rollout: Rollout, conditions: readonly Condition[], go: Go): VNode {
  const standing = rollout.rollbacks.filter(({ resolved }) => resolved === undefined);
  const sentences = [
    ...standing.map(rollbackSentence),
    ...aloneSentences(rollout),
    ...(rollout.bodyChecks?.fault === undefined
      ? []
      : [
          `A canary or a migration of everything else would be refused now${rollout.replica === undefined ? '' : `, by the requests of ${rollout.replica.name} alone`}: ${pageWords(rollout.bodyChecks.fault)}`,
        ]),
    ...(rollout.isSticky
      ? []
      : ['Client hashes change at each start, so shares are not stable: set GATEWAY_CLIENT_SECRET.']),
    ...(rollout.v1Origin === undefined
      ? ['No V1 service is configured, so V1 requests can only be migrated.']
      : []),
  ];
  const isWarning =
    standing.length > 0 ||
    rollout.bodyChecks?.fault !== undefined ||
    rollout.replica?.aloneSince !== undefined;
  // A failing service must not be shown in green.
  const isFailing = conditions.some(({ about, level }) => level === 'bad' && /^v[12]$/.test(about));
  const heading = modeHeading(rollout);
  return (
    <section
      class={`response ${isWarning || isFailing ? 'no' : heading.isMixed ? 'unknown' : 'yes'}`}
      role={isWarning ? 'alert' : undefined}
    >
      <h3>{standing.length > 0 ? 'Rolled back' : heading.text}</h3>
      {sentences.length > 0 && <SentenceList sentences={sentences} />}
      {standing.map((rollback) => (
        <p key={rollback.at}>
          {causeLink(
            rollback,
            go,
            `Show the exchanges that rolled back ${rollback.operation ?? 'everything else'}`,
          )}
        </p>
      ))}
    </section>
  );
}

/** A link to the exchanges with the failure that rolled a canary back. */
function causeLink(
  { operation = 'everything else', cause }: Pick<CanaryRow, 'operation' | 'cause'>,
  go: Go,
  text = 'Show the exchanges',
): VNode | false {
  if (cause === undefined) return false;
  const filter = causeFilter(cause);
  return (
    <LinkButton
      onClick={toExchanges(go, filter)}
      label={`Show the exchanges that rolled back ${operation} (${filter})`}
    >
      {text}
    </LinkButton>
  );
}

/** The default mode, and the operations and clients with other modes. */
function modeHeading(rollout: Rollout): { readonly text: string; readonly isMixed: boolean } {
  const others = otherModes(rollout).map(({ name, mode }) => `${name}: ${mode.mode}`);
  const text = modeText(rollout.default);
  if (others.length === 0) return { text, isMixed: false };
  return { text: `${text}, except ${listed(others, MAX_OTHERS)}`, isMixed: true };
}

/** The effects of a store that this replica does not reach. */
function aloneSentences({ replica, revision }: Rollout): readonly string[] {
  if (replica?.aloneSince === undefined) return [];
  const { name, aloneSince, aloneReason = '', waiting } = replica;
  return [
    `Alone since ${clockTime(aloneSince)}: ${name} does not reach the store (${aloneReason}). Revision ${revision} applies, and the counts are those of this replica.`,
    ...(waiting === 0
      ? []
      : [`${counted(waiting, 'choice')} made here ${waiting === 1 ? 'waits' : 'wait'} for the store.`]),
  ];
}

function rollbackSentence(rollback: RollbackView): string {
  const { operation, share, at, by, cause } = rollback;
  const stage = operation === undefined ? 'The canary' : `The canary of ${operation}`;
  return `${stage} of ${share} % went back to observe ${ago(at)}${by === undefined ? '' : `, by ${by}`}: ${reasonSentence(rollback, cause?.name)} It stays until you choose a mode, here or with the command rollout.`;
}

/** Actions of the table of modes. */
interface ModeActions {
  readonly go: Go;
  readonly methodOf: (operation: string) => string | undefined;
  readonly check: (request: RolloutRequest) => void;
}

function modesCard(rollout: Rollout, { go, methodOf, check }: ModeActions): VNode {
  const { requests, replica, rateLimit } = rollout;
  const limit = rateLimit === undefined ? '' : `. ${rateLimitSentence(rateLimit)}`;
  const since = replica === undefined ? 'since the start' : `by ${replica.name} since its start:`;
  return (
    <Card
      heading="Modes"
      note={`${since} ${counted(requests.v2, 'V1 request')} sent to V2, ${count(requests.v1)} to V1${limit}`}
    >
      {table<ModeRow>(
        [
          {
            name: 'For',
            kind: 'head',
            cell: ({ name, filter }) =>
              filter === undefined ? name : <LinkButton onClick={toExchanges(go, filter)}>{name}</LinkButton>,
          },
          { name: 'Mode', cell: ({ mode }) => sentence(modeText(mode)) },
          { name: 'Chosen by', cell: ({ mode }) => SOURCES[mode.from] },
          ...(rollout.v1Origin === undefined
            ? []
            : [
                {
                  name: 'Back and forward',
                  cell: (row: ModeRow) =>
                    stepsOf(row, methodOf).map(({ words, request }) => (
                      <Button
                        key={words}
                        class="button step"
                        aria-label={`${words} for ${row.name}`}
                        onClick={() => check({ ...request, ...row.target })}
                      >
                        {words}
                      </Button>
                    )),
                },
              ]),
        ],
        [
          { name: 'everything else', mode: rollout.default, target: {} },
          ...Object.entries(rollout.operations).map(([id, mode]) => ({
            name: id,
            mode,
            target: { operation: id },
            filter: `op:${id}`,
          })),
          ...Object.entries(rollout.clients).map(([hash, mode]) => ({
            name: mode.name ?? hash,
            mode,
            target: { client: hash },
            filter: `client:${hash}`,
          })),
        ],
        ({ name }) => name,
      )}
    </Card>
  );
}

interface ModeRow {
  readonly name: string;
  readonly mode: ModeView;
  readonly target: Pick<RolloutRequest, 'operation' | 'client'>;
  /** A filter for the exchanges that it applies to. */
  readonly filter?: string;
}

/** Shares of the successive steps of a canary, in percent. */
const SHARES = [5, 25, 50];

/**
 * The steps that a row offers: back to V1's responses at once, and forward by a comparison of reads and by growing shares of the
 * clients. Each is checked before it is carried out.
 */
function stepsOf(
  { mode: { mode, share = 0 }, target: { operation, client } }: ModeRow,
  methodOf: ModeActions['methodOf'],
): readonly { readonly words: string; readonly request: RolloutRequest }[] {
  const back =
    mode === 'observe' ? [] : [{ words: '← Observe', request: { mode: 'observe' } satisfies RolloutRequest }];
  if (mode === 'migrate') return back;
  if (mode === 'verify') return [...back, { words: 'Migrate →', request: { mode: 'migrate' } }];
  const isCompared = operation === undefined || methodOf(operation) === 'GET';
  if (mode === 'observe' && isCompared && client === undefined)
    return [{ words: 'Shadow →', request: { mode: 'shadow' } }];
  const next = client === undefined ? SHARES.find((one) => one > share) : undefined;
  return next === undefined
    ? [...back, { words: 'Migrate →', request: { mode: 'migrate' } }]
    : [...back, { words: `Canary ${next} % →`, request: { mode: 'canary', share: next } }];
}

function modeText({ mode, share }: ModeView): string {
  if (mode === 'verify') return `Verify: V2 responds, ${share ?? 0} % of the reads are compared with V1`;
  return share === undefined ? MODES[mode] : `${MODES[mode]}: ${share} % of the clients are migrated`;
}

/** The changes by operators, roll-backs and reloads of the rule book, with times and reasons. */
function changesCard({ changes = [] }: Rollout): VNode | false {
  if (changes.length === 0) return false;
  return (
    <Card heading="Changes" note="newest first; rule books since the start of this gateway">
      {table<ChangeRecord>(
        [
          {
            name: 'When',
            kind: 'head',
            cell: ({ at }) => (
              <time dateTime={at} title={at}>
                {dayTime(at)}
              </time>
            ),
          },
          { name: 'What', cell: ({ what }) => visibleText(what) },
          {
            name: 'Who',
            cell: ({ kind, who, by }) =>
              visibleText(
                (who ?? (kind === 'command' ? 'not named' : 'the gateway')) +
                  (by === undefined ? '' : `, at ${by}`),
              ),
          },
          { name: 'Why', cell: ({ why }) => visibleText(why ?? '–') },
        ],
        changes,
        ({ at, what }) => `${at} ${what}`,
        true,
      )}
    </Card>
  );
}

function canariesCard({ canaries, rollbacks, rollback }: Rollout, go: Go): VNode | false {
  if (canaries.length === 0 && rollbacks.length === 0) return false;
  const rule = ruleWords(rollback);
  return (
    <Card heading="Canaries" note={rule}>
      {table<CanaryRow>(
        [
          { name: 'Stage', kind: 'head', cell: ({ operation }) => operation ?? 'everything else' },
          { name: 'Migrated', cell: ({ migrated }) => countText(migrated) },
          { name: 'V1', cell: ({ v1 }) => countText(v1) },
          { name: 'State', cell: (row) => [row.state, ' ', causeLink(row, go)] },
        ],
        [
          ...canaries.map((canary) => ({
            ...canary,
            key: `now ${canary.operation ?? ''}`,
            state: canaryState(canary),
          })),
          ...rollbacks.map((one) => ({
            ...one,
            key: one.at,
            state: `rolled back ${ago(one.at)}${one.resolved === undefined ? '' : ', resolved'}`,
          })),
        ],
        ({ key }) => key,
      )}
    </Card>
  );
}

function canaryState({ migrated, evidence }: Rollout['canaries'][number]): string {
  if (evidence === undefined || evidence.migrated === 0)
    return migrated.requests === 0 ? 'nothing to watch: no request was migrated yet' : 'on watch';
  return `on watch. ${evidenceSentence(evidence)} ${latencySentence(evidence)}`;
}

interface CanaryRow {
  readonly key: string;
  readonly operation?: string | undefined;
  readonly migrated: OriginCount;
  readonly v1: OriginCount;
  readonly state: string;
  readonly cause?: RollbackView['cause'] | undefined;
}

/** Names the replica of the counts; Retirement has the sums of all. */
function ofReplica(replica: Rollout['replica']): string {
  return replica === undefined ? '' : `of ${replica.name} alone, `;
}

function shadowsCard({ shadows, replica }: Rollout): VNode | false {
  if (shadows.length === 0) return false;
  return (
    <Card heading="Reads sent to both services" note={`${ofReplica(replica)}since the start, without noise`}>
      {table<Rollout['shadows'][number]>(
        [
          { name: 'Operation', kind: 'head', cell: ({ operation }) => operation ?? '(other)' },
          { name: 'Response of', cell: ({ verified }) => (verified === true ? 'V2: verify' : 'V1: shadow') },
          { name: 'Same', kind: 'number', cell: ({ same }) => count(same) },
          { name: 'Different', kind: 'number', cell: ({ different }) => count(different) },
          { name: 'Unknown', kind: 'number', cell: ({ unknown }) => count(unknown) },
          { name: 'Fields that differ', cell: ({ fields }) => differingFields(fields) },
        ],
        shadows,
        ({ operation, verified }) => `${verified === true ? 'verify' : ''} ${operation ?? '(other)'}`,
      )}
    </Card>
  );
}

function differingFields(fields: Rollout['shadows'][number]['fields']): ComponentChildren {
  return [
    fields.slice(0, MAX_FIELDS).map(({ path, kind, count: times }) => (
      <div key={`${kind} ${path}`}>
        <code>{path}</code>
        {` ${kind}, ${count(times)}×`}
      </div>
    )),
    fields.length > MAX_FIELDS && (
      <div>{`and ${counted(fields.length - MAX_FIELDS, 'more field')}, not listed`}</div>
    ),
  ];
}

function bodyChecksCard({ bodyChecks, v1Origin, replica }: Rollout, go: Go): VNode | false {
  if (v1Origin === undefined) return false;
  const title = 'Dry runs: bodies for V2, checked against its schema and not sent';
  if (bodyChecks === undefined)
    return (
      <Card heading={title}>
        <p>None: GATEWAY_V2_OPENAPI is not set.</p>
      </Card>
    );
  const { counts, clients = [], omitted, warnings = [] } = bodyChecks;
  const warned = warnings.map((text) => (
    <p key={text}>
      <strong>{'Warning: '}</strong>
      {visibleText(text)}
    </p>
  ));
  if (counts.length === 0)
    return (
      <Card heading={title}>
        {warned}
        <p>None yet under this rule book.</p>
      </Card>
    );
  return (
    <Card heading={title} note={`${ofReplica(replica)}since the start or the last change of the rule book`}>
      {warned}
      <p class="lead">
        {`${CHECKED_WORDS}${replica === undefined ? '' : ' Retirement has the sums of all replicas.'}`}
      </p>
      {clients.length > 0 && (
        <SentenceList
          sentences={clients.flatMap(({ client = '(no key)', name = client, ...sum }) =>
            sum.judged === 0 ? [] : [`${name}, all operations: ${wouldFailWords(sum)}.`],
          )}
        />
      )}
      {table<BodyCheckRow>(
        [
          {
            name: 'Client',
            kind: 'head',
            cell: ({ client, name = client, operation }) => {
              const filter = `client:${client ?? '-'}${operation === undefined ? '' : ` op:${operation}`}`;
              const shown = name ?? '(no key)';
              return (
                <LinkButton
                  onClick={toExchanges(go, filter)}
                  label={`Show the exchanges of ${shown} (${filter})`}
                >
                  {shown}
                </LinkButton>
              );
            },
          },
          { name: 'Operation', cell: ({ operation }) => operation ?? '(other)' },
          {
            name: 'After the migration',
            cell: (row: BodyCheckRow) => wouldFailWords(wouldFail([row])) || 'not known',
          },
          ...COUNTERS.map(([name, counter]) => ({
            name,
            kind: 'number' as const,
            cell: (row: BodyCheckRow) => count(row[counter]),
          })),
          { name: 'First fault', cell: firstFaults },
        ],
        counts,
        ({ client, operation }) => `${client ?? ''} ${operation ?? '(other)'}`,
        true,
      )}
      {omitted > 0 && <p>{`${counted(omitted, 'more pair')} of client and operation, not listed.`}</p>}
    </Card>
  );
}

type BodyCheckRow = NonNullable<Rollout['bodyChecks']>['counts'][number];

function firstFaults({ pointers, refusals }: BodyCheckRow): ComponentChildren {
  return [...pointers, ...refusals.map(({ reason, count: times }) => ({ at: reason, count: times }))]
    .slice(0, MAX_POINTERS)
    .map(({ at, count: times }) => (
      <div key={at}>
        <code>{visibleText(at || '(the body)')}</code>
        {` ${count(times)}×`}
      </div>
    ));
}

function countText({ requests, failures }: OriginCount): string {
  return requests === 0 ? 'no request lately' : `${count(failures)} of ${count(requests)} failed`;
}

function table<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  keyOf: (row: Row) => string,
  isWide = false,
): VNode {
  return (
    <ScrollTable
      label={columns.map(({ name }) => name).join(', ')}
      columns={columns}
      rows={rows}
      keyOf={keyOf}
      isWide={isWide}
    />
  );
}

/** Properties of the form. */
interface RolloutFormProps {
  readonly rollout: Rollout;
  /** The operations of the rule book. */
  readonly operations: RulesView['operations'];
  readonly check: (request: RolloutRequest) => void;
}

/** Chooses a mode for V1 traffic; a preview of its effect comes before it is carried out. */
function RolloutForm({ rollout, operations, check }: RolloutFormProps): VNode {
  const hasV1 = rollout.v1Origin !== undefined;
  const [mode, setMode] = useState<string>(hasV1 ? 'observe' : 'migrate');
  const [share, setShare] = useState('5');
  const [target, setTarget] = useState('');
  const [client, setClient] = useState('');
  return (
    <Card heading="Change a mode" note="nothing changes before you confirm it">
      <Form class="rollout-form" onSubmit={() => check(commandOf(mode, share, target, client))}>
        {select('rollout-target', 'For', target, setTarget, [
          ['', 'everything else'],
          ...operations.map(({ id }) => [id, id] as const),
          [CLIENT, 'one client'],
        ])}
        {target === CLIENT && input('rollout-client', 'Client, by name or hash', client, setClient, {})}
        {select(
          'rollout-mode',
          'Mode',
          mode,
          setMode,
          FORM_MODES.filter(([name]) => hasV1 || name === 'migrate' || name === ''),
        )}
        {(mode === 'canary' || mode === 'verify') &&
          input(
            'rollout-share',
            `Share of the ${mode === 'canary' ? 'clients' : 'reads'}, in percent`,
            share,
            setShare,
            {
              inputMode: 'decimal',
              pattern: '(?!0+(\\.0*)?$)(100(\\.0+)?|\\d{1,2}(\\.\\d+)?)',
              fault: shareFault(share),
            },
          )}
        <button type="submit" class="button primary">
          Check the change
        </button>
      </Form>
    </Card>
  );
}

/** The fault of a share, shown at its field; the browser does not submit the form until it is corrected. */
function shareFault(share: string): string | undefined {
  const value = share.trim() === '' ? 1 : Number(share);
  return value > 0 && value <= 100
    ? undefined
    : `The share must be above 0 and at most 100 %, not ${share.trim()}.`;
}

function commandOf(mode: string, share: string, target: string, client: string): RolloutRequest {
  const named = FORM_MODES.find(([name]) => name === mode)?.[0] ?? '';
  return {
    ...(named === '' ? {} : { mode: named }),
    ...(named === 'canary' || named === 'verify' ? { share: Number(share) } : {}),
    ...(target === CLIENT ? { client: client.trim() } : target === '' ? {} : { operation: target }),
  };
}

function select(
  id: string,
  label: string,
  value: string,
  onChange: (value: string) => void,
  options: readonly (readonly [value: string, text: string])[],
): VNode {
  return field(
    id,
    label,
    <select id={id} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
      {options.map(([name, text]) => (
        <option key={name} value={name} selected={name === value}>
          {text}
        </option>
      ))}
    </select>,
  );
}

function input(
  id: string,
  label: string,
  value: string,
  onInput: (value: string) => void,
  {
    fault,
    ...limits
  }: {
    readonly inputMode?: 'decimal';
    readonly pattern?: string;
    readonly required?: false;
    readonly maxLength?: number;
    readonly fault?: string | undefined;
  },
): VNode {
  return field(
    id,
    label,
    fault !== undefined && (
      <p class="fault" id={`${id}-fault`} role="alert">
        {visibleText(fault)}
      </p>
    ),
    <input
      id={id}
      type="text"
      required
      maxLength={100}
      autocomplete="off"
      spellcheck={false}
      value={value}
      aria-invalid={fault !== undefined}
      aria-describedby={fault === undefined ? undefined : `${id}-fault`}
      onInput={({ currentTarget }) => onInput(currentTarget.value)}
      {...limits}
    />,
  );
}

function field(id: string, label: string, ...controls: (VNode | false)[]): VNode {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {controls.reverse()}
    </div>
  );
}

/** A command with its effect, as computed from one state of the rollout. */
interface CheckedCommand {
  readonly request: RolloutRequest;
  readonly effect: RolloutEffect;
  readonly refusal: Refusal | undefined;
  readonly revision: number;
}

/** Properties of the confirmation. */
interface RolloutDialogProps {
  readonly checked: CheckedCommand;
  readonly onCancel: () => void;
  /** Carries the command out; rejects with the reason when nothing was changed. */
  readonly carryOut: (checked: CheckedCommand, said: Said) => Promise<void>;
}

/** An operator's additions to a command. */
type Said = Pick<RolloutRequest, 'force' | 'who' | 'why'>;

/** The key under which the browser saves the operator's name. */
const WHO_KEY = 'capture-gateway.operator';

/** Shows the effect of a command, and carries it out when the operator confirms it. */
function RolloutDialog({ checked, onCancel, carryOut }: RolloutDialogProps): VNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const [fault, attempt] = useAttempt();
  const [isForced, setIsForced] = useState(false);
  const [who, setWho] = useState(() => keptValue(WHO_KEY) ?? '');
  const [why, setWhy] = useState('');
  const [isBusy, setIsBusy] = useState(false);
  useEffect(() => {
    const { current } = dialog;
    current?.showModal();
    // Closing a dialog before its removal returns the focus to its opener.
    return () => {
      current?.close();
      if (document.activeElement === document.body) document.getElementById('main')?.focus();
    };
  }, []);
  const { title, sentences, warnings } = checked.effect;
  const { refusal } = checked;
  const confirm = async (): Promise<void> => {
    setIsBusy(true);
    keepValue(WHO_KEY, who);
    if (!(await attempt(() => carryOut(checked, { who, why, ...(isForced ? { force: true } : {}) }))))
      setIsBusy(false);
  };
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="rollout-confirmation" onClose={onCancel}>
      <h2 id="rollout-confirmation">{sentence(`${title}?`)}</h2>
      {warnings.map((text) => (
        <p key={text} class="fault" role="alert">
          <strong>{'Before you confirm: '}</strong>
          {visibleText(text)}
        </p>
      ))}
      <SentenceList sentences={sentences} />
      {[refusal?.words ?? '', fault]
        .filter((words) => words !== '')
        .map((words) => (
          <p key={words} class="fault" role="alert">
            {visibleText(words)}
          </p>
        ))}
      <div class="rollout-form">
        {input('rollout-who', 'Your name, for the list of changes', who, setWho, {
          required: false,
          maxLength: 80,
        })}
        {input('rollout-why', 'Why', why, setWhy, { required: false, maxLength: 200 })}
      </div>
      {refusal?.canInsist === true && (
        <Checkbox label="Insist: carry it out anyway" checked={isForced} onChange={setIsForced} />
      )}
      <div class="actions">
        <Button onClick={onCancel}>Cancel</Button>
        <Button
          class="button primary"
          disabled={isBusy || (refusal !== undefined && !isForced)}
          onClick={() => void confirm()}
        >
          {visibleText(title)}
        </Button>
      </div>
    </dialog>
  );
}
