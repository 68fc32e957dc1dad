import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stdout } from 'node:process';
import { isDeepStrictEqual } from 'node:util';
import { readJsonText } from '../../openapi/description.ts';
import { lineDiff } from '../../report/line-diff.ts';
import { inFormOf, readText } from '../../node/files.ts';
import { jsonText, terminalText } from '../../report/text.ts';
import { counted } from '../../rules/words.ts';
import { openQuestions } from '../../rules/rule-book-fault.ts';
import {
  type CommandFault,
  FAILURE,
  isFault,
  openRuleBook,
  unreadable,
  writeOutput,
  reasonOf,
} from '../command-fault.ts';
import { painter, terminalOf } from '../terminal.ts';
import {
  casePlayer,
  type Difference,
  type Mark,
  messageDifferences,
  type PlayedCase,
  readTextCases,
  type TextCase,
  TextCaseFault,
  type TextMessage,
  updatedLines,
} from './text-cases.ts';

export interface TestOptions {
  readonly rules: string;
  readonly update?: true;
  readonly format: 'text' | 'json';
}

/** A difference, its message, and the line of the expected part in the file. */
interface LocatedDifference extends Difference {
  readonly message: 'V2 request' | 'response';
  readonly line: number;
}

interface CaseOutcome {
  readonly title: string;
  readonly line: number;
  readonly differences: readonly LocatedDifference[];
}

/** The results of a file. */
interface FileOutcome {
  readonly file: string;
  readonly cases: readonly CaseOutcome[];
  /** The text with the actual messages instead of the expected ones. */
  readonly updated: string;
}

/** Plays text cases through a rule book, and prints those that fail. */
export async function runTest(
  paths: readonly string[],
  options: TestOptions,
): Promise<CommandFault | undefined> {
  const { rules, update, format } = options;
  const book = await openRuleBook(rules);
  if (isFault(book)) return book;
  const files = filesOf(paths.length === 0 ? [join(dirname(rules), 'cases')] : paths);
  if (isFault(files)) return files;
  const play = casePlayer(book.rules.ruleBook);
  const outcomes: FileOutcome[] = [];
  for (const file of files) {
    const outcome = await playFile(file, play);
    if (isFault(outcome)) return outcome;
    outcomes.push(outcome);
  }
  const open = openQuestions(book.text, rules).length;
  const all = outcomes.flatMap(({ cases }) => cases);
  const failed = all.filter(({ differences }) => differences.length > 0).length;
  if (update === true) {
    for (const { file, updated, cases } of outcomes) {
      if (cases.every(({ differences }) => differences.length === 0)) continue;
      const unwritten = writeOutput(file, inFormOf(file, updated));
      if (unwritten !== undefined) return unwritten;
    }
  }
  const isUpdated = update === true;
  if (format === 'json') stdout.write(printJson(outcomes, all.length, failed, isUpdated));
  else {
    stdout.write(printText(outcomes, all.length, failed, isUpdated));
    if (open > 0)
      stdout.write(
        `${rules} has ${counted(open, 'open question')}, marked TODO: cases do not answer them.\n`,
      );
  }
  if (failed > 0 && !isUpdated) process.exitCode = FAILURE;
  return undefined;
}

/** The files that paths name; a folder counts for every `.txt` file below it. */
function filesOf(paths: readonly string[]): readonly string[] | CommandFault {
  const files: string[] = [];
  for (const path of paths) {
    try {
      if (!statSync(path).isDirectory()) {
        files.push(path);
        continue;
      }
      const inside = readdirSync(path, { recursive: true, encoding: 'utf8' });
      const cases = inside.filter((name) => name.endsWith('.txt')).toSorted();
      if (cases.length === 0)
        return { fault: `The folder ${path} has no text cases: files that end with .txt.` };
      files.push(...cases.map((name) => join(path, name)));
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      return {
        fault: `${path} cannot be read: ${reasonOf(error, path)}. Name files or folders of text cases; test --help says what they are, and init writes some.`,
      };
    }
  }
  return files;
}

