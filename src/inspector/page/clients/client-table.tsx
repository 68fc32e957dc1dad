import { NO_KEY } from '../../../rewrite-log/entry.ts';
import type { ComponentChildren, VNode } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import {
  bodyCheckLines,
  CLASS_MEANINGS,
  CLASS_WORDS,
  clientWouldFail,
  isOnV2,
  reasonsOf,
  waitWords,
} from '../../../report/client-report.ts';
import { capital, countedClients } from '../../../report/text.ts';
import { CHECKED_WORDS, wouldFail } from '../../../rollout/body-checks.ts';
import type { ClientNotice, ClientReport, ClientRow, ClientsScreen, ClientSort } from '../../api.ts';
import { type Asked, useAsked } from '../admin-client.ts';
import { ago, count, counted, type Ending, endTime, shortTime } from '../format.ts';
import { toExchanges } from '../page-state.ts';
import {
  Button,
  Card,
  classes,
  EndingContext,
  LinkButton,
  NewTab,
  type PageTools,
  sentence,
  ShortTime,
  Trend,
  visibleText,
} from '../parts.tsx';
import { ClientName, type ClientNameProps, shownName } from './client-name.tsx';

interface ClientTableProps
  extends Pick<ClientNameProps, 'clients' | 'onNamed'>, Pick<PageTools, 'go' | 'announce' | 'hueOf'> {
  readonly shown: ShownScreen;
  readonly choice: TableChoice;
  /** The first notices of clients, as the plan has them; undefined before it is made. */
  readonly notices: readonly ClientNotice[] | undefined;
}

/** The columns, with their sort keys at the gateway. The trend has a column as soon as a client called on two days, and dry runs while one has any. */
const COLUMNS = [
  { name: 'Client', kind: 'text', sort: 'name' },
  { name: 'Last seen', kind: 'number', sort: 'lastSeen' },
  { name: 'Class', kind: 'text', sort: 'class' },
  { name: "To V1's address", kind: 'number', sort: 'requests' },
  { name: 'Last 14 days', kind: 'text', sort: undefined },
  { name: "To V2's address", kind: 'number', sort: undefined },
  { name: 'Failed', kind: 'number', sort: 'failed' },
  { name: 'Would fail', kind: 'number', sort: 'wouldFail' },
  { name: 'Notices met', kind: 'number', sort: 'notices' },
] as const satisfies readonly {
  readonly name: string;
  readonly kind: 'text' | 'number';
  readonly sort: ClientSort | undefined;
}[];

type ShownColumn = (typeof COLUMNS)[number];

interface Order {
  readonly sort: ClientSort;
  readonly isReversed: boolean;
}

const BY_WORK: Order = { sort: 'work', isReversed: false };

const REFRESH = 10_000;

/** Rows that are shown at first, and that each further step adds. */
const ROWS = 300;

/** Pause in typing before a search, in milliseconds. */
const SETTLE_MS = 200;

/** The clients that an operator chose to see. */
interface TableChoice {
  readonly search: string;
  readonly order: Order;
  readonly limit: number;
  /** The clients whose rows are open. */
  readonly open: ReadonlySet<string>;
  readonly choose: (change: Partial<Omit<TableChoice, 'choose'>>) => void;
}

/** The clients to show, at first all, by remaining work. */
export function useTableChoice(): TableChoice {
  const [choice, setChoice] = useState<Omit<TableChoice, 'choose'>>({
    search: '',
    order: BY_WORK,
    limit: ROWS,
    open: new Set(),
  });
  return { ...choice, choose: (change) => setChoice((before) => ({ ...before, ...change })) };
}

/** The view of the clients, and the choice of rows that it answers. */
interface ShownScreen {
  readonly rows: string;
  readonly screen: ClientsScreen;
}

