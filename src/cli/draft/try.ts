import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { devNull, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { draftQuestions } from '../../openapi/draft/draft-questions.ts';
import { printRuleBook } from '../../openapi/draft/print-rule-book.ts';
import { proposeRuleBook } from '../../openapi/draft/propose-rule-book.ts';
import { soundDraft } from '../../openapi/draft/sound-draft.ts';
import { counted } from '../../rules/words.ts';
import { readRuleBook } from '../../rules/read-rule-book.ts';
import { printFault } from '../../rules/rule-book-fault.ts';
import { type CommandFault, isFault } from '../command-fault.ts';
import { freeAddresses } from '../demo/demo.ts';
import { liveUntilSignal, refuseStart, stderrLog } from '../life-cycle.ts';
import { type Serving, startServing } from '../serve/serving.ts';
import { reachable, terminalOf, wrapLines } from '../terminal.ts';
import { startDescribedService } from './described-service.ts';
import { readToCompare } from './description-file.ts';
import { type DraftParts, wishesOf } from './draft.ts';
import { Desk } from './draft-desk.ts';
import { type DraftPlace, isEmpty } from './init.ts';

export interface TryOptions extends DraftParts {
  readonly v1: string;
  readonly v2: string;
  readonly dir: string;
  readonly listen: string;
  readonly adminListen: string;
  readonly open: boolean;
}

/**
 * Drafts a rule book from two descriptions, and serves with it, in front of a V2 that responds from its description, until a signal. It
 * writes only a temporary rule book until the user saves on the page.
 */
export async function runTry(options: TryOptions, command: Command): Promise<CommandFault | undefined> {
  const [v1, v2] = [await readToCompare(options.v1), await readToCompare(options.v2)];
  if (isFault(v1)) return v1;
  if (isFault(v2)) return v2;
  const wishes = wishesOf(options, v1, v2);
  if (isFault(wishes)) return wishes;
  const proposed = await soundDraft(proposeRuleBook(v1, v2, wishes));
  if (isEmpty(v2))
    return {
      fault:
        'No operation of V1 was found in V2, so there is nothing to try. Compare the paths and servers of the descriptions.',
      isJunk: true,
    };
  const text = printRuleBook(proposed);
  const reading = await readRuleBook(text, 'draft');
  if (!reading.ok)
    return { fault: reading.faults.map((fault) => printFault(fault)).join('\n'), isJunk: true };
  const folder = mkdtempSync(join(tmpdir(), 'capture-gateway-try-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const rules = join(folder, 'rules.yaml');
  writeFileSync(rules, text);
  const gateway: { serving?: Serving; addresses?: DraftPlace['addresses'] } = {};
  const desk = new Desk(
    {
      v1,
      v2,
      v1Source: options.v1,
      v2Source: options.v2,
      dir: options.dir,
      wishes,
      only: options.only,
      gatewayOrigin: () => gateway.serving?.running.origin ?? '',
      servedAt: () => gateway.addresses,
      publish: async (next) => {
        writeFileSync(rules, next);
        await gateway.serving?.life.reloadFile('rule-book');
      },
    },
    proposed,
    reading.ruleBook,
  );
  const service = await startDescribedService(() => desk.service);
  // Variables of the environment are for a real gateway, which may run beside this one.
  const movable = (['listen', 'adminListen'] as const).filter(
    (name) => command.getOptionValueSource(name) !== 'cli',
  );
  const free = await freeAddresses(
    movable.map((name) => [name, options[name]] as const),
    'it',
  );
  const { listen, adminListen } = { ...options, ...free.addresses };
  // Port 0 means a free port, which may be taken when `serve` starts.
  if (![listen, adminListen].some((address) => /(?:^|:)0$/.test(address)))
    gateway.addresses = { listen, adminListen };
  const given = {
    flags: {
      listen,
      'admin-listen': adminListen,
      upstream: service.origin,
      rules,
      'log-file': devNull,
      'log-level': 'warn',
      capture: 'bodies',
    },
    environment: {},
  };
  const log = stderrLog(given);
  const started = await startServing(given, log, { isForced: true, draft: desk });
  if ('faults' in started) {
    await service.close();
    await refuseStart(log, started.faults);
    return undefined;
  }
  gateway.serving = started;
  const origin = reachable(started.running.origin);
  const adminOrigin = reachable(started.running.adminOrigin);
  // Before the sentence that names Ctrl-C, because a reader may press it at once.
  const ended = liveUntilSignal(started.life);
  const page = `${adminOrigin}/?view=rules`;
  const { operations } = proposed;
  const questions = draftQuestions(proposed).length;
  const sentences = [
    free.note.trimEnd(),
    `${counted(operations.length, 'operation')} drafted, ${counted(questions, 'question')}${questions > 1 ? '; the answers to the first can settle others' : ''}. Answer and try them on ${page}`,
    `V1 clients connect to ${origin}. Behind it, a stand-in for V2 responds from V2's description.`,
    `Nothing is written until you save there: the folder ${options.dir} then gets the files that init writes. Stop with Ctrl-C.`,
  ].filter((sentence) => sentence !== '');
  process.stdout.write(wrapLines(`${sentences.join('\n')}\n`, terminalOf(process.stdout).columns, 0));
  if (options.open && process.stdout.isTTY) openPage(page);
  const code = await ended;
  await service.close();
  process.exit(code);
}

/** Opens a page in the browser of the person who started the command, if the system has a program for that. */
function openPage(address: string): void {
  const [program, ...before] =
    process.platform === 'darwin'
      ? ['open']
      : process.platform === 'win32'
        ? ['cmd', '/c', 'start', '""']
        : ['xdg-open'];
  const opened = spawn(program ?? '', [...before, address], { stdio: 'ignore', detached: true });
  // The page can also be opened by hand: its address is printed.
  opened.on('error', () => {});
  opened.unref();
}