async function playFile(
  file: string,
  play: (textCase: TextCase) => Promise<PlayedCase>,
): Promise<FileOutcome | CommandFault> {
  let text: string;
  let cases: readonly TextCase[];
  try {
    text = readText(file);
    cases = readTextCases(text);
  } catch (error) {
    if (error instanceof TextCaseFault)
      return { fault: `${file}:${error.line}: ${error.message}.`, isJunk: true };
    return unreadable(file, error);
  }
  if (cases.length === 0)
    return { fault: `${file} has no case: each starts with a line “# ” and its title.`, isJunk: true };
  for (const { options, at, title } of cases) {
    const [name] = Object.keys(options);
    if (name !== undefined)
      return {
        fault: `${file}:${at}: the case “${title}” has the option ${name}, but this command takes none.`,
        isJunk: true,
      };
  }
  const lines: (string | readonly string[])[] = text.split('\n');
  const outcomes: CaseOutcome[] = [];
  for (const textCase of cases) {
    const played = await play(textCase);
    const [bug] = played.bugs;
    if (bug !== undefined) throw bug;
    const differences = differencesOf(textCase, played);
    outcomes.push({ title: textCase.title, line: textCase.at, differences });
    if (differences.length > 0) replaceMessages(lines, textCase, played);
  }
  return { file, cases: outcomes, updated: lines.flat().join('\n') };
}

function differencesOf(textCase: TextCase, { sent, response }: PlayedCase): readonly LocatedDifference[] {
  const { upstream } = textCase;
  const locate = (mark: Mark, expected: TextMessage, found: readonly Difference[]): LocatedDifference[] =>
    found.map((difference) => ({
      ...difference,
      message: mark === '=' ? 'V2 request' : 'response',
      line: lineOf(textCase, mark, expected, difference.part),
    }));
  const ofRequest = (): readonly LocatedDifference[] => {
    if (upstream !== undefined && sent !== undefined)
      return locate('=', upstream, messageDifferences(upstream, sent));
    if (upstream === undefined && sent === undefined) return [];
    const [expected, actual] = [upstream, sent].map((message) => message && wholeText(message));
    const line = textCase.lines[upstream === undefined ? '>' : '=']?.first ?? textCase.at;
    return [{ message: 'V2 request', part: 'whole', line, expected, actual }];
  };
  const expected = textCase.response;
  return [
    ...ofRequest(),
    ...(expected === undefined ? [] : locate('<', expected, messageDifferences(expected, response))),
  ];
}

function wholeText({ line, body }: TextMessage): string {
  return body === '' ? line : `${line}\n\n${body}`;
}

function lineOf({ lines, at }: TextCase, mark: Mark, expected: TextMessage, part: string): number {
  const first = lines[mark]?.first ?? at;
  if (part === 'first line') return first;
  const field = expected.headers.findIndex(([name]) => name.replace(/^!/, '') === part);
  if (field >= 0 && part !== 'body') return first + 1 + field;
  // After the fields and the empty line; without an expected body there is no empty line.
  return expected.body === '' ? first : first + 2 + expected.headers.length;
}

/** Replaces the lines of the expected messages with the actual ones. */
function replaceMessages(
  lines: (string | readonly string[])[],
  textCase: TextCase,
  { sent, response }: PlayedCase,
): void {
  const replace = (mark: Mark, texts: readonly string[]): void => {
    const range = textCase.lines[mark];
    if (range === undefined) {
      const request = textCase.lines['>']?.last ?? textCase.at;
      lines[request - 1] = [lines[request - 1] ?? '', ...texts].flat();
      return;
    }
    lines[range.first - 1] = texts;
    for (let line = range.first; line < range.last; line += 1) lines[line] = [];
  };
  if (sent !== undefined) replace('=', updatedLines('=', textCase.upstream, sent));
  else if (textCase.upstream !== undefined) replace('=', []);
  if (textCase.response !== undefined) replace('<', updatedLines('<', textCase.response, response));
}

function printText(
  outcomes: readonly FileOutcome[],
  all: number,
  failed: number,
  isUpdated: boolean,
): string {
  const terminal = terminalOf(stdout);
  const paint = painter(terminal);
  const texts = outcomes.flatMap(({ file, cases }) =>
    cases
      .filter(({ differences }) => differences.length > 0)
      .map(({ title, line, differences }) => {
        const word = isUpdated ? paint('yellow', 'UPDATED') : paint('red', 'FAIL');
        const head = `${word}  ${file}:${line}  ${paint('bold', terminalText(title))}`;
        return [
          head,
          ...differences.map((difference) => printDifference(file, difference, paint, terminal.columns)),
          '',
        ].join('\n');
      }),
  );
  const files = counted(outcomes.length, 'file');
  const sum =
    failed === 0
      ? paint('green', `${counted(all, 'case')} in ${files}: all pass.`)
      : isUpdated
        ? `${counted(all, 'case')} in ${files}: ${failed} updated. Read the difference before you commit it.`
        : `${counted(all, 'case')} in ${files}: ${failed} ${failed === 1 ? 'fails' : 'fail'}. --update writes the actual results into ${failed === 1 ? 'the file' : 'the files'}.`;
  return `${texts.map((text) => `${text}\n`).join('')}${sum}\n`;
}