/** The whole view, of one moment; the last one while another choice is loaded. */
export function useClientsScreen({
  search,
  order: { sort, isReversed },
  limit,
  open,
}: TableChoice): Asked<ShownScreen> {
  const query = new URLSearchParams({ sort, limit: String(limit) });
  if (search !== '') query.set('q', search);
  if (isReversed) query.set('order', 'reversed');
  const rows = query.toString();
  query.set('open', [...open].join(','));
  const { response, failure } = useAsked<ClientsScreen>(`clients/table?${query.toString()}`, REFRESH);
  const latest = useRef<ShownScreen | undefined>(undefined);
  if (response !== undefined) latest.current = { rows, screen: response };
  return { response: latest.current, failure };
}

/** Every client that has used V1, sorted by any column and searched by any word; an opened row shows the client's activity. */
export function ClientTable(props: ClientTableProps): VNode {
  const ending = useContext(EndingContext);
  const { choice, shown: asked } = props;
  const { search, order, limit, open, choose } = choice;
  const { screen } = asked;
  const { clients, omittedClients, goneAfterDays, since } = screen.report;
  const shown = useRef<ShownRows>({ choice: asked.rows, rows: [] });
  // Kept here, so that a redrawn row keeps the typed name; not a state, because a letter must not redraw all rows.
  const { current: drafts } = useRef(new Map<string, string>());
  const toggle = (client: string): void => {
    const next = new Set(open);
    if (!next.delete(client)) next.add(client);
    choose({ open: next });
  };
  shown.current = {
    choice: asked.rows,
    rows:
      drafts.size > 0 && shown.current.choice === asked.rows
        ? inPlace(screen.rows, shown.current.rows)
        : screen.rows,
  };
  const { rows } = shown.current;
  const { hasTrend, hasChecks } = screen;
  const columns = COLUMNS.filter(
    ({ name }) => (hasTrend || name !== 'Last 14 days') && (hasChecks || name !== 'Would fail'),
  );
  return (
    <Card
      heading={
        clients.length === 0 ? 'No client yet' : capital(countedClients(clients.map(({ client }) => client)))
      }
      note={
        clients.length === 0
          ? undefined
          : `${since === undefined ? '' : `counted since ${shortTime(since)}; `}gone after ${counted(goneAfterDays, 'day')} without a call to V1, or later if hardly known or after long pauses`
      }
    >
      {clients.length === 0 ? (
        <p class="empty">Each client that calls V1 will have a row here, with what it has to change.</p>
      ) : (
        <>
          <div class="table-tools">
            <SearchField onSettled={(text) => choose({ search: text })} />
            <span role="status">
              {search === '' ? '' : `${count(screen.matching)} of ${counted(screen.all, 'row')}`}
            </span>
          </div>
          {clients.some(({ bodyChecks }) => bodyChecks.length > 0) && <p class="lead">{CHECKED_WORDS}</p>}
          <div class="scroll" tabIndex={0} role="region" aria-label="Clients that call V1">
            <table class="rows">
              <thead>
                <tr>
                  {columns.map((column) => sortHead(column, order, (next) => choose({ order: next })))}
                  <th scope="col">Guide</th>
                </tr>
              </thead>
              {/* One flat list, in which Preact finds a row by its client; it would find a list within it only by position. */}
              <tbody>
                {rows.flatMap((row) =>
                  clientRows(row, open.has(row.client), toggle, drafts, { ...props, ending, columns }),
                )}
              </tbody>
            </table>
          </div>
          {rows.length === 0 && <p class="empty">No client matches the search.</p>}
          {screen.rows.length < screen.matching && (
            <p class="actions">
              <Button onClick={() => choose({ limit: limit + ROWS })}>
                {`Show more of ${counted(screen.matching, 'row')}`}
              </Button>
            </p>
          )}
        </>
      )}
      {omittedClients > 0 && <p>{`${counted(omittedClients, 'request')} of further clients, not listed.`}</p>}
    </Card>
  );
}

/** The rows of the table, and the choice that they answer. */
interface ShownRows {
  readonly choice: string;
  readonly rows: readonly ClientRow[];
}

