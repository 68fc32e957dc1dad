import { Fragment, type VNode } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import type { PlanPart } from '../../../report/plan/plan-text.ts';
import { Zone } from '../../../report/plan/zone.ts';
import type { EndPlan, PlanLines } from '../../api.ts';
import { SMALL_LOG } from '../../operator-view.ts';
import { type Asked, useAsked } from '../admin-client.ts';
import {
  type Announce,
  Card,
  CopyButton,
  Fact,
  Fault,
  Loading,
  type PageTools,
  ScrollTable,
  sentence,
  SentenceList,
} from '../parts.tsx';

const REFRESH = 10_000;

/** Characters of a text that a cell does not break. */
const SHORT = 26;

/** Long, because a plan is made from a whole log, perhaps of weeks. */
const PLAN_REFRESH = 600_000;

/** The operator's time zone, and all zones, the likely ones first. */
const { zone: ZONE, isKnown: IS_ZONE_KNOWN } = Zone.own();
const ZONES: readonly string[] = [...new Set([ZONE.name, 'UTC', ...Intl.supportedValuesOf('timeZone')])];

/** Parts of a plan that the view shows elsewhere: dates on the timeline, clients in their table. */
const ELSEWHERE: ReadonlySet<string> = new Set(['Clients', "Endings before V1's"]);

/** A part that explains the others, and is long. */
const FOLDED: ReadonlySet<string> = new Set(['Hours of the week']);

/** A reader's choices for a plan; empty for those of the rule book, or the defaults. */
interface PlanChoices {
  readonly zone: string;
  readonly lead: string;
  readonly avoid: string;
}

const NO_CHOICES: PlanChoices = { zone: '', lead: '', avoid: '' };

/** A plan for the end of V1, proposed from the log, with the reader's choices. */
export interface AskedPlan {
  readonly asked: Asked<EndPlan>;
  /** The query that asks for it; the timeline asks for the same dates. */
  readonly query: string;
  readonly choices: PlanChoices;
  readonly choose: (choices: PlanChoices) => void;
}

/** Asks for the plan, in the zone of the rule book, or else the browser's, until the reader chooses one. */
export function usePlan(): AskedPlan {
  const [isSoon, setIsSoon] = useState(false);
  const [choices, choose] = useState(NO_CHOICES);
  const { zone, lead, avoid } = choices;
  const query = new URLSearchParams({
    ...(zone === '' ? { own: ZONE.name } : { zone }),
    ...(lead === '' ? {} : { lead }),
    ...(avoid === '' ? {} : { avoid }),
  }).toString();
  const asked = useAsked<EndPlan>(`plan?${query}`, isSoon ? REFRESH : PLAN_REFRESH);
  const { response, failure } = asked;
  const isRefused = failure?.status === 400;
  const isNextSoon = !isRefused && (failure !== undefined || (response?.exchanges ?? SMALL_LOG) < SMALL_LOG);
  useEffect(() => setIsSoon(isNextSoon), [isNextSoon]);
  return { asked, query, choices, choose };
}

/** The lead time, the days to avoid and the zone; a plan is made once a field is left, or with Enter. */
function planFields({ asked: { response }, choices, choose }: AskedPlan): VNode {
  const { lead, avoid, zone } = choices;
  return (
    <div class="plan-fields">
      <ChoiceField
        label="Days from deprecation to sunset"
        inputMode="numeric"
        chosen={lead === '' ? String(response?.leadDays ?? '') : lead}
        choose={(text) => choose({ ...choices, lead: text })}
      />
      <ChoiceField
        label="Days without a brownout"
        inputMode="text"
        placeholder="2026-12-24..2027-01-02, Friday"
        chosen={avoid}
        choose={(text) => choose({ ...choices, avoid: text })}
      />
      <ChoiceField
        label="Time zone of the plan"
        inputMode="text"
        placeholder={response?.zone ?? ZONE.name}
        values={ZONES}
        chosen={zone}
        choose={(name) => choose({ ...choices, zone: name })}
      />
    </div>
  );
}

/** Properties of a field: `choose` is called with what was typed once the field is left, or with Enter. */
interface ChoiceFieldProps {
  readonly label: string;
  readonly inputMode: 'numeric' | 'text';
  readonly placeholder?: string;
  /** Values to choose from, by typing a part of one. */
  readonly values?: readonly string[];
  readonly chosen: string;
  readonly choose: (text: string) => void;
}

/** A field that keeps what is being typed while the page is drawn anew. */
function ChoiceField(props: ChoiceFieldProps): VNode {
  const { label, inputMode, placeholder = '', values, chosen, choose } = props;
  const [typed, setTyped] = useState<string | undefined>(undefined);
  const list = useId();
  return (
    <label class="field">
      <span>{label}</span>
      <input
        type="text"
        inputMode={inputMode}
        placeholder={placeholder}
        list={values && list}
        value={typed ?? chosen}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        onChange={({ currentTarget }) => {
          setTyped(undefined);
          choose(currentTarget.value.trim());
        }}
      />
      {values !== undefined && (
        <datalist id={list}>
          {values.map((value) => (
            <option key={value} value={value} />
          ))}
        </datalist>
      )}
    </label>
  );
}

/** Properties of the plan; `isDeclared` if the rule book has its dates. */
type EndPlanProps = { readonly plan: AskedPlan; readonly isDeclared: boolean } & Pick<PageTools, 'announce'>;

