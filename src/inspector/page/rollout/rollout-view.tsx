import type { ComponentChildren, VNode } from 'preact';
import { capital } from '../../../report/text.ts';
import {
  CHECKED_WORDS,
  faultPlaces,
  omittedWords,
  wouldFail,
  wouldFailWords,
} from '../../../rollout/body-checks.ts';
import { ownMode } from '../../../rollout/modes-in-force.ts';
import type {
  ChangeRecord,
  ModeView,
  RollbackView,
  RolloutRequest,
  RolloutView as Rollout,
} from '../../../rollout/rollout-tally.ts';
import { reasonSentence } from '../../../rollout/rollout-state.ts';
import type { RolloutScreen, RulesView } from '../../api.ts';
import { hasEnded, isAtEnd } from '../../end-of-v1.ts';
import {
  defaultTarget,
  type DryRuns,
  hasV1Mode,
  otherModes,
  rateLimitSentence,
  stageHeading,
} from '../../rollout-effect.ts';
import type { Asked } from '../admin-client.ts';
import { ago, count, counted, shortTime } from '../format.ts';
import { type Go, toExchanges } from '../page-state.ts';
import {
  Button,
  Card,
  type Column,
  Folded,
  LinkButton,
  Loading,
  type PageTools,
  ScrollTable,
  sentence,
  SentenceList,
  ShortTime,
  visibleText,
} from '../parts.tsx';
import { causeLink, canariesCard } from './canaries.tsx';
import { Rail, type Stage } from './rail.tsx';
import { methodIn, operationsOf, type RolloutCommands, RolloutForm, WHICH_CLIENTS } from './rollout-form.tsx';

