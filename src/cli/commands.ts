import { userInfo } from 'node:os';
import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import type { RolloutRequest } from '../rollout/rollout-tally.ts';
import { GONE_AFTER_DAYS, readInstant } from '../rules/rollout.ts';
import { didYouMean } from '../rules/rule-book-fault.ts';
import { allSettings, environmentName, type Setting, settings as table } from '../settings/settings.ts';
import { reachableOrigin } from '../settings/setting-kinds.ts';
import { type CommandFault, endWith } from './command-fault.ts';
import type { RolloutOptions } from './rollout.ts';
import {
  addReferenceOptions,
  addSettings,
  configOption,
  flagsOf,
  lineOf,
  RULES_GROUP,
} from './setting-options.ts';
import type { TwinOptions } from './twin.ts';

/** Defines `serve`, which runs the gateway until SIGTERM or SIGINT. */
export function serve(command: Command): void {
  command.description(
    'Runs the gateway. SIGTERM and SIGINT finish the requests in flight and stop; SIGHUP reads rule book and certificates again, and reopens the log file (and stops a gateway whose terminal has closed). Each flag is also a variable (--max-in-flight: GATEWAY_MAX_IN_FLIGHT) and a line of the file --config. Defaults are in brackets; https://github.com/capture-gateway/capture-gateway/blob/main/docs/settings.md says more.',
  );
  addSettings(command, allSettings)
    .addOption(new Option('--force', 'start although the rule book has TODO lines').helpGroup(RULES_GROUP))
    .action(async ({ force, ...options }: Record<string, string | undefined> & { readonly force?: true }) => {
      const { serveUntilSignal } = await import('./serve/serving.ts');
      await serveUntilSignal(flagsOf(allSettings, options), force === true);
    });
}

/** Defines `demo`: a tour through a whole migration, and one request for each operation. */
export function demo(command: Command): void {
  command.description(
    'Plays a whole migration, from the first look to the sunset: named clients, V1, V2, and a gateway in front of both.',
  );
  const tour = defaultCommand(command, 'tour');
  tour
    .description(
      "Plays a whole migration in less than a minute: observe, census, strip, shadow, canary, a fault and its roll-back, migrate, sunset. It tells each step in sentences with the gateway's own numbers, and names the page to look at. On a terminal it waits for Enter after each step. It keeps its files in a temporary folder, and removes that at the end and on Ctrl-C. If another program listens on a default address, it takes a free port and says so.",
    )
    .addOption(addressOption(table.listen))
    .addOption(addressOption(table.adminListen))
    .action(async ({ listen, adminListen }: { readonly listen: string; readonly adminListen: string }) => {
      const { playTour } = await import('./demo/tour.ts');
      const program = process.argv[1] ?? '';
      await playTour({ listen, adminListen, program, unchosen: unchosenAddresses(tour) });
    });
  // Its requests always go to the embedded V2.
  const settings = allSettings.filter((setting) => setting !== table.upstream);
  const requests = command
    .command('requests')
    .description(
      "Sends one V1 request for each of the seven operations to a gateway in front of the embedded V2, and prints request, result and reasons. To the shipped rule book it adds a rule that strips the deprecated attribute legacy_code. It then reads an order back, shows V2's responses without that rule and without the version header, and keeps serving. It writes the rewrite log to --log-file, if given.",
    );
  addSettings(requests, settings).action(async (options: Record<string, string | undefined>) => {
    const { runDemo } = await import('./demo/demo.ts');
    await runDemo(flagsOf(settings, options));
  });
}

/** The addresses that neither a flag nor a variable names. */
function unchosenAddresses(command: Command): readonly ('listen' | 'adminListen')[] {
  return (['listen', 'adminListen'] as const).filter(
    (name) => command.getOptionValueSource(name) !== 'cli' && !process.env[environmentName(table[name])],
  );
}

function addressOption(setting: Setting<unknown>): Option {
  return new Option(`--${setting.name} ${setting.kind.placeholder}`, lineOf(setting))
    .env(environmentName(setting))
    .default(setting.initial)
    .argParser((text) => text || String(setting.initial))
    .helpGroup('Addresses:');
}