/** The figures and tables of the plan, without the parts that the table of clients and the timeline show. */
export function EndPlanCards({ plan, isDeclared, announce }: EndPlanProps): VNode {
  const { asked, choices } = plan;
  const { response, failure } = asked;
  const [dates, ...others] = response?.parts ?? [];
  // The fields stay while another plan is made, and where a choice is refused.
  const hasFields = dates !== undefined || (response === undefined && choices !== NO_CHOICES);
  return (
    <>
      <Card heading="A plan from the log">
        {hasFields && planFields(plan)}
        {response !== undefined ? (
          planOf(response, isDeclared, announce)
        ) : failure?.status === 400 ? (
          <Fault text={failure.message} />
        ) : (
          <Loading failure={failure} subject="a plan from the log" />
        )}
      </Card>
      {others.map((one) => !ELSEWHERE.has(one.title) && one.table?.rows.length !== 0 && partCard(one))}
    </>
  );
}

function planOf(plan: EndPlan, isDeclared: boolean, announce: Announce): VNode {
  const { made, parts, figures = [], caveat } = plan;
  const [dates] = parts;
  return (
    <>
      {caveat !== undefined && <p class="lead">{sentence(caveat)}</p>}
      {figures.length > 0 && (
        <dl class="facts">
          {figures.map(({ name, value }) => (
            <Fact key={name} name={name}>
              {value}
            </Fact>
          ))}
        </dl>
      )}
      {dates !== undefined && tableOf(dates)}
      {declaration(plan, isDeclared, announce)}
      <SentenceList
        sentences={[
          ...made,
          ...(IS_ZONE_KNOWN ? [] : ['This browser names no time zone, so times of the plan are in UTC.']),
        ]}
      />
    </>
  );
}

/**
 * The lines that declare the plan. The page does not write them: each replica reads a rule book of its own, which is often read-only and
 * deployed from elsewhere, so that V1 would end at one of them alone, until the next deployment.
 */
function declaration(
  { lines, ruleFile, command }: EndPlan,
  isDeclared: boolean,
  announce: Announce,
): VNode | false {
  if (ruleFile === undefined || command === undefined) return false;
  if (lines?.length === 0) return <p>The rule book declares this plan.</p>;
  const checked =
    'Each gateway checks the file when it changes, and keeps the earlier dates if it has a fault.';
  if (lines === undefined)
    return (
      <p>
        {`To declare this plan, write the top level, sunset and brownouts of ${ruleFile} over several lines first: the lines of a plan cannot be added to a mapping on one line. ${checked}`}
      </p>
    );
  const what = isDeclared
    ? 'The rule book declares a plan. To replace it by this one'
    : 'To declare this plan';
  const [only, ...more] = lines;
  const how =
    more.length === 0 && only?.removed === ''
      ? `add these lines ${only.place.replace('the file', ruleFile)}`
      : `change ${ruleFile} as follows, from its end upwards`;
  return (
    <>
      <p>{`${what}, ${how}, for every replica. ${checked}`}</p>
      {lines.map((change) => planChange(change, more.length > 0, announce))}
      <p>This command writes the plan; add further logs to count the clients of other replicas:</p>
      <pre class="file wrapped" tabIndex={0}>
        {command}
      </pre>
    </>
  );
}

/** Lines to add, with their place where there are several, and those that they replace. */
function planChange({ place, added, removed }: PlanLines, isNamed: boolean, announce: Announce): VNode {
  const isGone = added === '';
  return (
    <Fragment key={place}>
      {isNamed && removed === '' && <p>{`Add ${place}:`}</p>}
      {removed !== '' && (
        <>
          <p>
            {isGone
              ? `Remove ${place.replace('in place of ', '')}:`
              : `Remove, and write the next lines ${place}:`}
          </p>
          <pre class="file" tabIndex={0}>
            {removed}
          </pre>
        </>
      )}
      {!isGone && (
        <>
          <pre class="file" tabIndex={0}>
            {added}
          </pre>
          <p class="actions">
            <CopyButton
              text={added}
              label={isNamed ? `Copy the lines ${place}` : 'Copy the lines'}
              done="The lines are copied."
              announce={announce}
            />
          </p>
        </>
      )}
    </Fragment>
  );
}

function partCard(part: PlanPart): VNode {
  const { title, sentences } = part;
  if (FOLDED.has(title))
    return (
      <details key={title} class="card">
        <summary>
          <h3>{title}</h3>
        </summary>
        {sentences.length > 0 && <SentenceList sentences={sentences} />}
        {tableOf(part)}
      </details>
    );
  return (
    <Card key={title} heading={title}>
      {sentences.length > 0 && <SentenceList sentences={sentences} />}
      {tableOf(part)}
    </Card>
  );
}

function tableOf({ title, table }: PlanPart): VNode | false {
  if (table === undefined) return false;
  const { head, rows } = table;
  return (
    <ScrollTable<number>
      label={title}
      columns={head.map((name, column) => ({
        name: name.charAt(0).toUpperCase() + name.slice(1),
        ...(column === 0
          ? { kind: 'head' as const }
          : rows.every((row) => /^[\d,]+$/.test(row[column] ?? ''))
            ? { kind: 'number' as const }
            : {}),
        cell: (row) => {
          const text = rows[row]?.[column] ?? '';
          return <span class={text.length < SHORT ? 'nowrap' : undefined}>{text}</span>;
        },
      }))}
      rows={rows.map((_, index) => index)}
      keyOf={String}
      isWide
    />
  );
}
