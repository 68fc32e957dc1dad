/**
 * Text that somebody else chose (names in bodies, paths, names of clients, whatever a log holds), made fit to be printed in each
 * format. Everything that is printed for people goes through here; the page sets text nodes and needs none of it.
 */

/** Controls, formats (bidirectional ones, zero widths, marks), separators of lines and lone surrogates: what steers a reader instead of being read. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const UNPRINTABLE_BUT_LINES = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** One line of a terminal: nothing in it moves the cursor, changes a colour, turns the direction or begins another line. */
export function terminalText(text: string): string {
  return text.replaceAll(UNPRINTABLE, escaped);
}

/** Lines of a terminal: as `terminalText`, but for line feeds and tabs. */
export function terminalLines(text: string): string {
  return text.replaceAll(UNPRINTABLE_BUT_LINES, escaped);
}

/** Text within a line of Markdown, also in a table: no markup, no HTML, no links. */
export function markdownText(text: string): string {
  return terminalText(text)
    .replaceAll(/[\\`*{}[\]()<>#+!|~&@$^"]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])/g, String.raw`\$&`)
    .replaceAll('://', String.raw`\://`)
    .replaceAll(/\bwww\./gi, (www) => `${www.slice(0, 3)}\\.`)
    .replace(/^(?:\d+(?=[.)])|[-=])/, (start) => (/^\d/.test(start) ? `${start}\\` : `\\${start}`));
}

/** Code within a line of Markdown, also in a table; plain text where a span of code could be broken out of. */
export function markdownCode(text: string): string {
  const shown = terminalText(text);
  return shown === '' || /[`\\|]/.test(shown) ? markdownText(text) : `\`${shown}\``;
}

/** A block of Markdown that is shown as it is: its fence is longer than any in the text. */
export function markdownBlock(language: string, text: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${terminalLines(text)}\n${fence}`;
}

/** A field of CSV (RFC 4180): a spreadsheet takes no text in it for a formula. */
export function csvField(value: string | number): string {
  if (typeof value === 'number') return String(value);
  const text = terminalText(value);
  const isFormula = /^\s*[=+@＝＋－＠-]./u.test(text);
  const shown = isFormula ? `'${text}` : text;
  return /[",;]/.test(shown) ? `"${shown.replaceAll('"', '""')}"` : shown;
}

/** As JSON and YAML write it, so that what was quoted before stays right. */
function escaped(character: string): string {
  let text = '';
  for (let at = 0; at < character.length; at += 1)
    text += `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`;
  return text;
}