/** Defines `check`, which validates everything that `serve` reads before it starts, and lists gaps that the rules leave between two descriptions. */
export function check(command: Command): void {
  command.description(
    "Validates settings and rule book without starting anything, and lists operations, changes and assumptions. It reads the same settings as serve, from flags and environment, and refuses what serve would refuse. With --v1 and --v2 it lists the gaps that the rules leave between both descriptions: operations that V2 does not have, members that V2 requires and no rule sets, members that V1's clients expect and never get. Exit code 1 if there are gaps, or TODO lines in the rule book; 2 if there is a fault. With --log it warns of a sunset that comes too soon for clients that still call, and of clients that no brownout reaches.",
  );
  addSettings(command, allSettings)
    .optionsGroup('Coverage:')
    .option('--v1 <description>', "V1's description: a file or a URL")
    .option('--v2 <description>', "V2's description: a file or a URL")
    .option(
      '--only <operation...>',
      'operations of V1 that count, by operationId or as "POST /orders" (default: all)',
    )
    .option('--all', 'list every gap, not one line for each place that has it')
    .optionsGroup('End of V1:')
    .option(
      '--log <files...>',
      'rewrite logs to check sunset and brownouts against: files, folders or glob patterns',
    )
    .addOption(zoneOption());
  addFormat(command, ['text', 'json']).action(
    async ({
      format,
      v1,
      v2,
      log,
      zone,
      all,
      only,
      ...options
    }: Record<string, string | undefined> & {
      readonly log?: readonly string[];
      readonly only?: readonly string[];
      readonly all?: true;
    }) => {
      const { runCheck } = await import('./serve/check.ts');
      endWith(
        await runCheck(
          flagsOf(allSettings, options),
          format === 'json',
          { v1, v2, only, isWhole: all === true },
          log && { log, zone },
        ),
      );
    },
  );
}

/** Defines `explain`, which shows what the rules do to requests. */
export function explain(command: Command): void {
  command
    .description(
      'Shows edits, diff, V2 request, the policies that decided, and why other rules did nothing. The file contains the JSON body of one request; - is stdin.',
    )
    .argument('[file]', 'JSON body of a request; it needs --operation, or --method and --target')
    .optionsGroup('Request of the file:')
    .option('--operation <id>', 'operation of the request in the file')
    .option('--method <method>', 'method, if no operation is given')
    .option('--target <target>', 'path and query as the client sends them, such as /api/v1/clients')
    .optionsGroup('Other requests:')
    .option(
      '--curl <command>',
      'requests as a browser copies them: curl for bash, fetch(…), or the text of a request',
    )
    .option('--har <file>', 'every request of a HAR file')
    .option('--postman <file>', 'every request of a Postman collection')
    .option('--postman-env <file>', 'environment of the Postman collection, with values of variables')
    .option('--log <file>', 'requests reconstructed from a rewrite log, without values')
    .optionsGroup('Response:')
    .option('--response <file>', "JSON body of V2's response, to show the client's response as well")
    .option('--status <status>', 'status of the response (default: 200)', statusCode);
  addRules(command);
  addFormat(command, ['text', 'json'])
    .addOption(
      new Option('--fail-on <result>', 'result that gives exit code 1')
        .choices(['refused', 'edits', 'never'])
        .default('refused')
        .helpGroup(OUTPUT),
    )
    .action(ending(async () => (await import('./explain/explain.ts')).runExplain));
}

/** Defines `test`, which plays text cases. */
export function test(command: Command): void {
  command
    .description(
      "Plays text cases through the rule book: the V1 request (lines with >), the V2 request (=), V2's response (*), and the client's (<). It needs no service. For each case that fails it prints the file, the line and the difference. Exit code 1 if one fails, or a file has none.",
    )
    .argument(
      '[files...]',
      'files or folders of text cases (default: the folder cases beside the rule book)',
    );
  addFormat(addRules(command), ['text', 'json'])
    .addOption(
      new Option('--update', 'write the actual results into the files, and keep their comments').helpGroup(
        OUTPUT,
      ),
    )
    .action(ending(async () => (await import('./cases/test.ts')).runTest));
}

/** The action of a command whose work, loaded only now, may end with a fault. It gets the operands, then the options. */
function ending<Given extends readonly unknown[]>(
  load: () => Promise<(...given: Given) => Promise<CommandFault | undefined>>,
): (...given: Given) => Promise<void> {
  return async (...given) => endWith(await (await load())(...given));
}

function statusCode(text: string): number {
  if (!/^[2-5]\d\d$/.test(text)) throw new InvalidArgumentError('It must be a status from 200 to 599.');
  return Number(text);
}

