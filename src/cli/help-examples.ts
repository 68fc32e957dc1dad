import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { hasColour, painter, program } from './terminal.ts';

/** Descriptions, rules and cases of another API that come with the program. */
const SHIPPED = fileURLToPath(new URL('../../examples/invoicing', import.meta.url));

/** The rewrite log that the example of `serve` writes, and other examples read. */
const LOG = 'rewrite.jsonl';

/** One command to paste for each that runs something; `@` is the folder of the shipped example, and `$` the program. */
const EXAMPLES: Readonly<Record<string, string>> = {
  serve: `$ serve --log-file ${LOG}`,
  'demo tour': '$ demo',
  'demo requests': '$ demo requests --capture bodies',
  reference: '$ reference --dialect both --rate 60',
  try: '$ try --v1 @/v1.yaml --v2 @/v2.yaml --dir my-api',
  init: '$ init --v1 @/v1.yaml --v2 @/v2.yaml --dir my-api',
  check: '$ check --rules @/rules.yaml --v1 @/v1.yaml --v2 @/v2.yaml',
  explain: "$ explain --curl 'curl http://127.0.0.1:8080/api/v1/orders?page=2'",
  test: '$ test @/cases --rules @/rules.yaml',
  'replay record': `$ replay record --log ${LOG} --out requests.jsonl`,
  'replay check': '$ replay check requests.jsonl --rules config/rules.yaml',
  draft: '$ draft --v1 @/v1.yaml --v2 @/v2.yaml --out drafted.yaml',
  openapi: '$ openapi @/v2.yaml --rules @/rules.yaml --format yaml',
  report: `$ report ${LOG}`,
  'plan make': `$ plan ${LOG} --avoid 2026-12-24..2027-01-02`,
  'plan rehearse': `$ plan rehearse ${LOG} --window 2026-11-24T09:00/10:00`,
  'clients list': '$ clients',
  'clients hash': 'echo any-key | GATEWAY_CLIENT_SECRET=0123456789abcdef $ clients hash',
  'clients name': "$ clients name 0123456789abcdef 'Acme Media' --names clients.yaml",
  tail: `$ tail --follow ${LOG} --filter status:4xx`,
  status: '$ status',
  'rollout show': '$ rollout',
  'rollout observe': "$ rollout observe --operation list_clients --why 'V2 is slow'",
  'rollout shadow': '$ rollout shadow --operation list_clients',
  'rollout canary': '$ rollout canary 5 --operation list_clients',
  'rollout verify': '$ rollout verify 10 --operation list_clients',
  'rollout migrate': '$ rollout migrate --operation list_clients',
  'rollout clear': '$ rollout clear --operation list_clients',
  twin: '$ twin',
  completion: 'source <($ completion bash)',
};

/** The example of a command, as it is typed in `folder`; for one with subcommands, that of the first. */
export function exampleOf(path: string, start = program(), folder = process.cwd()): string {
  const [, example = ''] =
    Object.entries(EXAMPLES).find(([name]) => name === path || name.startsWith(`${path} `)) ?? [];
  return example.replaceAll('@', relative(folder, SHIPPED)).replaceAll('$', start);
}

/** Ends the help of a command, and of each below it, with an example. */
export function addExamples(command: Command, path: string): void {
  command.addHelpText('after', () => {
    const title = painter({ hasColour: hasColour(process.stdout) })('bold', 'Example:');
    return `\n${title}\n${broken(`  ${exampleOf(path)}`, process.stdout.columns)}`;
  });
  for (const below of command.commands) addExamples(below, `${path} ${below.name()}`);
}

/** A command on lines of at most `columns` where its options allow it, so that it can still be pasted. */
function broken(command: string, columns = 80): string {
  const lines: string[] = [];
  for (const part of command.split(/ (?=--\w)/)) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + part.length + 3 <= columns)
      lines.splice(-1, 1, `${line} ${part}`);
    else lines.push(line === undefined ? part : `      ${part}`);
  }
  return lines.join(' \\\n');
}
