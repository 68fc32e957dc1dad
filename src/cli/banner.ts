import type { Settings } from '../settings/read-settings.ts';
import { originText } from '../settings/setting-kinds.ts';
import { settings as table } from '../settings/settings.ts';
import type { ProcessLine } from '../node/log/process-log.ts';
import type { RuleBooks } from '../node/rule-books.ts';
import type { RunningGateway } from '../node/start-gateway.ts';
import { packageVersion } from './package-version.ts';

/** The facts of a start that the banner shows. */
export interface BannerParts {
  readonly running: RunningGateway;
  readonly settings: Settings;
  readonly ruleBooks: RuleBooks;
  readonly rulesPath: string;
  /** The origin of the embedded V2, when it runs. */
  readonly embedded: string | undefined;
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
function banner({ running, settings, ruleBooks, rulesPath, embedded }: BannerParts): string {
  const book = ruleBooks.current.ruleBook;
  const upstream = settings.get(table.upstream);
  const assumed = book.operations.filter((operation) => operation.assumed).length;
  const secret = settings.get(table.clientSecret);
  return [
    `capture-gateway ${packageVersion()} on Node ${process.versions.node}`,
    `  clients    ${running.origin}`,
    `  admin      ${running.adminOrigin}`,
    `  V2         ${upstream === undefined ? `the embedded reference at ${embedded ?? ''} (set GATEWAY_UPSTREAM for another)` : originText(upstream)}`,
    `  rule book  ${rulesPath}: ${book.operations.length} operations, ${book.changes.length} changes, hash ${book.hash}`,
    `             ${assumed} of the paths ${assumed === 1 ? 'is an assumption' : 'are assumptions'} (see check)`,
    ...(secret === undefined
      ? ['             client names change at each start (set GATEWAY_CLIENT_SECRET to keep them)']
      : []),
    '',
    'Order a floor plan as a V1 client does:',
    `  curl -i ${running.origin}/api/v1/orders/floor_plans -H 'Authorization: Bearer any-key' -H 'Content-Type: application/json' \\`,
    `    -d '{"data":{"property":{"display_name":"Harbour Loft","street_address":"1 Main St","suburb":"Enmore","state":"NSW","postcode":"2042","country":"Australia"}}}'`,
    '',
  ].join('\n');
}