interface RolloutViewProps extends Pick<PageTools, 'go'> {
  readonly commands: RolloutCommands;
  readonly rules: RulesView | undefined;
  readonly asked: Asked<RolloutScreen>;
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

/** Maximum pointers listed for a client and operation. */
const MAX_POINTERS = 5;

const COUNTERS = [
  ['Refused, V1 accepted', 'invalid'],
  ['Refused by V1 as well', 'refusedByBoth'],
  ['Accepted', 'valid'],
  ['Not known', 'unknown'],
  ['Refused by the gateway, V1 accepted', 'refused'],
] as const;

/** The modes of V1 traffic, the state of the canary, the results of shadowing, and the notices to V1 clients. */
export function RolloutView({ go, rules, asked, commands }: RolloutViewProps): VNode {
  const { response, failure } = asked;
  const { check } = commands;
  if (response === undefined) return <Loading failure={failure} subject="the rollout" />;
  const operations = operationsOf(rules);
  const choose = (stage: Stage): void => {
    const { mode, share = 0 } = response.default;
    const next = mode === 'canary' ? SHARES.find((one) => one > share) : undefined;
    if (stage === 'end') return;
    check(stage === 'canary' ? { mode: stage, share: next ?? SHARES[0] } : { mode: stage });
  };
  return (
    <div class="view rollout">
      <h2>Rollout</h2>
      {banner(response, choose, { go, methodOf: methodIn(operations), check })}
      {exceptionsCard(response, { go, methodOf: methodIn(operations), check })}
      {!isAtEnd(response, Date.now()) && canariesCard(response, go)}
      <RolloutForm rollout={response} operations={operations} check={check} />
      {changesCard(response)}
      {shadowsCard(response)}
      {bodyChecksCard(response, rules, go)}
    </div>
  );
}

/** The colour of the edge, by the level of the verdict. */
const LOOKS = { bad: 'no', note: 'work', unknown: 'unknown', good: 'yes' } as const;

function banner(rollout: RolloutScreen, choose: (stage: Stage) => void, actions: ModeActions): VNode {
  const { conditions } = rollout.state;
  const standing = rollout.rollbacks.filter(({ resolved }) => resolved === undefined);
  const fault = rollout.bodyChecks?.fault;
  const against =
    fault === undefined
      ? undefined
      : `A migration of ${defaultTarget(rollout)}, and a canary that moves these clients, would be refused now${rollout.replica === undefined ? '' : `, by the requests of ${rollout.replica.name} alone`}: ${fault}`;
  // The banner above the view has it.
  const worst = conditions.find(({ about, level }) => level === 'bad' && about !== 'roll-back');
  const sentences = [
    ...aloneSentences(rollout),
    // After a roll-back, an operator goes forward again once V2 responds.
    ...conditions
      .filter((one) => one.about === 'v2' && one.isRepeated !== true && one !== worst)
      .map((one) => one.sentence),
    ...(against === undefined ? [] : [against]),
    ...(rollout.isSticky
      ? []
      : ['Client hashes change at each start, so shares are not stable: set GATEWAY_CLIENT_SECRET.']),
    ...(rollout.v1Origin === undefined
      ? ['No V1 service is configured, so V1 requests can only be migrated.']
      : []),
    ...(rollout.rateLimit === undefined ? [] : [rateLimitSentence(rollout.rateLimit)]),
  ];
  const isWarning = standing.length > 0 || fault !== undefined || rollout.replica?.aloneSince !== undefined;
  const isEnded = isAtEnd(rollout, Date.now());
  const { except } = rollout.gone ?? {};
  // The edge has the colour of the verdict: a mode must not be shown in green while requests fail.
  const level = LOOKS[rollout.state.verdict.level];
  const isMixed = !isEnded && otherModes(rollout).length > 0;
  const look = level === 'yes' ? (isWarning ? 'work' : isMixed ? 'unknown' : level) : level;
  return (
    <section class={`response ${look}`} role={isWarning ? 'alert' : undefined}>
      <div class="title">
        <h3>
          {isEnded
            ? `V1 has ended: its requests get 410${except === undefined ? '' : `, except those of ${except.join(', ')}`}`
            : stageHeading(rollout, modeText(rollout.default))}
        </h3>
        {!isEnded && <small>{`chosen by ${SOURCES[rollout.default.from]}`}</small>}
        <p class="actions">
          {stepButtons({ name: defaultTarget(rollout), mode: rollout.default, target: {} }, rollout, actions)}
        </p>
      </div>
      <Rail rollout={rollout} onChoose={choose} state={rollout.state} />
      {standing.map((rollback) => (
        <p key={rollback.at}>
          {sentence(rollbackSentence(rollback))} {causeLink(rollback, actions.go)}
        </p>
      ))}
      {sentences.length > 0 && (
        <SentenceList
          sentences={sentences}
          shown={(text) => (text === against ? <Folded text={text} rest={WHICH_CLIENTS} /> : sentence(text))}
        />
      )}
    </section>
  );
}

/** The effects of a store that this replica does not reach. */
function aloneSentences({ replica, revision }: Rollout): readonly string[] {
  if (replica?.aloneSince === undefined) return [];
  const { name, aloneSince, aloneReason = '', waiting } = replica;
  return [
    `Alone since ${aloneSince}: ${name} does not reach the store (${aloneReason}). Revision ${revision} applies, and the counts are those of this replica.`,
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

/** The operations and clients with their own mode. */
function exceptionsCard(rollout: Rollout, actions: ModeActions): VNode | false {
  const rows: readonly ModeRow[] = [
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
  ];
  if (rows.length === 0) return false;
  return (
    <Card
      heading="Operations and clients with their own mode"
      note={hasEnded(rollout, Date.now()) ? 'without effect, since V1 has ended' : undefined}
    >
      {table<ModeRow>(
        [
          {
            name: 'For',
            kind: 'head',
            cell: ({ name, filter = '' }) => (
              <LinkButton onClick={toExchanges(actions.go, filter)}>{name}</LinkButton>
            ),
          },
          { name: 'Mode', cell: ({ mode }) => sentence(modeText(mode)) },
          { name: 'Chosen by', cell: ({ mode }) => SOURCES[mode.from] },
          ...(rollout.v1Origin === undefined
            ? []
            : [
                {
                  name: 'Back and forward',
                  cell: (row: ModeRow) => <span class="steps">{stepButtons(row, rollout, actions)}</span>,
                },
              ]),
        ],
        rows,
        ({ name }) => name,
      )}
    </Card>
  );
}

/** The steps that a row offers, as buttons; none if only migrating is possible. */
function stepButtons(row: ModeRow, rollout: Rollout, { methodOf, check }: ModeActions): VNode[] {
  if (rollout.v1Origin === undefined || isAtEnd(rollout, Date.now())) return [];
  // A choice stays until it is cleared, also once the fault is mended that it was made for.
  const isChosen = Object.keys(row.target).length > 0 && row.mode.from !== 'rule-book';
  const back = returnStep(row, rollout);
  const isClear = back !== undefined && back.request.mode === undefined;
  const steps = [
    ...stepsOf(row, methodOf),
    ...(back === undefined ? [] : [back]),
    ...(isChosen && !isClear ? [{ words: 'Clear', request: {} }] : []),
  ];
  return steps.map(({ words, request }) => (
    <Button
      key={words}
      class="button step"
      aria-label={`${words} for ${row.name}`}
      onClick={() => check({ ...request, ...row.target })}
    >
      {words}
    </Button>
  ));
}

/** Returns to the mode that an operation had before it went to V1: clears its own mode, if that leads there. */
function returnStep(
  { mode: { had }, target: { operation } }: ModeRow,
  { default: other, ruleBook }: Rollout,
): Step | undefined {
  if (had === undefined || operation === undefined) return undefined;
  const { mode, share } = ownMode(ruleBook.operations, operation) ?? other;
  const isCleared = mode === had.mode && share === had.share;
  const words = `Back to ${had.mode}${had.share === undefined ? '' : ` ${had.share} %`}`;
  return { words, request: isCleared ? {} : had };
}

/** A button for a command. */
interface Step {
  readonly words: string;
  readonly request: RolloutRequest;
}

interface ModeRow {
  readonly name: string;
  readonly mode: ModeView;
  readonly target: Pick<RolloutRequest, 'operation' | 'client'>;
  /** A filter for the exchanges that it applies to. */
  readonly filter?: string;
}

/** Shares of the successive steps of a canary, in percent. */
const SHARES = [5, 25, 50] as const;

/**
 * The steps that a row offers: back to V1's responses at once, and forward by a comparison of reads and by growing shares of the
 * clients. Each is checked before it is carried out.
 */
function stepsOf(
  { mode: { mode, share = 0 }, target: { operation, client } }: ModeRow,
  methodOf: ModeActions['methodOf'],
): readonly Step[] {
  const back: readonly Step[] =
    mode === 'observe' ? [] : [{ words: '← Observe', request: { mode: 'observe' } }];
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
            cell: ({ at }) => <ShortTime at={at} />,
          },
          { name: 'What', cell: ({ what }) => sentence(what) },
          {
            name: 'Who',
            cell: ({ kind, who, by }) =>
              visibleText(
                (who ?? (kind === 'command' ? 'not named' : 'the gateway')) +
                  (by === undefined ? '' : `, at ${by}`),
              ),
          },
          { name: 'Why', cell: ({ why = '–' }) => sentence(why) },
        ],
        changes,
        ({ at, what }) => `${at} ${what}`,
        true,
      )}
    </Card>
  );
}