/**
 * Returns the newest rows in the order of the shown ones, followed by new clients. If a row moved or left the table, the name that an
 * operator is typing in it would lose the focus.
 */
function inPlace(rows: readonly ClientRow[], shown: readonly ClientRow[]): readonly ClientRow[] {
  const newest = new Map(rows.map((row) => [row.client, row]));
  const before = new Set(shown.map(({ client }) => client));
  return [
    ...shown.map((row) => newest.get(row.client) ?? row),
    ...rows.filter(({ client }) => !before.has(client)),
  ];
}

/** The search field. Typing redraws no row; the table follows when the typing pauses. */
function SearchField({ onSettled }: { readonly onSettled: (search: string) => void }): VNode {
  const [search, setSearch] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => onSettled(search), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [search]);
  return (
    <>
      <label for="client-search">Search</label>
      <input
        id="client-search"
        type="search"
        placeholder="name, hash, operation, class or User-Agent"
        value={search}
        onInput={({ currentTarget }) => setSearch(currentTarget.value)}
      />
    </>
  );
}

/** A heading that sorts: the first click in the more useful direction, the second in the other one, the third by remaining work. */
function sortHead({ name, kind, sort }: ShownColumn, order: Order, choose: (order: Order) => void): VNode {
  const look = classes(kind === 'number' && 'number');
  if (sort === undefined)
    return (
      <th key={name} scope="col" class={look}>
        <span class="sort">{name}</span>
      </th>
    );
  const isOwn = order.sort === sort;
  const next = !isOwn ? { sort, isReversed: false } : order.isReversed ? BY_WORK : { sort, isReversed: true };
  // The usual order of texts is from A to Z, that of times and numbers from the greatest.
  const isUp = (kind === 'text') !== order.isReversed;
  return (
    <th key={name} scope="col" class={look} aria-sort={isOwn ? (isUp ? 'ascending' : 'descending') : 'none'}>
      <button type="button" class="sort" onClick={() => choose(next)}>
        {name}
        <i aria-hidden>{isOwn ? (isUp ? '▲' : '▼') : ''}</i>
      </button>
    </th>
  );
}

const NO_GUIDE = {
  'no key': 'Requests without a key may be of many clients.',
  'no operation': 'The rule book has none of the addresses that it calls.',
  'no request': 'The gateway keeps none of its requests, and writes no log.',
} as const;

