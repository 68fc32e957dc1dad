import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { devNull, tmpdir } from 'node:os';
import { join } from 'node:path';
import { styleText } from 'node:util';
import { isMap, isSeq, parseDocument } from 'yaml';
import { loadRuleBook } from '../../node/rule-books.ts';
import type { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import { type EditRecord, refusalText } from '../../rewrite/records.ts';
import { environmentName, settings } from '../../settings/settings.ts';
import { liveUntilSignal, refuseStart, stderrLog } from '../life-cycle.ts';
import { startServing } from '../serve/serving.ts';
import { givenSettings } from '../settings-file.ts';
import { reachable, terminalOf, wrapLines } from '../terminal.ts';

/** An attribute that V1 had deprecated and V2 has dropped. The name is invented, because no document lists one. */
export const DEPRECATED_ATTRIBUTE = 'legacy_code';

/** Dated releases of the demo's V2. Only the first is a real one; the reference service invents the difference. */
const DEMO_RELEASES = ['2025-01-01', '2026-06-01'] as const;

/** A V1 request in the demo; `{property}` in the path is replaced by the property that the floor plan order created. */
interface DemoRequest {
  readonly operation: string;
  readonly method: 'POST' | 'PATCH';
  readonly path: string;
  readonly body: string;
}

/** A V1 request for each of the seven operations, as integrations send them today. */
export const DEMO_REQUESTS: readonly DemoRequest[] = [
  {
    operation: 'create_client',
    method: 'POST',
    path: '/clients',
    body: '{"data": {"name": "Harbour Realty", "external_reference": "12345678901234567890"}}',
  },
  {
    operation: 'create_contact',
    method: 'POST',
    path: '/contacts',
    body: '{"data": {"first_name": "Zo\\u00eb", "last_name": "Park", "email": "zoe@example.org"}}',
  },
  {
    operation: 'order_floor_plan',
    method: 'POST',
    path: '/orders/floor_plans',
    body: `{"data": {
  "external_id": "FP-1",
  "property": {
    "display_name": "Harbour Loft",
    "street_address": "1 Main St", "suburb": "Enmore", "state": "NSW", "postcode": "2042",
    "country": "Australia", "latitude": -33.90, "longitude": 151.170
  }
}}`,
  },
  {
    operation: 'order_post_production',
    method: 'POST',
    path: '/orders/post_productions',
    body: '{"data": {"external_id": "PP-1", "transition_type": "slide", "property": {"display_name": "Loft", "suburb": "Enmore"}}}',
  },
  {
    operation: 'create_booking',
    method: 'POST',
    path: '/bookings',
    body: '{"data": {"external_id": "BK-1", "scheduled_at": "2026-12-01T09:00:00+11:00", "services": ["floor_plan"]}}',
  },
  {
    operation: 'create_virtual_tour',
    method: 'POST',
    path: '/virtual_tours',
    body: '{"name": "Already flat: this client only changes its URL"}',
  },
  {
    operation: 'update_property',
    method: 'PATCH',
    path: '/properties/{property}',
    body: '{"data": {"display_name": "Harbour Loft, renovated"}, "sent_by": "crm 4.2"}',
  },
];

/** A V1 request with a deprecated attribute: V2 refuses it unless the rule book strips the attribute. */
const STRIPPED_REQUEST: DemoRequest = {
  operation: 'update_property, with a deprecated attribute',
  method: 'PATCH',
  path: '/properties/{property}',
  body: `{"data": {"property_type": "loft", "${DEPRECATED_ATTRIBUTE}": "HL-7"}}`,
};

/** Plays the demo with these flags, then serves until a signal. */
export async function runDemo(flagsGiven: Readonly<Record<string, string | undefined>>): Promise<void> {
  const { GATEWAY_UPSTREAM: _, ...environment } = process.env;
  const given = definedOnly(flagsGiven);
  const { file } = await givenSettings(given, environment);
  const hasOwnRules =
    given['rules'] !== undefined ||
    environment['GATEWAY_RULES'] !== undefined ||
    file?.values.has('rules') === true;
  const book = hasOwnRules ? undefined : await writeDemoRuleBook(DEPRECATED_ATTRIBUTE);
  const unchosen = [settings.listen, settings.adminListen].filter(
    (setting) =>
      given[setting.name] === undefined &&
      !environment[environmentName(setting)] &&
      file?.values.has(setting.name) !== true,
  );
  const free = await freeAddresses(unchosen.map(({ name, initial }) => [name, String(initial)]));
  print(free.note);
  const flags = {
    'log-file': devNull,
    ...free.addresses,
    ...(book === undefined ? {} : { rules: book.path }),
    ...given,
  };
  process.once('exit', () => book?.remove());
  const sources = await givenSettings(flags, environment);
  const log = stderrLog(sources);
  const started = await startServing(sources, log, { releases: DEMO_RELEASES });
  if ('faults' in started) {
    await refuseStart(log, started.faults);
    return;
  }
  await play(started.running.origin, started.ruleBooks.current);
  const origin = reachable(started.running.origin);
  const adminOrigin = reachable(started.running.adminOrigin);
  // Before the sentence that names Ctrl-C, which a reader may press at once.
  const ended = liveUntilSignal(started.life);
  const end = `${styleText('bold', 'Still serving')} on ${origin}; these requests are on ${adminOrigin}. Stop with Ctrl-C.\n`;
  print(wrapLines(end, terminalOf(process.stdout).columns, 0));
  process.exit(await ended);
}

/**
 * Keeps each default address that is free. If another gateway uses them, free ports of the same hosts replace them, and a note about
 * `who` says so. Addresses that the user chose are not checked here: if one is taken, the start reports it.
 */
export async function freeAddresses<Name extends string>(
  defaults: readonly (readonly [Name, string])[],
  who = 'the demo',
): Promise<{ readonly addresses: Partial<Record<Name, string>>; readonly note: string }> {
  const addresses: Partial<Record<Name, string>> = {};
  const taken: string[] = [];
  for (const [name, address] of defaults) {
    const colon = address.lastIndexOf(':');
    const host = address.slice(0, colon);
    const isFree = await canListen(host, Number(address.slice(colon + 1)));
    if (!isFree) taken.push(address);
    addresses[name] = isFree ? address : `${host}:0`;
  }
  const note =
    taken.length === 0
      ? ''
      : `${taken.join(' and ')} ${taken.length === 1 ? 'is' : 'are'} taken, so ${who} listens on ${taken.length === 1 ? 'a free port' : 'free ports'} instead.\n\n`;
  return { addresses, note };
}

async function canListen(host: string, port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen({ host, port, exclusive: true });
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}

function definedOnly(flags: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(flags).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

async function play(origin: string, rules: CompiledRuleBook): Promise<void> {
  let property = '1';
  let order = '/orders/post_productions/1';
  for (const request of [...DEMO_REQUESTS, STRIPPED_REQUEST]) {
    const path = request.path.replace('{property}', property);
    const response = await send(origin, `${request.method} /api/v1${path}`, request.body);
    const [, id = '1'] = /"id":(\d+)/.exec(response.text) ?? [];
    const [, propertyId = '1'] = /"property_id":(\d+)/.exec(response.text) ?? [];
    if (request.operation === 'order_floor_plan') property = propertyId;
    if (request.operation === 'order_post_production') order = `${path}/${id}`;
    const { status, text } = response;
    print(
      `${describeRewrite(request, path, rules, terminalOf(process.stdout).columns)}  ${styleText(colourOf(status), `response ${status}`)} ${styleText('dim', text.trim())}\n\n`,
    );
  }
  const pin = rules.ruleBook.version;
  const read = await send(origin, `GET /api/v1${order}`, undefined);
  const readInV2 = await send(origin, `GET /api/v2${order}`, undefined, pin);
  print(describeRead('read_post_production_order', order, read, readInV2));
  await compare(origin, {
    title: `Without the strip rule: ${DEPRECATED_ATTRIBUTE} reaches V2`,
    line: `PATCH /api/v2/properties/${property}`,
    version: pin,
    body: `{"property_type": "loft", "${DEPRECATED_ATTRIBUTE}": "HL-7"}`,
  });
  const client = { line: 'POST /api/v2/clients', body: '{"name": "Harbour Realty"}' };
  await compare(origin, {
    ...client,
    title: 'Without the version header: the latest release',
    version: undefined,
  });
  await compare(origin, { ...client, title: 'With it, as the gateway sends it', version: pin });
}

/** A V2 request to compare the gateway's rewriting with. */
interface V2Request {
  /** Its purpose. */
  readonly title: string;
  /** Method and path, such as `POST /api/v2/clients`. */
  readonly line: string;
  /** The version header; undefined without one. */
  readonly version: string | undefined;
  readonly body: string;
}

/** Sends a V2 request through the gateway, which passes it unchanged, and prints it with the response. */
async function compare(origin: string, { title, line, version, body }: V2Request): Promise<void> {
  const { status, release, text } = await send(origin, line, body, version);
  const served = release === null ? '' : `, served by release ${release}`;
  print(
    [
      styleText('bold', title),
      `  V2  ${styleText('green', line)}  ${versionText(version)}`,
      indent(body),
      `  ${styleText(colourOf(status), `status ${status}`)}${served} ${styleText('dim', text.trim())}`,
      '',
      '',
    ].join('\n'),
  );
}

async function send(
  origin: string,
  line: string,
  body: string | undefined,
  version?: string,
): Promise<DemoResponse> {
  const [method = '', path = ''] = line.split(' ');
  const response = await fetch(`${origin}${path}`, {
    method,
    headers: {
      authorization: 'Bearer demo',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(version === undefined ? {} : { 'x-api-version': version }),
    },
    ...(body === undefined ? {} : { body }),
  });
  const release = response.headers.get('x-api-version');
  return { status: response.status, release, text: await response.text() };
}

function print(text: string): void {
  process.stdout.write(text);
}

interface DemoResponse {
  readonly status: number;
  /** The `x-api-version` of the response; null without one. */
  readonly release: string | null;
  readonly text: string;
}

/** The V1 request, the V2 request that the gateway makes from it, and the reason for each edit. */
function describeRewrite(
  request: DemoRequest,
  path: string,
  rules: CompiledRuleBook,
  columns: number | undefined,
): string {
  const { ruleBook } = rules;
  const rewrite = rules
    .requestPlan(rules.match(request.method, path))
    .rewrite(new TextEncoder().encode(request.body));
  const lines = [
    styleText('bold', request.operation),
    `  V1  ${styleText('red', `${request.method} /api/v1${path}`)}`,
    indent(request.body),
  ];
  if (rewrite.verdict === 'refused')
    return [...lines, `  refused: ${refusalText(rewrite.refusal)}`, ''].join('\n');
  const reasons = new Map(ruleBook.changes.map((change) => [change.id, change.summary]));
  return [
    ...lines,
    `  V2  ${styleText('green', `${request.method} /api/v2${path}`)}  ${versionText(ruleBook.version)}`,
    indent(new TextDecoder().decode(rewrite.body)),
    ...rewrite.records.map((record, k) =>
      wrapLines(describeRecord(record, rewrite.records[k - 1], reasons), columns, 8),
    ),
    '',
  ].join('\n');
}

/** A read of one resource: the V1 client's response, and V2's. */
function describeRead(operation: string, path: string, v1: DemoResponse, v2: DemoResponse): string {
  return [
    styleText('bold', operation),
    `  V1  ${styleText('red', `GET /api/v1${path}`)}  ${styleText(colourOf(v1.status), `status ${v1.status}`)}`,
    indent(v1.text.trim()),
    `  V2  ${styleText('green', `GET /api/v2${path}`)}  ${styleText(colourOf(v2.status), `status ${v2.status}`)}`,
    indent(v2.text.trim()),
    '',
    '',
  ].join('\n');
}

function describeRecord(
  { change, rule, from, path, note }: EditRecord,
  before: EditRecord | undefined,
  reasons: ReadonlyMap<string, string>,
): string {
  const where = [from, path]
    .filter((pointer) => pointer !== undefined)
    .map((pointer) => pointer || '(the body)');
  const reason = before?.change === change && before.rule === rule ? '' : (reasons.get(change) ?? change);
  const why = `${reason}${note === undefined ? '' : ` (${note})`}`;
  return `  ${styleText('yellow', rule.padEnd(7))} ${where.join(' → ')}  ${styleText('dim', why)}`;
}

function versionText(version: string | undefined): string {
  if (version === undefined) return styleText('dim', 'no x-api-version');
  return styleText('dim', `x-api-version: ${version}`);
}

function colourOf(status: number): 'green' | 'red' {
  return status < 300 ? 'green' : 'red';
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '      ');
}

interface TemporaryRuleBook {
  readonly path: string;
  /** Removes the file. */
  readonly remove: () => void;
}

/**
 * Writes the shipped rule book to a temporary file, with `attribute` added to the `strip` rule of its change `removed-attributes`, as an
 * operator would. Undefined if the shipped rule book cannot be read or has no such rule; the start then says why.
 */
async function writeDemoRuleBook(attribute: string): Promise<TemporaryRuleBook | undefined> {
  const shipped = await loadRuleBook(settings.rules.value);
  if ('faults' in shipped) return undefined;
  const text = withStripped(shipped.text, attribute);
  if (text === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'capture-gateway-demo-'));
  const path = join(folder, 'rules.yaml');
  writeFileSync(path, text);
  return { path, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

function withStripped(text: string, attribute: string): string | undefined {
  const document = parseDocument(text);
  const changes = document.get('changes');
  if (!isSeq(changes)) return undefined;
  const at = changes.items.findIndex((change) => isMap(change) && change.get('id') === 'removed-attributes');
  const stripped = document.getIn(['changes', at, 'request', 0, 'strip']);
  if (!isSeq(stripped)) return undefined;
  stripped.add(attribute);
  return document.toString();
}
