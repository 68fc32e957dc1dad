/** The command did what it was asked to do, and found nothing wrong. */
export const SUCCESS = 0;
/** The command ran, and its result is negative, or an input holds something else than it should. */
export const FAILURE = 1;
/** The command could not start its work. */
export const NOT_STARTED = 2;

/** Every exit code with its meaning, as help, manual page and docs/operating.md print it. */
export const EXIT_CODES: readonly (readonly [code: number, meaning: string])[] = [
  [SUCCESS, 'Success.'],
  [
    FAILURE,
    'The command ran, and the result is negative: a request is refused, responses differ, an input file cannot be parsed, or the gateway refuses what was asked.',
  ],
  [
    NOT_STARTED,
    'The command could not start: an argument or a setting is wrong, the rule book has faults, a file is missing, stdout cannot be written, or the gateway cannot be reached.',
  ],
];

/** Returns the exit codes as a Markdown table. */
export function exitCodesTable(): string {
  const rows = EXIT_CODES.map(([code, meaning]) => `| ${code} | ${meaning} |`);
  return ['| exit code | meaning |', '|---|---|', ...rows, ''].join('\n');
}
