import { NO_KEY, OTHER_CALLS } from '../../../rewrite-log/entry.ts';
import type { VNode } from 'preact';
import type { UnfitCall } from '../../../report/client-report.ts';
import { clientName } from '../../../report/text.ts';
import { ago, count, counted } from '../format.ts';
import { toExchanges } from '../page-state.ts';
import {
  Card,
  type Column,
  LinkButton,
  type PageTools,
  ScrollTable,
  ShortTime,
  visibleText,
} from '../parts.tsx';

interface UnfitCardProps extends Pick<PageTools, 'go'> {
  readonly calls: readonly UnfitCall[];
}

/** Maximum rows: each client may have called many addresses. */
const ROWS = 50;

/** Clients that call addresses which the rule book does not know, such as old ones; nothing without such calls. */
export function UnfitCard({ calls, go }: UnfitCardProps): VNode | false {
  if (calls.length === 0) return false;
  return (
    <Card
      heading="Requests that fit no operation"
      note="no rule for an operation applies to them; the latest first"
    >
      <ScrollTable
        label="Requests that fit no operation"
        columns={unfitColumns(go)}
        rows={calls.slice(0, ROWS)}
        keyOf={({ client, call }) => `${client} ${call}`}
      />
      {calls.length > ROWS && <p>{`${counted(calls.length - ROWS, 'more row')}, not listed.`}</p>}
    </Card>
  );
}

function unfitColumns(go: PageTools['go']): readonly Column<UnfitCall>[] {
  return [
    {
      name: 'Address',
      kind: 'head',
      cell: ({ call }) => (call === OTHER_CALLS ? 'further addresses' : <code>{visibleText(call)}</code>),
    },
    {
      name: 'Client',
      cell: (call) => {
        const who = call.client === NO_KEY ? 'no key' : clientName(call);
        return (
          <LinkButton
            onClick={toExchanges(go, `client:${call.client} op:- route:v1,none`)}
            label={`Show the exchanges of ${who} that fit no operation`}
          >
            {visibleText(who)}
          </LinkButton>
        );
      },
    },
    { name: 'Requests', kind: 'number', cell: (call) => count(call.count) },
    { name: 'Since', cell: ({ firstSeen }) => <ShortTime at={firstSeen} /> },
    { name: 'Last', cell: ({ lastSeen }) => <ShortTime at={lastSeen} short={ago} /> },
  ];
}
