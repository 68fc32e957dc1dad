import type { Settings } from '../../settings/read-settings.ts';
import { originText } from '../../settings/setting-kinds.ts';
import { settings as table } from '../../settings/settings.ts';
import type { ProcessLine } from '../../node/log/process-log.ts';
import type { RuleBooks } from '../../node/rule-books.ts';
import type { RunningGateway } from '../../node/start-gateway.ts';
import { type Fact, factLines } from '../terminal.ts';
import { packageVersion } from '../package-version.ts';
import { counted } from '../../report/text.ts';

/** The facts of a start that the banner shows. */
export interface BannerParts {
  readonly running: RunningGateway;
  readonly settings: Settings;
  readonly ruleBooks: RuleBooks;
  readonly rulesPath: string;
  /** The origin of the embedded V2, when it runs. */
  readonly embedded: string | undefined;
  /** Characters in a line of the terminal; undefined where it is none. */
  readonly columns: number | undefined;
}

/** The process log line with addresses and rule book; its text is the human-readable banner. */
export function startedLine(parts: BannerParts): ProcessLine {
  const { running, settings, ruleBooks, embedded } = parts;
  const upstream = settings.get(table.upstream);
  return {
    level: 'info',
    event: 'started',
    message: `capture-gateway ${packageVersion()} serves clients on ${running.origin}.`,
    text: banner(parts),
    fields: {
      version: packageVersion(),
      node: process.versions.node,
      clients: running.origin,
      admin: running.adminOrigin,
      upstream: upstream === undefined ? embedded : `${upstream.origin}${upstream.path}`,
      ruleBook: ruleBooks.current.ruleBook.hash,
    },
  };
}

/** The human-readable banner: addresses, rule book, and a request to paste. */
function banner({ running, settings, ruleBooks, rulesPath, embedded, columns }: BannerParts): string {
  const book = ruleBooks.current.ruleBook;
  const upstream = settings.get(table.upstream);
  const assumed = book.operations.filter((operation) => operation.assumed).length;
  const secret = settings.get(table.clientSecret);
  const v2 =
    upstream === undefined
      ? `the embedded reference at ${embedded ?? ''} (set GATEWAY_UPSTREAM for another)`
      : originText(upstream);
  const facts: readonly Fact[] = [
    ['clients', running.origin],
    ['admin', running.adminOrigin],
    ['V2', v2],
    [
      'rule book',
      `${rulesPath}: ${counted(book.operations.length, 'operation')}, ${counted(book.changes.length, 'change')}, hash ${book.hash}`,
    ],
    ['', `${assumed} of the paths ${assumed === 1 ? 'is an assumption' : 'are assumptions'} (see check)`],
    ...(secret === undefined
      ? [['', 'client names change at each start (set GATEWAY_CLIENT_SECRET to keep them)'] as const]
      : []),
  ];
  return [
    `capture-gateway ${packageVersion()} on ${runtimeText(process.versions)}`,
    ...factLines(facts, 11, columns),
    '',
    'Order a floor plan as a V1 client does:',
    `  curl -i ${running.origin}/api/v1/orders/floor_plans -H 'Authorization: Bearer any-key' -H 'Content-Type: application/json' \\`,
    `    -d '{"data":{"property":{"display_name":"Harbour Loft","street_address":"1 Main St","suburb":"Enmore","state":"NSW","postcode":"2042","country":"Australia"}}}'`,
    '',
  ].join('\n');
}

/** Bun and Deno give the version of Node that they follow, too. */
function runtimeText({ bun, deno, node = '' }: Readonly<Record<string, string | undefined>>): string {
  if (bun !== undefined) return `Bun ${bun}`;
  return deno === undefined ? `Node ${node}` : `Deno ${deno}`;
}
