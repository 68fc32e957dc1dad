import type { WriteStream } from 'node:tty';
import { styleText } from 'node:util';

/** How output is to look: with colour codes or without, and fitted to a width or not. */
export interface Terminal {
  readonly hasColour: boolean;
  /** Characters in a line; undefined in a pipe or a file, where lines are as long as they need to be. */
  readonly columns: number | undefined;
}

/** Output without colour and of any width. */
export const PLAIN: Terminal = { hasColour: false, columns: undefined };

/** Names of styles, such as `bold`. */
export type Style = Parameters<typeof styleText>[0];

/** Returns what the terminal behind `stream` shows; a pipe or a file is no terminal. */
export function terminalOf(
  stream: WriteStream,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Terminal {
  return {
    hasColour: hasColour(stream, environment),
    // A terminal that does not know its size says 0.
    columns: (stream.isTTY && stream.columns) || undefined,
  };
}

/** Values of FORCE_COLOR that turn colour on; every other one turns it off. As Node reads them. */
const FORCED: ReadonlySet<string> = new Set(['', '1', '2', '3', 'true']);

/**
 * Tells whether colour codes are written to `stream`: FORCE_COLOR decides, also in a pipe; then NO_COLOR, if it is not empty; then
 * what the terminal can show.
 */
export function hasColour(
  stream: WriteStream,
  { FORCE_COLOR, NO_COLOR, ...rest }: Readonly<Record<string, string | undefined>> = process.env,
): boolean {
  if (FORCE_COLOR !== undefined) return FORCED.has(FORCE_COLOR);
  if (NO_COLOR !== undefined && NO_COLOR !== '') return false;
  return stream.isTTY && stream.hasColors(rest);
}

/** Returns a function that adds colour codes, if the terminal shows them. */
export function painter({
  hasColour: isOn,
}: Pick<Terminal, 'hasColour'>): (style: Style, text: string) => string {
  return (style, text) => (isOn ? styleText(style, text, { validateStream: false }) : text);
}
