import { createServer, type IncomingMessage, type Server } from 'node:http';
import { text } from 'node:stream/consumers';

/** A ticket as the service keeps it. */
interface Ticket {
  readonly no: number;
  readonly title: string;
  readonly state: number;
  readonly priority: number;
  readonly assignee: string | undefined;
  readonly cents: number;
  readonly opened: string;
  readonly requester: readonly [name: string | undefined, mail: string | undefined];
  readonly watchers: readonly { readonly user: string; readonly since: string }[];
  readonly project: string;
  readonly comments: readonly { readonly no: number; readonly text: string; readonly by: string }[];
}

const STATES = { v1: ['new', 'in_progress', 'done'], v2: ['open', 'working', 'closed'] } as const;
const PRIORITIES = { v1: [1, 2, 3], v2: ['low', 'normal', 'high'] } as const;

type Body = Readonly<Record<string, unknown>>;

interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A ticket desk that serves both versions: `/legacy` with its key in the query, and `/api` with a bearer token and a release. */
export function createDesk(): Server {
  const tickets = new Map<number, Ticket>();
  return createServer((request, response) => {
    void text(request).then((sent) => {
      const { status, body, headers } = answer(tickets, request, sent);
      const bytes = body === undefined ? '' : JSON.stringify(body);
      const type = body === undefined ? {} : { 'content-type': 'application/json' };
      response.writeHead(status, { ...type, ...headers, 'content-length': Buffer.byteLength(bytes) });
      response.end(bytes);
    });
  });
}

