import { devNull } from 'node:os';
import { styleText } from 'node:util';
import type { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import { DEMO_RELEASES, DEMO_REQUESTS, DEPRECATED_ATTRIBUTE, STRIPPED_REQUEST } from './demo-requests.ts';
import { writeDemoRuleBook } from './demo-rule-book.ts';
import {
  describeComparison,
  describeRead,
  describeResponse,
  describeRewrite,
  type DemoResponse,
} from './demo-text.ts';
import { liveUntilSignal } from '../life-cycle.ts';
import { refuseStart, stderrLog } from '../process-log.ts';
import { startServing } from '../serve/serving.ts';
import { terminalOf } from '../terminal/terminal.ts';
import { wrapLines } from '../terminal/wrap-text.ts';

/** Plays the demo with these flags, and keeps serving until a signal. */
export async function runDemo(flagsGiven: Readonly<Record<string, string | undefined>>): Promise<void> {
  const { GATEWAY_UPSTREAM: _, ...environment } = process.env;
  const given = definedOnly(flagsGiven);
  const hasOwnRules = given['rules'] !== undefined || environment['GATEWAY_RULES'] !== undefined;
  const book = hasOwnRules ? undefined : await writeDemoRuleBook(DEPRECATED_ATTRIBUTE);
  const flags = {
    'log-file': devNull,
    'reference-release': DEMO_RELEASES,
    ...(book === undefined ? {} : { rules: book.path }),
    ...given,
  };
  process.once('exit', () => book?.remove());
  const log = stderrLog({ flags, environment });
  const started = await startServing(flags, environment, log);
  if ('faults' in started) {
    await refuseStart(log, started.faults);
    return;
  }
  await play(started.running.origin, started.ruleBooks.current);
  const { origin, adminOrigin } = started.running;
  // Before the sentence that names Ctrl-C: somebody may press it at once.
  const ended = liveUntilSignal(started.life);
  const end = `${styleText('bold', 'Still serving')} on ${origin}; these requests are on ${adminOrigin}. Stop with Ctrl-C.\n`;
  print(wrapLines(end, terminalOf(process.stdout).columns, 0));
  process.exit(await ended);
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
    print(
      `${describeRewrite(request, path, rules, terminalOf(process.stdout).columns)}${describeResponse(response)}\n`,
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

interface V2Request {
  readonly title: string;
  readonly line: string;
  readonly version: string | undefined;
  readonly body: string;
}

/** Sends a V2 request, which the gateway passes unchanged, and prints it with the response. */
async function compare(origin: string, request: V2Request): Promise<void> {
  const response = await send(origin, request.line, request.body, request.version);
  print(describeComparison({ ...request, response }));
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
