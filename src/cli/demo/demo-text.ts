import { styleText } from 'node:util';
import type { CompiledRuleBook } from '../../rewrite/compiled-rule-book.ts';
import { refusalText } from '../../rewrite/malformed.ts';
import type { EditRecord } from '../../rewrite/rewrite.ts';
import type { DemoRequest } from './demo-requests.ts';
import { wrapLines } from '../terminal/wrap-text.ts';

/** A response as the demo prints it. */
export interface DemoResponse {
  readonly status: number;
  /** The `x-api-version` of the response; null without one. */
  readonly release: string | null;
  readonly text: string;
}

/** A V2 request, what it is sent for, and the response. */
export interface DemoComparison {
  readonly title: string;
  /** Such as `POST /api/v2/clients`. */
  readonly line: string;
  /** The version header of the request; undefined without one. */
  readonly version: string | undefined;
  readonly body: string | undefined;
  readonly response: DemoResponse;
}

/** The V1 request, the V2 request that the gateway makes of it, and the reason of each edit. */
export function describeRewrite(
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

/** The status and the body of a response to a V1 request. */
export function describeResponse({ status, text }: DemoResponse): string {
  return `  ${styleText(colourOf(status), `response ${status}`)} ${styleText('dim', text.trim())}\n`;
}

/** A V2 request without the gateway's help, and the response to it. */
export function describeComparison({ title, line, version, body, response }: DemoComparison): string {
  const served = response.release === null ? '' : `, served by release ${response.release}`;
  return [
    styleText('bold', title),
    `  V2  ${styleText('green', line)}  ${version === undefined ? styleText('dim', 'no x-api-version') : versionText(version)}`,
    ...(body === undefined ? [] : [indent(body)]),
    `  ${styleText(colourOf(response.status), `status ${response.status}`)}${served} ${styleText('dim', response.text.trim())}`,
    '',
    '',
  ].join('\n');
}

/** A read of one resource: what the V1 client gets, and what V2 says. */
export function describeRead(operation: string, path: string, v1: DemoResponse, v2: DemoResponse): string {
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

function versionText(version: string): string {
  return styleText('dim', `x-api-version: ${version}`);
}

function colourOf(status: number): 'green' | 'red' {
  return status < 300 ? 'green' : 'red';
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '      ');
}