/** Names the replica of the counts; the view Clients has the sums of all. */
function ofReplica(replica: Rollout['replica']): string {
  return replica === undefined ? '' : `of ${replica.name} alone, `;
}

type Shadow = Rollout['shadows'][number];

function shadowsCard({ shadows, replica, state }: RolloutScreen): VNode | false {
  if (shadows.length === 0) return false;
  return (
    <Card
      heading="Reads sent to both services"
      note={`${ofReplica(replica)}since the start (${shortTime(state.startedAt)}), by all rule books; differences between V1’s own responses are left out`}
    >
      {table<Shadow>(
        [
          { name: 'Operation', kind: 'head', cell: ({ operation }) => operation ?? '(other)' },
          ...(shadows.some(({ verified }) => verified === true)
            ? [
                {
                  name: 'Response of',
                  cell: ({ verified }: Shadow) => (verified === true ? 'V2: verify' : 'V1: shadow'),
                },
              ]
            : []),
          { name: 'Same', kind: 'number', cell: ({ same }) => count(same) },
          { name: 'Different', kind: 'number', cell: ({ different }) => count(different) },
          { name: 'Unknown', kind: 'number', cell: ({ unknown }) => count(unknown) },
          { name: 'Fields that differ', cell: ({ fields }) => differingFields(fields) },
        ],
        shadows.toSorted((one, other) => other.different - one.different),
        ({ operation, verified }) => `${verified === true ? 'verify' : ''} ${operation ?? '(other)'}`,
      )}
    </Card>
  );
}

