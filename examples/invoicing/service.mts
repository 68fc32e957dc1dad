import { createServer, type IncomingMessage, type Server } from 'node:http';
import { text } from 'node:stream/consumers';

/**
 * A small invoicing service: V1 under /api/v1 and V2 under /api/v2, over the same data. Each version reads its requests and writes its
 * responses with its own code, so that a comparison proves something. It keeps its data in memory and checks no passwords: it is an example.
 */
export function createInvoicing(): Server {
  const store = new Store();
  return createServer((request, response) => {
    void respond(store, request)
      .catch((): Answer => problem(500, 'Internal Server Error', 'Something went wrong.'))
      .then(({ status, headers = {}, body }) => {
        const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) };
        response.writeHead(status, { ...headers, ...length }).end(body);
      });
  });
}

interface Line {
  readonly id: number;
  readonly description: string;
  readonly cents: number;
}

/** The stored data of a bill, which V2 calls an invoice. */
interface Content {
  readonly name: string | null;
  readonly customerName: string;
  readonly customerEmail: string | null;
  readonly cents: number;
  readonly currency: string;
  readonly status: 'outstanding' | 'paid' | 'void';
  /** A time in RFC 3339. */
  readonly due: string | null;
}

interface Bill extends Content {
  readonly id: number;
  readonly lines: readonly Line[];
}

class Store {
  private readonly accounts = new Map<string, Map<number, Bill>>();
  private nextId = 7;

  bills(account: string): Map<number, Bill> {
    const known = this.accounts.get(account);
    if (known !== undefined) return known;
    const bills = new Map<number, Bill>();
    this.accounts.set(account, bills);
    return bills;
  }

  create(account: string, content: Content): Bill {
    const id = this.nextId;
    this.nextId += 1;
    const half = Math.floor(content.cents / 2);
    const lines = [
      { id: id * 10 + 1, description: 'Work', cents: content.cents - half },
      { id: id * 10 + 2, description: 'Material', cents: half },
    ];
    const bill = { ...content, id, lines };
    this.bills(account).set(id, bill);
    return bill;
  }
}

interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface Asked {
  readonly store: Store;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly account: string;
  /** Undefined for a body that is not a JSON object. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
}

async function respond(store: Store, request: IncomingMessage): Promise<Answer> {
  const { method = 'GET', headers } = request;
  const { pathname, searchParams: query } = new URL(request.url ?? '/', 'http://invoicing');
  const sent = await text(request);
  const [, version, path = ''] = /^\/api\/(v1|v2)(\/.*)$/.exec(pathname) ?? [];
  if (version === undefined) return nothingHere();
  const account = headers[version === 'v1' ? 'x-account' : 'x-tenant-id'];
  if (typeof account !== 'string') return problem(401, 'Unauthorized', 'Whose request is it?');
  const asked = { store, method, path, query, account, body: objectIn(sent) };
  if (version === 'v1') return respondV1(asked);
  return respondV2(asked);
}

function objectIn(sent: string): Asked['body'] {
  if (sent === '') return {};
  try {
    const value: unknown = JSON.parse(sent);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? Object.fromEntries(Object.entries(value)) : undefined;
  } catch {
    return undefined;
  }
}

/** An error in the form of RFC 9457, in words that fit both versions. */
function problem(status: number, title: string, detail: string): Answer {
  return {
    status,
    headers: { 'Content-Type': 'application/problem+json' },
    body: JSON.stringify({ type: 'about:blank', title, status, detail }),
  };
}

const nothingHere = (): Answer => problem(404, 'Not Found', 'There is nothing at this address.');
const noObject = (): Answer => problem(400, 'Bad Request', 'The body is not a JSON object.');
const unprocessable = (faults: readonly string[]): Answer =>
  problem(422, 'Unprocessable Content', faults.join(' '));
const json = (status: number, body: string, headers: Readonly<Record<string, string>> = {}): Answer => ({
  status,
  headers: { 'Content-Type': 'application/json', ...headers },
  body,
});

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const isAbsent = (value: unknown): value is undefined | null => value === undefined || value === null;
const isOptionalText = (value: unknown): value is string | null | undefined =>
  isAbsent(value) || typeof value === 'string';
const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);
/** True for a day that exists: `Date` takes the 30th of February for the 2nd of March. */
function isDay(value: string): boolean {
  const date = new Date(`${value}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().slice(0, 10) === value;
}

function page(query: URLSearchParams, size: string, number: number, all: readonly Bill[]): readonly Bill[] {
  const limit = pageSize(query, size);
  return all.slice((number - 1) * limit, number * limit);
}

const pageSize = (query: URLSearchParams, name: string): number => Number(query.get(name) ?? 20) || 20;

// V1 -----------------------------------------------------------------------------------------------------------------

const V1_STATUS = { outstanding: 'open', paid: 'paid', void: 'void' } as const;

function respondV1({ store, method, path, query, account, body }: Asked): Answer {
  const bills = store.bills(account);
  if (path === '/bills' && method === 'GET') {
    const wanted = query.get('status');
    const all = [...bills.values()].filter(({ status }) => wanted === null || V1_STATUS[status] === wanted);
    const number = Number(query.get('page') ?? 1) || 1;
    const list = page(query, 'per_page', number, all).map(billText).join(',');
    const pages = Math.ceil(all.length / pageSize(query, 'per_page'));
    return json(200, `{"bills":[${list}],"page":${number},"total_pages":${pages}}`);
  }
  if (path === '/bills' && method === 'POST') {
    if (body === undefined) return noObject();
    const content = readBill(body);
    if (Array.isArray(content)) return unprocessable(content);
    const bill = store.create(account, content);
    return json(201, billText(bill), { Location: `/api/v1/bills/${bill.id}` });
  }
  const [, id, lines] = /^\/bills\/(\d+)(\/lines)?$/.exec(path) ?? [];
  const bill = bills.get(Number(id));
  if (bill === undefined) return nothingHere();
  if (lines !== undefined && method === 'GET') {
    const texts = bill.lines.map(
      (line) =>
        `{"id":${line.id},"bill_id":${bill.id},"description":${JSON.stringify(line.description)},"amount":${major(line.cents)}}`,
    );
    return json(200, `[${texts.join(',')}]`);
  }
  if (lines !== undefined) return nothingHere();
  if (method === 'GET') return json(200, billText(bill));
  if (method === 'DELETE') {
    bills.delete(bill.id);
    return { status: 204 };
  }
  if (method !== 'PUT') return nothingHere();
  if (body === undefined) return noObject();
  const content = readBill(body);
  if (Array.isArray(content)) return unprocessable(content);
  const replaced = { ...bill, ...content };
  bills.set(bill.id, replaced);
  return json(200, billText(replaced));
}

/** V1 writes two decimals, as services that count in decimals do. */
const major = (cents: number): string => (cents / 100).toFixed(2);

function billText({ id, name, cents, status, due, customerName, customerEmail }: Bill): string {
  const [title, day, customer, email] = [name, due?.slice(0, 10) ?? null, customerName, customerEmail].map(
    (value) => JSON.stringify(value),
  );
  return `{"id":${id},"name":${title},"customer_name":${customer},"customer_email":${email},"amount":${major(cents)},"status":"${V1_STATUS[status]}","due":${day}}`;
}

function readBill(body: Readonly<Record<string, unknown>>): Content | string[] {
  const { name, customer_name: customerName, customer_email: customerEmail, amount, status, due } = body;
  const faults: string[] = [];
  const refuse = (sentence: string): void => void faults.push(sentence);
  if (!isOptionalText(name)) refuse('The name must be a text.');
  if (!isText(customerName)) refuse('The customer must have a name.');
  if (!isOptionalText(customerEmail)) refuse('The email address must be a text.');
  const cents = typeof amount === 'number' ? Math.round(amount * 100) : Number.NaN;
  if (!(cents >= 0) || cents / 100 !== amount) refuse('The amount must be an amount of money.');
  const kept = ({ open: 'outstanding', paid: 'paid', void: 'void' } as const)[textOf(status ?? 'open') ?? ''];
  if (kept === undefined) refuse('That is no status.');
  const isDue = isAbsent(due) || (typeof due === 'string' && isDay(due));
  if (!isDue) refuse('The day that it is due must be a date.');
  if (faults.length > 0 || kept === undefined) return faults;
  return {
    name: textOf(name),
    customerName: textOf(customerName) ?? '',
    customerEmail: textOf(customerEmail),
    cents,
    currency: 'AUD',
    status: kept,
    due: typeof due === 'string' ? `${due}T00:00:00Z` : null,
  };
}

// V2 -----------------------------------------------------------------------------------------------------------------

const STATUSES = ['outstanding', 'paid', 'void'] as const;

const INVOICE_MEMBERS: ReadonlySet<string> = new Set([
  'name',
  'customer',
  'amount_cents',
  'currency',
  'status',
  'due_at',
]);

function respondV2({ store, method, path, query, account, body }: Asked): Answer {
  const invoices = store.bills(account);
  if (path === '/invoices' && method === 'GET') {
    const wanted = query.get('status');
    const all = [...invoices.values()].filter(({ status }) => wanted === null || status === wanted);
    const number = Number(query.get('cursor')?.slice(1) ?? 1) || 1;
    const isLast = number * pageSize(query, 'limit') >= all.length;
    const list = page(query, 'limit', number, all).map(invoiceOf);
    const next = isLast ? null : `p${number + 1}`;
    return json(200, JSON.stringify({ invoices: list, next_cursor: next, total: all.length }));
  }
  if (path === '/invoices' && method === 'POST') {
    if (body === undefined) return noObject();
    const content = readInvoice(body);
    if (Array.isArray(content)) return unprocessable(content);
    const invoice = invoiceOf(store.create(account, content));
    return json(201, JSON.stringify(invoice), { Location: `/api/v2/invoices/${invoice.id}` });
  }
  if (path === '/lines' && method === 'GET') {
    const found = invoices.get(numberIn(query.get('invoice') ?? ''));
    if (found === undefined) return nothingHere();
    const lines = found.lines.map((line) => ({
      id: `line_${line.id}`,
      invoice_id: `inv_${found.id}`,
      description: line.description,
      amount_cents: line.cents,
    }));
    return json(200, JSON.stringify(lines));
  }
  const [, id = ''] = /^\/invoices\/([^/]+)$/.exec(path) ?? [];
  const found = invoices.get(numberIn(id));
  if (found === undefined) return nothingHere();
  if (method === 'GET') return json(200, JSON.stringify(invoiceOf(found)));
  if (method === 'DELETE') {
    invoices.delete(found.id);
    return { status: 204 };
  }
  if (method !== 'PUT') return nothingHere();
  if (body === undefined) return noObject();
  const content = readInvoice(body);
  if (Array.isArray(content)) return unprocessable(content);
  const replaced = { ...found, ...content };
  invoices.set(found.id, replaced);
  return json(200, JSON.stringify(invoiceOf(replaced)));
}

const numberIn = (id: string): number => Number(/^inv_(\d+)$/.exec(id)?.[1] ?? Number.NaN);

function invoiceOf(bill: Bill): Readonly<Record<string, unknown>> & { readonly id: string } {
  return {
    id: `inv_${bill.id}`,
    name: bill.name,
    customer: { name: bill.customerName, email: bill.customerEmail },
    amount_cents: bill.cents,
    currency: bill.currency,
    status: bill.status,
    due_at: bill.due,
  };
}

function readInvoice(body: Readonly<Record<string, unknown>>): Content | string[] {
  const { name, customer, amount_cents: cents, currency, status = 'outstanding', due_at: due } = body;
  const faults: string[] = [];
  const refuse = (sentence: string): void => void faults.push(sentence);
  const { name: customerName, email } = { name: undefined, email: undefined, ...Object(customer) };
  if (!isOptionalText(name)) refuse('The name must be a text.');
  if (!isText(customerName)) refuse('The customer must have a name.');
  if (!isOptionalText(email)) refuse('The email address must be a text.');
  if (!Number.isSafeInteger(cents) || Number(cents) < 0) refuse('The amount must be an amount of money.');
  if (typeof currency !== 'string' || !/^[A-Z]{3}$/.test(currency))
    refuse('The currency must have three letters.');
  const kept = STATUSES.find((known) => known === (status ?? 'outstanding'));
  if (kept === undefined) refuse('That is no status.');
  const isDue =
    isAbsent(due) ||
    (typeof due === 'string' && /^.{10}T\d\d:\d\d:\d\dZ$/.test(due) && isDay(due.slice(0, 10)));
  if (!isDue) refuse('The day that it is due must be a date.');
  for (const member of Object.keys(body)) if (!INVOICE_MEMBERS.has(member)) refuse(`${member} is not known.`);
  if (faults.length > 0 || kept === undefined) return faults;
  return {
    name: textOf(name),
    customerName: textOf(customerName) ?? '',
    customerEmail: textOf(email),
    cents: Number(cents),
    currency: textOf(currency) ?? '',
    status: kept,
    due: textOf(due),
  };
}

if (import.meta.main) {
  const { hostname, port } = new URL(`http://${process.argv[2] ?? '127.0.0.1:8090'}`);
  createInvoicing().listen(Number(port), hostname, () => {
    process.stdout.write(`invoicing on http://${hostname}:${port}, V1 under /api/v1 and V2 under /api/v2\n`);
  });
}
