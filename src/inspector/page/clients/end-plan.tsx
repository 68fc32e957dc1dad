import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { PlanPart } from '../../../report/plan/plan-text.ts';
import { Zone } from '../../../report/plan/zone.ts';
import type { EndPlan } from '../../api.ts';
import { SMALL_LOG } from '../../operator-view.ts';
import { useAsked } from '../admin-client.ts';
import { type Go, toExchanges } from '../page-state.ts';
import { Card, LinkButton, Loading, ScrollTable, SentenceList } from '../parts.tsx';

const REFRESH = 10_000;

/** A plan is made from a whole log, perhaps of weeks. */
const PLAN_REFRESH = 600_000;

/** The operator's time zone, and the names of all. */
const { zone: ZONE, isKnown: IS_ZONE_KNOWN } = Zone.own();
const ZONES = [...new Set(['UTC', ZONE.name, ...Intl.supportedValuesOf('timeZone')])];

/** A plan for the end of V1, proposed from the log, in the zone that the reader chooses. */
export function EndPlanCards({ go }: { readonly go: Go }): VNode {
  const [isSmall, setIsSmall] = useState(false);
  // Empty until the reader chooses one: that of the rule book, or else of the browser.
  const [zone, setZone] = useState('');
  const plan = useAsked<EndPlan>(
    zone === '' ? `plan?own=${encodeURIComponent(ZONE.name)}` : `plan?zone=${encodeURIComponent(zone)}`,
    isSmall ? REFRESH : PLAN_REFRESH,
  );
  const exchanges = plan.response?.exchanges ?? SMALL_LOG;
  useEffect(() => setIsSmall(exchanges < SMALL_LOG), [exchanges < SMALL_LOG]);
  return (
    <>
      {plan.response === undefined ? (
        <Loading failure={plan.failure} subject="a plan from the log" />
      ) : (
        planOf(plan.response, go, zoneField(zone, setZone))
      )}
    </>
  );
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

/** A plan as the command prints it, with links from its clients to their exchanges. */
function planOf(plan: EndPlan, go: Go, zones: VNode): readonly (VNode | false)[] {
  const { made, logFile, zone, parts } = plan;
  const [dates, ...others] = parts;
  return [
    <Card heading="A plan from the log">
      {zones}
      <SentenceList
        sentences={[
          ...(dates === undefined && logFile !== undefined
            ? [
                'There is nothing to plan: at the end of this log no client for which V1 ends sends requests with an API key.',
              ]
            : []),
          ...(dates?.sentences ?? []),
          ...made,
          ...(IS_ZONE_KNOWN ? [] : ['This browser names no time zone, so times of the plan are in UTC.']),
        ]}
      />
      {dates !== undefined && [
        tableOf(dates, plan, go),
        <p>
          This command writes the plan into a rule book; add --lead, --avoid or further logs to change it:
        </p>,
        <pre class="file" tabIndex={0}>
          {`capture-gateway plan ${logFile} --zone ${zone} --into rules.yaml`}
        </pre>,
      ]}
    </Card>,
    ...others.map(
      (one) =>
        one.table?.rows.length !== 0 && (
          <Card heading={one.title}>
            {one.sentences.length > 0 && <SentenceList sentences={one.sentences} />}
            {tableOf(one, plan, go)}
          </Card>
        ),
    ),
  ];
}

function tableOf({ title, table }: PlanPart, { clients }: EndPlan, go: Go): VNode | false {
  if (table === undefined) return false;
  const { head, rows } = table;
  const links = title === 'Clients' ? clients : [];
  return (
    <ScrollTable<number>
      label={title}
      columns={head.map((name, column) => ({
        name: name.charAt(0).toUpperCase() + name.slice(1),
        ...(column === 0 ? { kind: 'head' as const } : {}),
        cell: (row) => {
          const [text, hash] = [rows[row]?.[column] ?? '', links[row]];
          return column === 0 && hash !== undefined ? (
            <LinkButton onClick={toExchanges(go, `client:${hash}`)} label={`Show the exchanges of ${text}`}>
              {text}
            </LinkButton>
          ) : (
            text
          );
        },
      }))}
      rows={rows.map((_, index) => index)}
      keyOf={String}
      isWide
    />
  );
}