function clientRows(
  row: ClientRow,
  isOpen: boolean,
  toggle: (client: string) => void,
  drafts: Map<string, string>,
  props: ClientTableProps & { readonly ending: Ending; readonly columns: readonly ShownColumn[] },
): VNode[] {
  const { go, announce, clients, onNamed, ending } = props;
  const { client, name, lastSeen, v1, v2, failed, trend, notices } = row;
  const shown = client === NO_KEY ? 'no key' : client;
  const called = name ?? shownName(clients, client);
  const who = called ?? shown;
  const has = (column: ShownColumn['name']): boolean => props.columns.some((one) => one.name === column);
  const { judged, failing } = row.wouldFail ?? { judged: 0, failing: 0 };
  const href = `report?client=${encodeURIComponent(client)}&format=`;
  // A name for assistive technology contains the visible text (WCAG 2.5.3).
  const key = (
    <LinkButton
      onClick={toExchanges(go, `client:${client}`)}
      label={`Show the exchanges of ${called === undefined ? '' : `${called}, `}${shown}`}
    >
      {visibleText(who)}
    </LinkButton>
  );
  const main = (
    <tr key={client} class={classes(isOpen && 'opened')}>
      <th scope="row">
        <div class="client-cell">
          <button
            type="button"
            class="opener"
            aria-expanded={isOpen}
            aria-label={`Operations of ${who}`}
            onClick={() => toggle(client)}
          />
          {client === NO_KEY ? (
            key
          ) : (
            <ClientName
              client={client}
              clients={clients}
              drafts={drafts}
              announce={announce}
              onNamed={onNamed}
            >
              {key}
            </ClientName>
          )}
        </div>
      </th>
      <td class="number" data-label="Last seen">
        <ShortTime at={lastSeen} short={ago} />
      </td>
      <td data-label="Class">
        <span class={`class class-${row.class}`} title={CLASS_MEANINGS[row.class]}>
          {CLASS_WORDS[row.class]}
        </span>
      </td>
      <td class="number" data-label="To V1's address">
        {count(v1)}
      </td>
      {has('Last 14 days') && (
        <td data-label="Last 14 days">
          <Trend
            counts={trend.map(({ requests }) => requests)}
            failed={trend.map((day) => day.failed)}
            label={`V1 requests of the last 14 days: ${trend.map(({ requests }) => count(requests)).join(', ')}`}
          />
        </td>
      )}
      <td class="number" data-label="To V2's address">
        {count(v2)}
      </td>
      <td class={classes('number', failed === 0 && 'none')} data-label="Failed">
        {failed === 0 ? '–' : <strong>{count(failed)}</strong>}
      </td>
      {has('Would fail') && (
        <td
          class={classes('number', judged === 0 && 'none')}
          data-label="Would fail"
          title="Would fail after the migration, of those that were checked"
        >
          {judged === 0 ? (
            '–'
          ) : failing === 0 ? (
            `0 of ${count(judged)}`
          ) : (
            <strong>{`${count(failing)} of ${count(judged)}`}</strong>
          )}
        </td>
      )}
      <td
        class={classes('number', notices === 0 && props.notices === undefined && 'none')}
        data-label="Notices met"
      >
        {notices === 0
          ? notMet(
              props.notices?.find((one) => one.client === client),
              ending,
            )
          : count(notices)}
      </td>
      <td class={classes('guides', row.guide !== 'made' && 'none')} data-label="Guide">
        {row.guide === 'made' ? (
          <>
            <NewTab href={`${href}html`} label={`Guide: migration of ${who}`}>
              Guide
            </NewTab>{' '}
            <a
              href={`${href}eml`}
              aria-label={`Mail to the owner of ${who}, as a file`}
              title="A message for a mail program; add the address"
            >
              Mail
            </a>
          </>
        ) : (
          <small title={NO_GUIDE[row.guide]}>{`none: ${row.guide}`}</small>
        )}
      </td>
    </tr>
  );
  if (!isOpen) return [main];
  return [
    main,
    <tr key={`${client} detail`} class="detail-row">
      <td colSpan={props.columns.length + 1}>
        <ClientDetails
          client={client}
          screen={props.shown.screen}
          notice={props.notices?.find((one) => one.client === client)}
          go={go}
          hueOf={props.hueOf}
        />
      </td>
    </tr>,
  ];
}

interface ClientDetailsProps extends Pick<PageTools, 'go' | 'hueOf'> {
  readonly client: string;
  readonly screen: ClientsScreen;
  readonly notice: ClientNotice | undefined;
}

/** The notice that a client has yet to get, or that none would reach it, according to the plan; in the words of the timeline. */
function notMet(planned: ClientNotice | undefined, ending: Ending): ComponentChildren {
  if (planned === undefined) return '–';
  const { notice, because } = planned;
  if (notice?.isMet === true) return '–';
  const [first, second] =
    notice === undefined ? ['none', 'to come'] : [noticeState(notice), endTime(notice.at, ending)];
  return (
    <small title={because}>
      {first}
      {/* Two lines, so that the table fits a small window. */}
      <br />
      <span class="nowrap">{second}</span>
    </small>
  );
}

function noticeWords({ notice, because }: ClientNotice, ending: Ending): string {
  if (notice === undefined) return `none: ${because}`;
  const { by, at, isMet } = notice;
  return isMet ? because : `${by}, ${noticeState(notice)}, ${endTime(at, ending)}: ${because}`;
}

function noticeState({ isDeclared }: NonNullable<ClientNotice['notice']>): string {
  return isDeclared ? 'to come' : 'proposed';
}