function answer(
  tickets: Map<number, Ticket>,
  { method, url = '', headers }: IncomingMessage,
  sent: string,
): Answer {
  const { pathname, searchParams: query } = new URL(url, 'http://desk');
  const version = pathname.startsWith('/legacy/') ? 'v1' : 'v2';
  const key = version === 'v1' ? query.get('key') : headers.authorization?.replace('Bearer ', '');
  if (key !== 'k1') return problem(401, undefined, 'no key');
  if (version === 'v2' && headers['desk-version'] !== '2026-05-01')
    return problem(400, undefined, 'no release');
  const steps = pathname.replace(/^\/(?:legacy|api)\//, '').split('/');
  const [first = '', second = '', third = ''] = steps;
  const show = (ticket: Ticket): unknown =>
    version === 'v1' ? { ticket: oldForm(ticket) } : { data: newForm(ticket) };
  const project =
    version === 'v1' && first === 'projects' ? second : first === 'cases' ? query.get('project') : undefined;
  if (
    method === 'GET' &&
    project !== undefined &&
    project !== null &&
    (first === 'projects' || steps.length === 1)
  ) {
    const state = query.get(version === 'v1' ? 'state' : 'status');
    const found = [...tickets.values()].filter(
      (ticket) => ticket.project === project && (state === null || STATES[version][ticket.state] === state),
    );
    const some = found.slice(0, Number(query.get(version === 'v1' ? 'size' : 'limit') ?? 10));
    return version === 'v1'
      ? { status: 200, body: { tickets: some.map(oldForm), count: found.length } }
      : { status: 200, body: { data: some.map(newForm), total: found.length } };
  }
  if (method === 'POST' && steps.length === 1) {
    const made = stored(version, tickets.size + 1, parsed(sent), undefined);
    if ('status' in made) return made;
    tickets.set(made.no, made);
    const location = version === 'v1' ? `/legacy/tickets/${made.no}` : `/api/cases/T-${made.no}`;
    return { status: 201, body: show(made), headers: { location } };
  }
  const ticket = tickets.get(Number(second.replace(version === 'v2' ? /^T-/ : /^$/, '')));
  if (ticket === undefined) return problem(404, undefined, 'no such thing');
  if (third === 'close' || (method === 'PATCH' && sent === '{"status":"closed"}')) {
    const closed = { ...ticket, state: 2 };
    tickets.set(ticket.no, closed);
    return { status: 200, body: show(closed) };
  }
  if (third === 'comments') return comment(tickets, ticket, version, method, sent);
  if (method === 'DELETE') {
    tickets.delete(ticket.no);
    return { status: version === 'v1' ? 200 : 204 };
  }
  if (method === 'PUT' || method === 'PATCH') {
    const changed = stored(version, ticket.no, parsed(sent), ticket);
    if ('status' in changed) return changed;
    tickets.set(ticket.no, changed);
    return { status: 200, body: show(changed) };
  }
  return { status: 200, body: show(ticket) };
}

function comment(
  tickets: Map<number, Ticket>,
  ticket: Ticket,
  version: 'v1' | 'v2',
  method: string | undefined,
  sent: string,
): Answer {
  const form = (one: Ticket['comments'][number]): unknown =>
    version === 'v1'
      ? { comment_no: one.no, text: one.text, by: one.by }
      : { id: `C-${one.no}`, body: one.text, author: { handle: one.by } };
  if (method === 'GET') {
    const all = ticket.comments.map(form);
    return { status: 200, body: version === 'v1' ? all : { data: all } };
  }
  const body = parsed(sent);
  const [words, by] =
    version === 'v1' ? [body['text'], body['by']] : [body['body'], Object(body['author']).handle];
  if (typeof words !== 'string') return problem(422, version === 'v1' ? 'text' : 'body', 'is missing');
  const made = { no: ticket.comments.length + 1, text: words, by: String(by ?? 'anyone') };
  tickets.set(ticket.no, { ...ticket, comments: [...ticket.comments, made] });
  return { status: 201, body: version === 'v1' ? form(made) : { data: form(made) } };
}

function parsed(sent: string): Body {
  try {
    return Object(JSON.parse(sent)) as Body;
  } catch {
    return {};
  }
}

function problem(status: number, field: string | undefined, message: string): Answer {
  return { status, body: { errors: [{ ...(field !== undefined && { field }), message }] } };
}

/** A ticket of a request's body; a member that is absent keeps its value, in both versions. */
function stored(version: 'v1' | 'v2', no: number, body: Body, before: Ticket | undefined): Ticket | Answer {
  const isOld = version === 'v1';
  const title = body['title'] ?? before?.title;
  if (typeof title !== 'string') return problem(422, 'title', 'is missing');
  const state = listed(STATES[version], body[isOld ? 'state' : 'status'], before?.state ?? 0);
  if (state < 0) return problem(422, isOld ? 'state' : 'status', 'is none of the list');
  const priority = listed(PRIORITIES[version], body[isOld ? 'severity' : 'priority'], before?.priority ?? 0);
  if (priority < 0) return problem(422, isOld ? 'severity' : 'priority', 'is none of the list');
  const requester = isOld ? body : (Object(body['requester']) as Body);
  const [name, mail] = isOld ? ['requester_name', 'requester_mail'] : ['name', 'email'];
  const cents = isOld
    ? Math.round(Number(body['cost'] ?? Number.NaN) * 100)
    : Number(body['cost_cents'] ?? Number.NaN);
  const watchers = Array.isArray(body['watchers']) ? (body['watchers'] as Body[]) : [];
  return {
    no,
    title,
    state,
    priority,
    assignee: (isOld ? body['assigned_to'] : Object(body['assignee']).handle) ?? before?.assignee,
    cents: Number.isNaN(cents) ? (before?.cents ?? 0) : cents,
    opened: day(body[isOld ? 'opened' : 'opened_at']) ?? before?.opened ?? '2026-01-31',
    requester: [
      (requester[name ?? ''] as string | undefined) ?? before?.requester[0],
      (requester[mail ?? ''] as string | undefined) ?? before?.requester[1],
    ],
    watchers: watchers.map((one) => ({
      user: String(one[isOld ? 'user' : 'handle']),
      since: String(one['since']),
    })),
    project: before?.project ?? 'p1',
    comments: before?.comments ?? [],
  };
}

function day(value: unknown): string | undefined {
  return typeof value === 'string' ? value.slice(0, 10) : undefined;
}

function listed(values: readonly unknown[], value: unknown, usual: number): number {
  return value === undefined ? usual : values.indexOf(value);
}

function oldForm(ticket: Ticket): unknown {
  const { no, title, state, priority, assignee, cents, opened, requester, watchers, project } = ticket;
  return {
    ticket_no: no,
    project,
    title,
    state: STATES.v1[state],
    severity: PRIORITIES.v1[priority],
    assigned_to: assignee,
    cost: (cents / 100).toFixed(2),
    opened,
    requester_name: requester[0],
    requester_mail: requester[1],
    watchers,
  };
}

function newForm(ticket: Ticket): unknown {
  const { no, title, state, priority, assignee, cents, opened, requester, watchers, project } = ticket;
  return {
    id: `T-${no}`,
    project,
    title,
    status: STATES.v2[state],
    priority: PRIORITIES.v2[priority],
    assignee: assignee === undefined ? undefined : { handle: assignee },
    cost_cents: cents,
    opened_at: `${opened}T00:00:00Z`,
    requester: { name: requester[0], email: requester[1] },
    watchers: watchers.map(({ user, since }) => ({ handle: user, since })),
    channel: 'web',
  };
}