function differingFields(fields: Rollout['shadows'][number]['fields']): ComponentChildren {
  if (fields.length === 0) return '–';
  return [
    fields.slice(0, MAX_FIELDS).map(({ path, kind, count: times, change }) => (
      <div key={`${kind} ${path}`}>
        <code>{path}</code>
        {` ${kind}, ${count(times)}×${change === undefined ? '' : `: ${change} removes it`}`}
      </div>
    )),
    fields.length > MAX_FIELDS && (
      <div>{`and ${counted(fields.length - MAX_FIELDS, 'more field')}, not listed`}</div>
    ),
  ];
}

/** What a migration would meet; nothing where all is migrated, whose requests are not tried any more. */
function bodyChecksCard(rollout: Rollout, rules: RulesView | undefined, go: Go): VNode | false {
  const { bodyChecks, replica } = rollout;
  if (!hasV1Mode(rollout, Date.now())) return false;
  const title = 'Dry runs: bodies checked against V2’s schema, and reads compared in shadow';
  if (bodyChecks === undefined)
    return (
      <Card heading={title}>
        <p>None: GATEWAY_V2_OPENAPI is not set.</p>
      </Card>
    );
  const { counts, omitted, past, warnings = [] } = bodyChecks;
  // Those that would fail come first, and need a row; the others are one sentence.
  const failing = counts.filter((row) => wouldFail([row]).failing > 0);
  const well = counts.filter(
    (row) => wouldFail([row]).failing === 0 && COUNTERS.some(([, counter]) => row[counter] > 0),
  );
  const warned = warnings.map((text) => (
    <p key={text}>
      <strong>{'Warning: '}</strong>
      {sentence(text)}
    </p>
  ));
  if (counts.length === 0)
    return (
      <Card heading={title}>
        {warned}
        <p>{past === 0 ? 'None yet under this rule book.' : 'None of what V1 still responds to.'}</p>
      </Card>
    );
  const book = rules === undefined ? '' : ` ${rules.hash}, since ${shortTime(rules.loadedAt)}`;
  return (
    <Card heading={title} note={`${ofReplica(replica)}by the rule book in force${book}`}>
      {warned}
      <p class="lead">
        {omitted === 0 && `${capital(wouldFailWords(wouldFail(counts)))}. `}
        {`${CHECKED_WORDS} The view Clients has the sum of each client.`}
      </p>
      {failing.length > 0 &&
        table<DryRuns>(
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
              name: 'Checked',
              cellClass: 'words',
              cell: (row: DryRuns) => wouldFailWords(wouldFail([row])) || 'not known',
            },
            ...COUNTERS.map(([name, counter]) => ({
              name,
              kind: 'number' as const,
              cell: (row: DryRuns) => count(row[counter]),
            })),
            { name: 'First fault', cell: firstFaults },
          ],
          failing,
          ({ client, operation }) => `${client ?? ''} ${operation ?? '(other)'}`,
          true,
        )}
      {failing.length > 0 && well.length > 0 && (
        <p>
          {`${counted(well.length, 'other pair')} of client and operation: ${wouldFailWords(wouldFail(well)) || 'not known'}.`}
        </p>
      )}
      {omitted > 0 && <p>{`${omittedWords(counts, omitted)}.`}</p>}
    </Card>
  );
}

function firstFaults(row: DryRuns): ComponentChildren {
  return faultPlaces([row])
    .slice(0, MAX_POINTERS)
    .map(({ place, count: times }) => (
      <div key={place}>
        <code>{visibleText(place)}</code>
        {` ${count(times)}×`}
      </div>
    ));
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