/** Defines `replay`: `record` writes requests to a fixture, `check` compares a changed rule book with it. */
export function replay(command: Command): void {
  command.description(
    'Records requests with their outcome in a fixture, and lists those whose outcome changes under another rule book.',
  );
  const record = command
    .command('record')
    .description('Records requests with their current outcome in a fixture, one JSON line each.')
    .optionsGroup('Requests:')
    .option('--har <file>', 'record the requests of a HAR file')
    .option('--postman <file>', 'record the requests of a Postman collection')
    .option('--postman-env <file>', 'environment of the Postman collection, with values of variables')
    .option('--log <file>', 'record requests reconstructed from a rewrite log, without values');
  addAdmin(
    addRules(record),
    'record the requests captured by a running gateway; its token is read from GATEWAY_ADMIN_TOKEN or GATEWAY_ADMIN_TOKEN_FILE',
  )
    .optionsGroup(OUTPUT)
    .requiredOption('--out <file>', 'fixture to write');
  addFormat(record, ['text', 'json']).action(
    ending(async () => (await import('./explain/replay.ts')).recordRequests),
  );
  const check = command
    .command('check')
    .description(
      'Lists the requests of a fixture whose outcome changes under the current rule book. Exit code 1 if there are any.',
    )
    .argument('<fixture>', 'fixture that `replay record` wrote');
  addFormat(addRules(check), ['text', 'json'])
    .optionsGroup(OUTPUT)
    .option('--update', 'write the current outcomes to the fixture')
    .action(ending(async () => (await import('./explain/replay.ts')).checkFixture));
}

/** Defines `report`, which lists the clients that still need V1, from logs of any size. */
export function report(command: Command): void {
  command
    .description(
      "Reads rewrite logs, plain, gzip or Zstandard, and lists the clients that still need V1, and why. It merges many replicas' logs by time, and reports gaps in each. It counts the requests to each version's address, whichever service got them (v1 and v2 in JSON, v1_requests and v2_requests in CSV). Without a file it reads stdin. Exit code 1 if a file has lines but no entry.",
    )
    .argument('[files...]', 'log files, folders of logs, or glob patterns; - is stdin')
    .optionsGroup('Clients:')
    .option('--names <file>', 'YAML or JSON file of display names by client hash')
    .option(
      '--gone-after <days>',
      'days without a V1 request after which a client counts as gone',
      days,
      GONE_AFTER_DAYS,
    )
    .option('--at <time>', 'end of the report, such as 2026-11-22 (default: now)', pointInTime)
    .optionsGroup('Guides and digests:')
    .option(
      '--guide',
      "print one client's migration guide: md, html (a letter), mail (text), eml (a whole mail) or json, or write it as a skill",
    )
    .option('--client <hash>', 'first digits of a client hash, for --guide')
    .option('--into <folder>', 'new folder, for --guide --format skill')
    .option('--digest', 'print a digest for each client that still uses V1, to mail to its owner: md or json')
    .optionsGroup('Attributes:')
    .option('--census', 'print the attribute census alone, with strip rules to paste')
    .option('--openapi <file>', 'OpenAPI description of V2, for the census: JSON or YAML')
    .option('--apply', 'with --census: write the proposed strip rules into the rule book');
  addRules(command, 'rule book, for --guide, --digest, --apply and --openapi');
  addFormat(command, ['text', 'json', 'csv', 'md', 'html', 'mail', 'eml', 'skill']).action(
    ending(async () => (await import('./report/report.ts')).runReport),
  );
}