/** One client's activity, the changes that it has to make, and its identification. */
function ClientDetails({ client, screen, notice, go, hueOf }: ClientDetailsProps): VNode {
  const ending = useContext(EndingContext);
  const { report } = screen;
  const row = report.clients.find((one) => one.client === client);
  const known = screen.opened.find((one) => one.client === client);
  if (row === undefined || known === undefined) return <p>Loading the client…</p>;
  const { operations, userAgents, addresses } = known;
  const waited = waitWords(row, report.goneAfterDays);
  return (
    <dl class="client-detail">
      {detail(
        'Operations',
        operations.map(({ operation, count: times, failed, lastSeen }) => (
          <div key={operation} class="client-use">
            <LinkButton
              onClick={toExchanges(go, `client:${client} op:${operation === '(other)' ? '-' : operation}`)}
            >
              {operation}
            </LinkButton>{' '}
            <span>{counted(times, 'request')}</span> <span>{failed > 0 && `${count(failed)} failed`}</span>{' '}
            <span>{ago(lastSeen)}</span>
          </div>
        )),
      )}
      {detail(
        'Changes it needs',
        changesOf(row).map(({ change, count: times, rules }) => (
          <div key={change} class="change-name" title={rules.join(', ')}>
            <i class={`dot hue-${hueOf(change)}`} />
            {change}
            <small>{count(times)}</small>
          </div>
        )),
      )}
      {detail(
        isOnV2(row) ? 'Checked before' : 'Checked',
        checkLines(row, toExchanges(go, `client:${client} error:schema-*,would-*`)),
      )}
      {detail(
        'Why this class',
        reasonsOf(row).map((reason) => <div key={reason}>{sentence(reason)}</div>),
      )}
      {detail(
        'Seen',
        <div>
          {'first '}
          <ShortTime at={row.firstSeen} />
          {', last '}
          <ShortTime at={row.lastSeen} />
          {waited !== '' && `; ${waited}`}
        </div>,
      )}
      {notice !== undefined && detail('First notice', <div>{sentence(noticeWords(notice, ending))}</div>)}
      {detail(
        'User-Agents',
        userAgents.map((agent) => <div key={agent}>{visibleText(agent)}</div>),
      )}
      {detail(
        'Addresses',
        addresses.map((address) => <div key={address}>{visibleText(address)}</div>),
      )}
    </dl>
  );
}

function detail(name: string, lines: ComponentChildren): VNode | false {
  if (Array.isArray(lines) && lines.length === 0) return false;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{lines}</dd>
    </div>
  );
}

/** The changes to its requests, and those to its responses only. */
function changesOf({
  changes,
  responses,
}: ClientReport): Pick<ClientReport['changes'][number], 'change' | 'count' | 'rules'>[] {
  const others = responses.filter(({ change }) => !changes.some((one) => one.change === change));
  return [
    ...changes,
    ...[...Map.groupBy(others, ({ change }) => change)].map(([change, members]) => ({
      change,
      count: Math.max(...members.map(({ count: times }) => times)),
      rules: ['responses'],
    })),
  ];
}

/** The verdict of V2's schema on bodies that were not sent to V2, with a link to the refused ones. */
function checkLines({ bodyChecks, client, name }: ClientReport, show: () => void): ComponentChildren {
  if (bodyChecks.length === 0) return [];
  const words = bodyCheckLines(bodyChecks).map((line) => <div key={line}>{visibleText(line)}</div>);
  const total = clientWouldFail({ bodyChecks });
  return [
    total !== '' && (wouldFail(bodyChecks).failing === 0 ? <div>{total}</div> : <strong>{total}</strong>),
    ...words,
    bodyChecks.some(({ invalid, refused, refusedByBoth }) => invalid + refused + refusedByBoth > 0) && (
      <LinkButton
        onClick={show}
        label={`Show the requests of ${name ?? client} that a migration would refuse`}
      >
        Show the requests
      </LinkButton>
    ),
  ];
}