function printDifference(
  file: string,
  { message, part, line, expected, actual }: LocatedDifference,
  paint: ReturnType<typeof painter>,
  columns: number | undefined,
): string {
  const where = `  ${file}:${line}: ${part === 'whole' ? message : `${message}, ${part}`}${part === 'body' && isSameJson(expected, actual) ? ': the same JSON, but bodies are compared by their bytes (order, spaces, spelling of numbers)' : ''}`;
  if (expected === undefined || actual === undefined) {
    const nothing = part === 'whole' ? '(nothing may reach V2)' : '(absent)';
    const missing = part === 'whole' ? '(nothing reached V2)' : '(absent)';
    return [
      where,
      ...sideLines('-', expected ?? nothing, 'red', paint),
      ...sideLines('+', actual ?? missing, 'green', paint),
    ].join('\n');
  }
  if (!expected.includes('\n') && !actual.includes('\n'))
    return [where, ...markedLines(expected, actual, paint, columns)].join('\n');
  const lines = lineDiff(expected, actual).map(({ sign, text }) => {
    const shown = `    ${sign} ${visible(text)}`;
    return sign === ' ' ? shown : paint(sign === '-' ? 'red' : 'green', shown);
  });
  return [where, ...lines].join('\n');
}

/** True for two JSON texts with the same value. */
function isSameJson(expected = '', actual = ''): boolean {
  const [one, other] = [readJsonText(expected), readJsonText(actual)];
  return one !== undefined && isDeepStrictEqual(one, other);
}

function sideLines(
  sign: '-' | '+',
  text: string,
  style: 'red' | 'green',
  paint: ReturnType<typeof painter>,
): readonly string[] {
  return text.split('\n').map((line) => paint(style, `    ${sign} ${visible(line)}`));
}

/** Maximum characters of a long line before and after a difference, and of the marks under it. */
const AROUND = 40;

/** Characters before a line: its sign, and the spaces around it. */
const MARGIN = '    - '.length;

/** Two lines with marks under the differing characters, cut around them: equal beginnings and ends to `AROUND`, all to the terminal's width. */
function markedLines(
  expected: string,
  actual: string,
  paint: ReturnType<typeof painter>,
  columns: number | undefined,
): readonly string[] {
  const [one, other] = [Array.from(visible(expected)), Array.from(visible(actual))];
  let start = 0;
  while (start < one.length && start < other.length && one[start] === other[start]) start += 1;
  let end = 0;
  while (end < one.length - start && end < other.length - start && one.at(-1 - end) === other.at(-1 - end))
    end += 1;
  // A quarter of the line is enough before the difference; an ellipsis stands at each end.
  const room = columns === undefined ? Infinity : Math.max(8, columns - MARGIN - 2);
  const from = Math.max(0, start - Math.min(AROUND, Math.floor(room / 4)));
  const cut = (text: readonly string[]): string => {
    const until = Math.min(text.length, text.length - end + AROUND, from + room);
    return `${from > 0 ? '…' : ''}${text.slice(from, until).join('')}${until < text.length ? '…' : ''}`;
  };
  const width = Math.max(1, one.length - end - start, other.length - end - start);
  const before = start - from;
  return [
    paint('red', `    - ${cut(one)}`),
    paint('green', `    + ${cut(other)}`),
    ' '.repeat(MARGIN + before + (from > 0 ? 1 : 0)) + '^'.repeat(Math.min(width, room - before, AROUND)),
  ];
}

/** Escapes control characters, so that each has a width and none acts on a terminal. */
function visible(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, (character) => JSON.stringify(character).slice(1, -1));
}

function printJson(
  outcomes: readonly FileOutcome[],
  all: number,
  failed: number,
  isUpdated: boolean,
): string {
  const files = outcomes.map(({ file, cases }) => ({ file, cases }));
  return `${jsonText({ cases: all, failed, updated: isUpdated ? failed : 0, files }, 2)}\n`;
}