/** Defines `plan`, which plans the end of V1, and `plan rehearse`, which plays brownouts over a log. */
export function plan(command: Command): void {
  command.description(
    'Plans the end of V1 from rewrite logs (make, the default), and plays brownouts over them (rehearse).',
  );
  // Not `defaultCommand`, because any other word is the name of a log.
  const make = command
    .command('make', { isDefault: true })
    .description(
      'Plans the end of V1 from rewrite logs: deprecation, announcements, brownouts and sunset. For each time of the week it counts in how many of the last four weeks each client was active, and places brownouts, from 15 minutes to four hours, where they reach most clients that no notice has reached. Each line has its reason in counts. Without a file it reads stdin. Exit code 1 if no client still uses V1, or a file has lines but no entry.',
    )
    .argument('[files...]', 'log files, folders of logs, or glob patterns; - is stdin')
    .optionsGroup('Dates:')
    .option(
      '--lead <days>',
      "minimum days from deprecation to sunset (default: the rule book's, or 90)",
      days,
    )
    .option(
      '--avoid <days>',
      'day without a brownout, a range with both days, such as 2026-12-24..2027-01-02, or a weekday; repeatable',
      collected,
    )
    .option('--holidays <file>', 'list of such days, one at the beginning of each line')
    .option('--at <time>', 'day to plan from, such as 2026-11-22 (default: now)', pointInTime)
    .addOption(zoneOption())
    .optionsGroup('Clients:')
    .option('--names <file>', 'YAML or JSON file of display names by client hash')
    .option(
      '--gone-after <days>',
      'days at the end of the logs without a V1 request after which a client is left out',
      days,
      GONE_AFTER_DAYS,
    );
  addRules(make, 'rule book whose dates apply').addOption(
    new Option(
      '--into [file]',
      'rule book to write the plan into, and whose dates apply (without a file: that of --rules); without --into, the plan ends with the lines to write',
    ).helpGroup('Rule book:'),
  );
  addFormat(make, ['text', 'md', 'json']).action(
    ending(async () => (await import('./report/plan.ts')).runPlan),
  );
  const rehearse = command
    .command('rehearse')
    .description(
      "Plays brownouts over rewrite logs, deciding as the gateway does, and lists the requests that each would have refused, by client. A window outside the logs is played on the last logged day of that weekday; if there is none, or the log comes from stdin, it is left out, with exit code 1. Without --window: replays the rule book's own brownouts, and its sunsets and newcomers from a logged day on.",
    )
    .argument('[files...]', 'log files, folders of logs, or glob patterns; - is stdin, with --window')
    .optionsGroup('Windows:')
    .option(
      '--window <times>',
      'window to play, such as 2026-11-24T09:00/10:00, in the zone or with an offset; repeatable',
      collected,
    )
    .addOption(zoneOption())
    .optionsGroup('Clients:')
    .option('--names <file>', 'YAML or JSON file of display names by client hash');
  addRules(rehearse);
  addFormat(rehearse, ['text', 'json']).action(
    ending(async () => (await import('./report/plan.ts')).runRehearsal),
  );
}

