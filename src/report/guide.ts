import type { EditRecord } from '../rewrite/rewrite.ts';
import type { Entry } from '../rewrite-log/entry.ts';
import { table } from './markdown-table.ts';
import { count } from './number-text.ts';
import { markdownBlock, markdownCode, markdownText } from './untrusted-text.ts';
import { generalPointer } from '../json/json-pointer.ts';
import { sketchJson } from './json-sketch.ts';
import { movedPointer } from '../rewrite-log/value-masks.ts';

/** Id and summary of a change. */
export interface GuideChange {
  readonly id: string;
  readonly summary: string;
}

interface Call {
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly edits: readonly EditRecord[];
  readonly attributes: Set<string>;
  count: number;
  last: string;
}

/** Maximum kinds of calls of one client in a guide, which is for human readers. */
const MAX_CALLS = 100;

/** Collects the V1 calls of one client, and describes the changes it has to make. */
export class Guide {
  /** The client hash or a prefix of it: entries of other clients do not count. */
  readonly client: string;
  private readonly calls = new Map<string, Call>();
  private clientHashes = new Set<string>();
  private requests = 0;
  private omitted = 0;

  constructor(client: string) {
    this.client = client;
  }

  /** Clients whose hash begins with `client`; more than one means that the prefix is too short. */
  get clients(): readonly string[] {
    return [...this.clientHashes];
  }

  add(entry: Entry): void {
    if (entry.route !== 'migrate' || entry.client?.startsWith(this.client) !== true) return;
    this.clientHashes.add(entry.client);
    this.requests += 1;
    const operation = entry.operation ?? '';
    const key = JSON.stringify([operation, entry.method, operation === '' ? entry.path : '', entry.edits]);
    const known = this.calls.get(key);
    if (known === undefined && this.calls.size >= MAX_CALLS) {
      this.omitted += 1;
      return;
    }
    const call = known ?? {
      operation,
      method: entry.method,
      path: entry.path,
      edits: entry.edits,
      attributes: new Set(),
      count: 0,
      last: '',
    };
    this.calls.set(key, call);
    call.count += 1;
    if (entry.time > call.last) call.last = entry.time;
    for (const attribute of entry.attributes ?? []) call.attributes.add(attribute);
  }

  /** The guide, in Markdown. Values are `…`: the log has none. */
  markdown(changes: readonly GuideChange[], version: string, name?: string): string {
    const calls = [...this.calls.values()].sort((one, other) => other.count - one.count);
    const [client] = this.clientHashes;
    const title = `# From V1 to V2: ${markdownText(name ?? `client ${client ?? this.client}`)}`;
    if (calls.length === 0) return `${title}\n\nNo V1 request of this client was found.\n`;
    const used = changes.filter(({ id }) =>
      calls.some((call) => call.edits.some((edit) => edit.change === id)),
    );
    const sections = [
      title,
      `${count(this.requests)} requests to V1 were examined. Each kind of call is shown below as it is now and as V2 expects it. Values are shown as \`…\`.`,
      '## For every call',
      `- The path begins with \`/api/v2\` instead of \`/api/v1\`.\n- Send \`x-api-version: ${version}\`, so that later releases of V2 do not affect you unexpectedly.`,
      ...(used.length === 0 ? [] : ['## What changed', used.map(({ summary }) => `- ${summary}`).join('\n')]),
      ...calls.map((call) => callSection(call)),
      ...(this.omitted > 0 ? [`${count(this.omitted)} requests of other kinds are not shown.`] : []),
    ];
    return `${sections.join('\n\n')}\n`;
  }
}

function callSection(call: Call): string {
  const path = call.path.replace(/^\/api\/v1(?=[/?]|$)/, '/api/v2');
  const heading = `## ${markdownText(call.operation === '' ? `${call.method} ${call.path}` : call.operation)}`;
  const usage = `${count(call.count)} requests, the last at ${markdownText(call.last)}.`;
  const edits = call.edits.filter((edit) => edit.note !== 'already-flat');
  const heads = { before: `${call.method} ${call.path}`, after: `${call.method} ${path}` };
  if (edits.length === 0) {
    return `${heading}\n\n${usage} The body stays the same; only the address changes.\n\n${fence('Before', heads.before)}\n\n${fence('After', heads.after)}`;
  }
  const before = sketchJson([...call.attributes, ...edits.map((edit) => edit.from ?? '')]);
  const after = sketchJson(movedPointers([...call.attributes], edits));
  const rows = edits.map((edit) => [
    markdownCode(edit.from ?? ''),
    edit.path === undefined ? 'leave out' : markdownCode(edit.path === '' ? '/' : edit.path),
    markdownText(edit.note ?? ''),
  ]);
  return [
    heading,
    usage,
    fence('Before', `${heads.before}\n\n${before}`),
    fence('After', `${heads.after}\n\n${after}`),
    table(['now', 'in V2', 'remark'], rows),
  ].join('\n\n');
}

function fence(title: string, text: string): string {
  return `**${title}**\n\n${markdownBlock('http', text)}`;
}

/** Final pointers of the members; removed ones are omitted. */
function movedPointers(attributes: readonly string[], edits: readonly EditRecord[]): string[] {
  const removed = edits
    .filter((edit) => edit.path === undefined)
    .map((edit) => generalPointer(edit.from ?? ''));
  const moves = edits.map((edit) => generalEdit(edit));
  const all = [
    ...attributes,
    ...edits.filter((edit) => edit.path !== undefined).map((edit) => generalPointer(edit.from ?? '')),
  ];
  return all
    .filter((pointer) => !removed.some((taken) => pointer === taken || pointer.startsWith(`${taken}/`)))
    .map((pointer) => movedPointer(pointer, moves));
}

function generalEdit(edit: EditRecord): EditRecord {
  return {
    change: edit.change,
    rule: edit.rule,
    ...(edit.from === undefined ? {} : { from: generalPointer(edit.from) }),
    ...(edit.path === undefined ? {} : { path: generalPointer(edit.path) }),
  };
}
