import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { PlanPart } from '../../../report/plan/plan-text.ts';
import { Zone } from '../../../report/plan/zone.ts';
import type { EndPlan } from '../../api.ts';
import { SMALL_LOG } from '../../operator-view.ts';
import { type Asked, useAsked } from '../admin-client.ts';
import { Card, Fact, Loading, ScrollTable, sentence, SentenceList } from '../parts.tsx';

const REFRESH = 10_000;

/** Characters of a text that a cell does not break. */
const SHORT = 26;

/** Long, because a plan is made from a whole log, perhaps of weeks. */
const PLAN_REFRESH = 600_000;

/** The operator's time zone, and the names of all zones. */
const { zone: ZONE, isKnown: IS_ZONE_KNOWN } = Zone.own();
const ZONES = [...new Set(['UTC', ZONE.name, ...Intl.supportedValuesOf('timeZone')])];

/** Parts of a plan that the view shows elsewhere: dates on the timeline, clients in their table. */
const ELSEWHERE: ReadonlySet<string> = new Set(['Clients', "Endings before V1's"]);

/** A plan for the end of V1, proposed from the log, in a zone that the reader can choose. */
export interface AskedPlan {
  readonly asked: Asked<EndPlan>;
  readonly zones: VNode;
}

/** Asks for the plan, in the zone of the rule book until the reader chooses one. */
export function usePlan(): AskedPlan {
  const [isSoon, setIsSoon] = useState(false);
  // Empty until the reader chooses one; until then the rule book's zone applies or, without one, the browser's.
  const [zone, setZone] = useState('');
  const asked = useAsked<EndPlan>(
    zone === '' ? `plan?own=${encodeURIComponent(ZONE.name)}` : `plan?zone=${encodeURIComponent(zone)}`,
    isSoon ? REFRESH : PLAN_REFRESH,
  );
  const { response, failure } = asked;
  const isNextSoon = failure !== undefined || (response?.exchanges ?? SMALL_LOG) < SMALL_LOG;
  useEffect(() => setIsSoon(isNextSoon), [isNextSoon]);
  return { asked, zones: zoneField(zone, setZone) };
}

/** The choice of the zone in which the plan counts hours and shows times. */
function zoneField(zone: string, choose: (zone: string) => void): VNode {
  return (
    <label class="field">
      <span>Time zone of the plan</span>
      <select value={zone} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        <option value="">{`That of the rule book, or else ${ZONE.name}`}</option>
        {ZONES.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Properties of the plan; `isDeclared` if the rule book has its dates. */
type EndPlanProps = AskedPlan & { readonly isDeclared: boolean };

/** The figures and tables of the plan, without the parts that the table of clients and the timeline show. */
export function EndPlanCards({ asked: { response, failure }, zones, isDeclared }: EndPlanProps): VNode {
  if (response === undefined) return <Loading failure={failure} subject="a plan from the log" />;
  const { made, logFile, parts, figures = [], caveat, command } = response;
  const [dates, ...others] = parts;
  return (
    <>
      <Card heading="A plan from the log">
        {dates !== undefined && zones}
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
        {command !== undefined && [
          <p>
            {isDeclared
              ? 'The rule book declares this plan. This command replaces it by a new one; add --lead, --avoid or further logs to change it:'
              : 'This command writes the plan into the rule book; add --lead, --avoid or further logs to change it:'}
          </p>,
          <pre class="file wrapped" tabIndex={0}>
            {command}
          </pre>,
        ]}
        <SentenceList
          sentences={[
            ...(dates === undefined && logFile !== undefined
              ? [
                  'There is nothing to plan: at the end of this log no client for which V1 ends sends requests with an API key.',
                ]
              : []),
            ...made,
            ...(IS_ZONE_KNOWN ? [] : ['This browser names no time zone, so times of the plan are in UTC.']),
          ]}
        />
      </Card>
      {others.map((one) => !ELSEWHERE.has(one.title) && one.table?.rows.length !== 0 && partCard(one))}
    </>
  );
}

function partCard(part: PlanPart): VNode {
  const { title, sentences } = part;
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
