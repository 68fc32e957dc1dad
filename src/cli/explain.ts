import { readFileSync } from 'node:fs';
import { stdout } from 'node:process';
import { text as textOf } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import type { Explanation } from '../inspector/api.ts';
import { loadRuleBook } from '../node/rule-book-file.ts';
import { readCurl, type RequestFault } from './curl-request.ts';
import { explainText } from './explain-text.ts';
import { readLogRequests } from './log-requests.ts';
import { offlineExplainer } from './offline-explainer.ts';
import { type NamedRequest, readHar, readPostman } from './request-files.ts';
import { requestTarget } from './request-target.ts';

interface ExplainOptions {
  readonly operation?: string;
  readonly method?: string;
  readonly target?: string;
  readonly curl?: string;
  readonly har?: string;
  readonly postman?: string;
  readonly log?: string;
  readonly format: 'text' | 'json';
  readonly failOn: 'refused' | 'edits' | 'never';
  readonly rules: string;
}

/**
 * Adds the command `explain`. Exit codes: 0; 1 when a request is refused (or edited, with the option that asks for it); 2 when
 * nothing can be explained.
 */
export function explain(program: Command): void {
  program
    .command('explain')
    .summary('show what the gateway would do with a request, without sending it')
    .description(
      'Shows edits, diff, V2 request, the policies that decided, and why other rules did nothing. The file holds the JSON body of one request; - is stdin.',
    )
    .argument('[file]', 'JSON body of a request')
    .option('--operation <id>', 'operation of the request in the file')
    .option('--method <method>', 'method, if no operation is given')
    .option('--target <target>', 'path and query as the client sends them, such as /api/v1/clients')
    .option('--curl <command>', 'request as a curl command')
    .option('--har <file>', 'every request of a HAR file')
    .option('--postman <file>', 'every request of a Postman collection')
    .option('--log <file>', 'requests reconstructed from a rewrite log, without values')
    .addOption(new Option('--format <format>', 'output format').choices(['text', 'json']).default('text'))
    .addOption(
      new Option('--fail-on <result>', 'result that gives exit code 1')
        .choices(['refused', 'edits', 'never'])
        .default('refused'),
    )
    .option('--rules <file>', 'rule book', process.env['GATEWAY_RULES'] ?? 'config/rules.yaml')
    .action(async (file: string | undefined, options: ExplainOptions) => {
      const fault = await run(file, options);
      if (fault === undefined) return;
      process.stderr.write(`${fault}\n`);
      process.exitCode = 2;
    });
}

async function run(file: string | undefined, options: ExplainOptions): Promise<string | undefined> {
  const book = await loadRuleBook(options.rules);
  if ('faults' in book) return book.faults.join('\n');
  const requests = await requestsOf(file, options);
  if ('fault' in requests) return requests.fault;
  const explainRequest = offlineExplainer(book.rules);
  const explanations: { readonly name: string; readonly explanation: Explanation }[] = [];
  for (const { name, request } of requests) {
    const explanation = await explainRequest(request);
    if ('fault' in explanation) return explanation.fault;
    explanations.push({ name, explanation });
  }
  if (explanations.length === 0) return 'There is no request to explain.';
  stdout.write(options.format === 'json' ? printJson(explanations) : printText(explanations));
  if (explanations.some(({ explanation }) => isFailure(explanation, options))) process.exitCode = 1;
  return undefined;
}

async function requestsOf(
  file: string | undefined,
  options: ExplainOptions,
): Promise<readonly NamedRequest[] | RequestFault> {
  const { operation, method, target, curl, har, postman, log } = options;
  const sources = [file, curl, har, postman, log].filter((source) => source !== undefined);
  if (sources.length > 1) return { fault: 'Give one of a file, --curl, --har, --postman and --log.' };
  try {
    if (curl !== undefined) {
      const request = readCurl(curl, (path) => readFileSync(path, 'utf8'));
      return 'fault' in request
        ? request
        : [{ name: `${request.method ?? 'GET'} ${request.target ?? ''}`, request }];
    }
    if (har !== undefined) return readHar(readFileSync(har, 'utf8'));
    if (postman !== undefined) return readPostman(readFileSync(postman, 'utf8'));
    if (log !== undefined) return await readLogRequests(log);
    if (file === undefined && operation === undefined && target === undefined) {
      return { fault: 'Name a file, or use --curl, --har, --postman or --log; see --help.' };
    }
    const body =
      file === '-'
        ? await textOf(process.stdin)
        : file === undefined
          ? undefined
          : readFileSync(file, 'utf8');
    const request = {
      ...(operation === undefined ? {} : { operation }),
      ...(method === undefined ? {} : { method }),
      ...(target === undefined ? {} : { target: requestTarget(target) }),
      ...(body === undefined ? {} : { body }),
    };
    return [{ name: file ?? operation ?? target ?? 'request', request }];
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return { fault: `The request cannot be read: ${error.message}.` };
  }
}

function printText(
  explanations: readonly { readonly name: string; readonly explanation: Explanation }[],
): string {
  const colour = stdout.isTTY && stdout.hasColors();
  const texts = explanations.map(({ name, explanation }) => explainText(name, explanation, colour));
  if (texts.length === 1) return texts.join('');
  const refused = explanations.filter(({ explanation }) => explanation.verdict === 'refused').length;
  const edited = explanations.filter(({ explanation }) => explanation.verdict === 'rewritten').length;
  return `${texts.join('\n')}\n${texts.length} requests: ${edited} rewritten, ${refused} refused.\n`;
}

function printJson(
  explanations: readonly { readonly name: string; readonly explanation: Explanation }[],
): string {
  const all = explanations.map(({ name, explanation }) => Object.assign({ name }, explanation));
  return `${JSON.stringify(all.length === 1 ? all[0] : all, null, 2)}\n`;
}

function isFailure({ verdict, edits }: Explanation, { failOn }: ExplainOptions): boolean {
  if (failOn === 'never') return false;
  return verdict === 'refused' || (failOn === 'edits' && edits.some((edit) => edit.note !== 'already-flat'));
}