/** Collects the values of a repeatable option; a variadic one would also take the files after it. */
function collected(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

function zoneOption(): Option {
  return new Option(
    '--zone <name>',
    "time zone of all times, such as Australia/Sydney (default: the rule book's, else the machine's, or UTC if it names none)",
  ).argParser((name: string) => {
    try {
      const known = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
      // V8 knows some zones by an old name: Asia/Kolkata is Asia/Calcutta.
      return known.toLowerCase() === name.toLowerCase() ? known : name;
    } catch {
      throw new InvalidArgumentError('It must be a name of the IANA database, such as Australia/Sydney.');
    }
  });
}

/** Reads a number of days; with 0, every client would be silent between two of its requests. */
function days(text: string): number {
  if (!/^\d{1,4}$/.test(text) || Number(text) === 0)
    throw new InvalidArgumentError('It must be a number of days from 1 to 9999, such as 14.');
  return Number(text);
}

/** Reads a day or a time in RFC 3339. */
function pointInTime(text: string): string {
  // `Date` would read a day that the month does not have as one of the next month.
  const isDay = /^.{10}(?:T.+)?$/.test(text) && readInstant(text.slice(0, 10)) !== undefined;
  const time = new Date(isDay ? text : Number.NaN);
  if (Number.isNaN(time.valueOf()))
    throw new InvalidArgumentError('It must be a day or a time, such as 2026-11-22 or 2026-11-22T09:00:00Z.');
  return time.toISOString();
}

/** Defines `openapi`, which prints V1's description. */
export function openapi(command: Command): void {
  command
    .description(
      "Prints V1's OpenAPI description: V2's, with each change in the rule book undone. x-change names the changes behind each difference. It lists on stderr what a description cannot show. Exit code 1 if V2's cannot be parsed.",
    )
    .argument(
      '[v2]',
      "V2's description: a file, a URL or - for stdin (default: that of the embedded reference)",
    );
  addFormat(addRules(command), ['json', 'yaml']).action(
    ending(async () => (await import('./draft/draft.ts')).runOpenapi),
  );
}

/** The parts of two descriptions to draft. */
function addParts(command: Command): Command {
  return command
    .option('--from <prefix>', "V1's path prefix, if its description has several, such as /orders/v0")
    .option('--to <prefix>', "V2's path prefix, such as /orders/2026-01-01")
    .option(
      '--only <operation...>',
      'operations of V1 to draft, by operationId or as "POST /orders" (default: all)',
    );
}

/** Defines `draft`, which writes a rule book from two descriptions, or from V2's and recorded traffic. */
export function draft(command: Command): void {
  command
    .description(
      "Compares V1's and V2's OpenAPI descriptions and writes a rule book: each rule with its evidence and a confidence in a comment, and a question wherever it cannot decide. Without --v1 it uses recorded requests instead. It migrates recorded requests with the draft, and lists on stderr those that V2's schemas would refuse. Exit code 1 if there are any, or the draft has faults.",
    )
    .optionsGroup('Descriptions:')
    .requiredOption('--v2 <description>', "V2's description: a file or a URL")
    .option('--v1 <description>', "V1's description: a file or a URL");
  addParts(command)
    .optionsGroup('Recorded requests:')
    .option('--har <file>', 'recorded requests: a HAR file')
    .option('--postman <file>', 'recorded requests: a Postman collection')
    .option('--postman-env <file>', 'environment of the Postman collection, with values of variables')
    .option('--log <file>', 'recorded requests: a rewrite log, which has names but no values');
  addAdmin(
    command,
    'recorded requests: those that a running gateway captured (token: GATEWAY_ADMIN_TOKEN or GATEWAY_ADMIN_TOKEN_FILE)',
  )
    .addOption(new Option('--out <file>', 'rule book to write (default: stdout)').helpGroup(OUTPUT))
    .addOption(
      new Option(
        '--into <file>',
        'rule book to add to: operations that it lacks, and changes to members that its rules do not name',
      ).helpGroup(OUTPUT),
    )
    .addOption(
      new Option(
        '--json',
        "print the result as JSON: rule book, its faults, and requests that V2's schemas refuse",
      ).helpGroup(OUTPUT),
    )
    .action(ending(async () => (await import('./draft/draft.ts')).runDraft));
}

/** Defines `init`, which writes a new gateway's files. */
export function init(command: Command): void {
  command
    .description(
      "Starts from V1's and V2's OpenAPI descriptions: writes gateway.yaml (settings), rules.yaml (the drafted rule book: evidence for each rule, questions as TODO lines) and cases/first.txt (text cases with the descriptions' own values). It overwrites nothing without --force, and prints the next commands. Exit code 1 if the draft has faults or is empty.",
    )
    .optionsGroup('Descriptions:')
    .requiredOption('--v1 <description>', "V1's description: a file or a URL")
    .requiredOption('--v2 <description>', "V2's description: a file or a URL");
  addParts(command)
    .optionsGroup('Recorded requests:')
    .option('--har <file>', 'recorded requests to try the draft on: a HAR file')
    .optionsGroup(OUTPUT)
    .option('--dir <folder>', 'folder to write to', '.')
    .option('--force', 'overwrite files')
    .action(ending(async () => (await import('./draft/init.ts')).runInit));
}

/** Defines `try`, a word that no function may have as its name. */
function tryDraft(command: Command): void {
  command
    .description(
      "Drafts a rule book from V1's and V2's OpenAPI descriptions, and shows it at work before anything is written: a gateway with it, a stand-in for V2 that responds from V2's description, and a page with an example request for each operation. There you answer the questions of the draft one by one, with an offered rule or your own; each answer shows its effect on the example. Save writes the folder that init would write, with the answers.",
    )
    .optionsGroup('Descriptions:')
    .requiredOption('--v1 <description>', "V1's description: a file or a URL")
    .requiredOption('--v2 <description>', "V2's description: a file or a URL");
  addParts(command)
    .optionsGroup(OUTPUT)
    .option('--dir <folder>', 'folder that Save writes to', '.')
    .option('--no-open', 'do not open the page in a browser')
    .addOption(addressOption(table.listen))
    .addOption(addressOption(table.adminListen))
    .action(ending(async () => (await import('./draft/try.ts')).runTry));
}
export { tryDraft as try };

/** Defines `tail`, which prints the rewrite log in a readable form. */
export function tail(command: Command): void {
  command
    .description(
      "Prints log entries from a file or stdin, or a running gateway's recent and new ones from its admin listener, with the token in GATEWAY_ADMIN_TOKEN or GATEWAY_ADMIN_TOKEN_FILE.",
    )
    .argument('[file]', 'log file, plain or gzipped; - is stdin')
    .optionsGroup('Entries:')
    .addOption(
      new Option(
        '--filter <filter>',
        'filter as in the inspector: client:"Acme Media" status:4xx time:12:35 (UTC); a running gateway also finds words in captured bodies',
      ).default('', 'all entries'),
    )
    .option('-f, --follow', 'follow the file as it grows')
    .option('--names <file>', 'YAML or JSON file of display names by client hash')
    .addOption(
      new Option('--rules <file>', 'rule book, for the names of its clients').env(
        environmentName(table.rules),
      ),
    );
  addAdmin(command, 'show and follow a running gateway, such as http://127.0.0.1:8081');
  addFormat(command, ['text', 'json']).action(ending(async () => (await import('./logs/tail.ts')).runTail));
}

/** Defines `twin`, which plays V1 requests to V1 and to a gateway in front of V2, and compares the responses. */
export function twin(command: Command): void {
  command
    .description(
      'Sends scripts of V1 requests to V1 and to a gateway in front of V2, and lists each difference between the responses: status, header fields, body. Without --v1 and --v2 it starts the reference service in both versions and a gateway. Differences by a documented choice, such as refusing a member that occurs twice, and requests that get 404 from both sides are only counted. Exit code 1 if other responses differ, every request got 404, or a script has faults.',
    )
    .optionsGroup('Requests:')
    .addOption(
      new Option('--script <files...>', 'scripts or text cases to play').default(
        [],
        "the program's scripts; for another API, the cases beside its rule book",
      ),
    )
    .optionsGroup('Services that run:')
    .option('--v1 <url>', 'URL of V1; it gets only safe methods without --writes')
    .option('--v2 <url>', "URL of a gateway in front of the same service's V2")
    .option(
      '--key-file <file>',
      'file with the API key for --v1 and --v2, sent where the rule book has its client',
    )
    .option('--writes', 'send writes to --v1 and --v2 as well')
    .option('--rate <n>', 'maximum requests per minute to each of the two (default: 60)', naturalNumber)
    .optionsGroup('Gateway:')
    .addOption(
      new Option('--on <runtime>', 'runtime of the gateway')
        .choices(['node', 'bun', 'deno', 'workerd'])
        .default('node'),
    );
  addRules(command, 'rule book of the gateway')
    .optionsGroup(OUTPUT)
    .addOption(
      new Option('--ignore <fields...>', 'response header fields not to compare').default([], 'none'),
    )
    .option('--json', 'print JSON')
    .action(async (options: TwinOptions) => {
      const { runTwin } = await import('./twin.ts');
      await runTwin(options);
    });
}

function naturalNumber(text: string): number {
  if (!/^\d{1,10}$/.test(text))
    throw new InvalidArgumentError('It must be a whole number of at most 10 digits.');
  return Number(text);
}

/** Defines `status`, which says in one sentence whether all is well. */
export function status(command: Command): void {
  common(command)
    .description(
      "Says in one sentence whether all is well, and since when: the worst condition of V2, V1, operations, rule book, canaries, brownouts, certificates and the store, as in the page's header, and below it all others that make requests fail or may do so, or else the next step of the migration. It asks a running gateway's admin listener, with the token in GATEWAY_ADMIN_TOKEN or GATEWAY_ADMIN_TOKEN_FILE. Exit code 1 if the verdict is bad, for scripts and probes; 0 for a note, such as refusals that may be the clients' own.",
    )
    .action(async (options: RolloutOptions) => {
      const { printStatus } = await import('./status.ts');
      endWith(await printStatus(options));
    });
}

/** Defines `rollout`, which shows and changes the mode of V1 traffic in a running gateway. */
export function rollout(command: Command): void {
  command.description(
    "Shows and changes a running gateway's modes through its admin listener, with the token in GATEWAY_ADMIN_TOKEN or GATEWAY_ADMIN_TOKEN_FILE. Exit code 1 if the gateway refuses a change.",
  );
  common(defaultCommand(command, 'show'))
    .description('Shows modes, canaries, roll-backs and shadow results.')
    .action((options: RolloutOptions) => carryOut(options, undefined));
  for (const [mode, words] of MODES) {
    const modeCommand = targeted(command.command(mode)).description(words);
    common(mode === 'migrate' ? forced(modeCommand) : modeCommand).action((options: RolloutOptions) =>
      carryOut(options, { mode, ...targetOf(options) }),
    );
  }
  common(forced(targeted(command.command('canary'))))
    .description('Migrates a share of the clients, and observes the others.')
    .argument('<percent>', 'share of the clients', readShare)
    .action((share: number, options: RolloutOptions) =>
      carryOut(options, { mode: 'canary', share, ...targetOf(options) }),
    );
  common(targeted(command.command('verify')))
    .description('Migrates every request, sends a share of the reads to V1 as well, and compares.')
    .argument('<percent>', 'share of the reads', readShare)
    .action((share: number, options: RolloutOptions) =>
      carryOut(options, { mode: 'verify', share, ...targetOf(options) }),
    );
  common(targeted(command.command('clear')))
    .description("Returns to the rule book's mode.")
    .action((options: RolloutOptions) => carryOut(options, targetOf(options)));
}

const MODES: readonly (readonly [mode: NonNullable<RolloutRequest['mode']>, words: string])[] = [
  ['observe', 'Sends everything to V1, and logs the edits that a migration would make.'],
  ['shadow', 'Sends everything to V1, reads to V2 as well, and compares.'],
  ['migrate', 'Migrates every request.'],
];

function common(command: Command): Command {
  return addFormat(addAdmin(command, 'admin listener', DEFAULT_ADMIN), ['text', 'json']);
}

function targeted(command: Command): Command {
  return command
    .optionsGroup(CHANGE)
    .option('--operation <id>', 'change this operation only')
    .option('--client <name>', 'change this client only (hash or name)')
    .option('--why <text>', 'reason for the list of changes');
}

function forced(command: Command): Command {
  return command
    .optionsGroup(CHANGE)
    .option('--force', 'continue although V2 would refuse too many of the checked requests');
}

/** Heading of the options for a change of mode. */
const CHANGE = 'Change:';

function readShare(text: string): number {
  const share = /^\d{1,3}(?:\.\d+)?%?$/.test(text) ? Number.parseFloat(text) : 0;
  if (share > 0 && share <= 100) return share;
  throw new InvalidArgumentError('It must be above 0 and at most 100, such as 5.');
}

function targetOf({ operation, client, force, why }: RolloutOptions): RolloutRequest {
  return {
    ...(operation === undefined ? {} : { operation }),
    ...(client === undefined ? {} : { client }),
    ...(force === undefined ? {} : { force }),
    ...(why === undefined ? {} : { why }),
    who: userName(),
  };
}

/** The name of the account that runs the command; empty if it has none. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return '';
  }
}

async function carryOut(options: RolloutOptions, request: RolloutRequest | undefined): Promise<void> {
  const { carryOutRollout } = await import('./rollout.ts');
  endWith(await carryOutRollout(options, request));
}

/** Defines `clients`: hashes of API keys, and names for hashes. */
export function clients(command: Command): void {
  command.description(
    'Lists clients, hashes API keys, and names clients: the gateway knows a client by a keyed hash of its API key. The admin token comes from GATEWAY_ADMIN_TOKEN or GATEWAY_ADMIN_TOKEN_FILE.',
  );
  common(defaultCommand(command, 'list'))
    .description("Lists a running gateway's clients: hash, name, latest User-Agent and address.")
    .action(ending(async () => (await import('./report/clients.ts')).listClients));
  addFormat(command.command('hash').addOption(configOption()), ['text', 'json'])
    .description('Hashes the API key on stdin with GATEWAY_CLIENT_SECRET or GATEWAY_CLIENT_SECRET_FILE.')
    .action(ending(async () => (await import('./report/clients.ts')).printHash));
  const naming = command
    .command('name')
    .optionsGroup('Clients:')
    .option('--names <file>', 'names file (default: GATEWAY_CLIENT_NAMES)');
  addFormat(addAdmin(naming, 'running gateway to ask, such as http://127.0.0.1:8081'), ['text', 'json'])
    .description(
      'Names a client, in the names file or through a running gateway. Without a name it removes the present one.',
    )
    .argument('<client>', 'client hash of 16 hex digits')
    .argument('[name]', 'display name')
    .action(ending(async () => (await import('./report/clients.ts')).giveName));
}

/** Defines `reference`, which runs the reference service alone until SIGTERM or SIGINT. */
export function reference(command: Command): void {
  command.description(
    'Runs a small implementation of the property-capture API, as V2, V1 or both, to try the gateway on. It accepts any API key.',
  );
  addReferenceOptions(command);
  command.action(async (texts: Readonly<Record<string, string | undefined>>) => {
    const { runReference } = await import('./serve/reference.ts');
    await runReference(texts);
  });
}

/** Defines `completion`, which prints the script that completes commands, options and values in a shell. */
export function completion(command: Command): void {
  command
    .description(
      'Prints a script that completes commands, options, values and file names. For bash: source <(capture-gateway completion bash). For zsh: source <(capture-gateway completion zsh), after compinit. For fish: capture-gateway completion fish | source.',
    )
    .addArgument(new Argument('<shell>', 'shell to complete in').choices(['bash', 'zsh', 'fish']))
    .action(async (shell: 'bash' | 'zsh' | 'fish') => {
      const { completionScript } = await import('./completion.ts');
      process.stdout.write(completionScript(shell, command.parent ?? command));
    });
}

/** Heading of the options for output and exit codes. */
const OUTPUT = 'Output:';

/**
 * Adds `--rules` and `--config`. The rule book's path comes from the flag, `GATEWAY_RULES` or the settings file, in this order. As for
 * `serve`, an empty variable counts as unset.
 */
function addRules(command: Command, sentence = 'rule book'): Command {
  const option = new Option('--rules <file>', sentence)
    .env(environmentName(table.rules))
    .default(table.rules.initial)
    .argParser((text) => text || String(table.rules.initial))
    .helpGroup('Rule book:');
  return command
    .addOption(option)
    .addOption(configOption())
    .hook('preAction', async () => {
      const { rules, config } = command.opts<{ readonly rules: string; readonly config?: string }>();
      const isGiven = command.getOptionValueSource('rules') === 'cli' || process.env['GATEWAY_RULES'];
      if (isGiven) return;
      const { givenSetting } = await import('./settings-file.ts');
      const read = await givenSetting(table.rules, { config });
      if ('faults' in read) command.error(read.faults.join('\n'));
      else if (read.value !== rules) command.setOptionValueWithSource('rules', read.value, 'config');
    });
}

/** Adds `--format` with these choices, the first of which is the default, and `--json`, which is short for `--format json`. */
function addFormat(command: Command, choices: readonly string[]): Command {
  const [initial] = choices;
  return command
    .addOption(
      new Option('--format <format>', 'output format')
        .choices([...choices])
        .default(initial)
        .helpGroup(OUTPUT),
    )
    .addOption(new Option('--json', 'short for --format json').implies({ format: 'json' }).helpGroup(OUTPUT))
    .hook('preAction', () => {
      const { json, format } = command.opts<{ readonly json?: true; readonly format?: string }>();
      if (json === true && format !== 'json')
        command.error(`error: option '--json' cannot be used with '--format ${format ?? ''}'`);
    });
}

/**
 * Adds `--admin`, the admin listener of a running gateway, and `--config`, whose file may name its token. With an `initial` address, the
 * command asks the admin listener of the settings file or of `GATEWAY_ADMIN_LISTEN` if the option is not given.
 */
function addAdmin(command: Command, sentence: string, initial?: string): Command {
  const option = new Option('--admin <url>', sentence).argParser(readAdmin).helpGroup('Running gateway:');
  command.addOption(initial === undefined ? option : option.default(initial));
  const hasConfig = command.options.some(({ long }) => long === '--config');
  if (!hasConfig) command.addOption(configOption());
  if (initial === undefined) return command;
  return command.hook('preAction', async () => {
    if (command.getOptionValueSource('admin') !== 'default') return;
    const { givenSetting } = await import('./settings-file.ts');
    const read = await givenSetting(table.adminListen, command.opts<{ readonly config?: string }>());
    if ('faults' in read) command.error(read.faults.join('\n'));
    else command.setOptionValueWithSource('admin', reachableOrigin(read.value), 'config');
  });
}

function readAdmin(text: string): string {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? '')) return text;
  throw new InvalidArgumentError('It must be an address such as http://127.0.0.1:8081.');
}

/** Adds the command that runs if none is named. An unknown word is an error, with a suggestion. */
function defaultCommand(command: Command, name: string): Command {
  const initial = command.command(name, { isDefault: true }).allowExcessArguments();
  return initial.hook('preAction', () => {
    const [word] = initial.args;
    if (word === undefined) return;
    const known = command.commands.map((each) => each.name());
    command.error(`error: unknown command '${word}'${didYouMean(word, known)}`);
  });
}

/** The admin listener's address with default settings. */
const DEFAULT_ADMIN = 'http://127.0.0.1:8081';
