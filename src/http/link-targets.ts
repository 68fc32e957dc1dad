/** Changes each target of a `Link` value (RFC 8288 §3): the text in angle brackets outside of quotes. Everything else is kept. */
export function mapLinkTargets(value: string, change: (target: string) => string): string {
  return value.replaceAll(
    PIECE,
    (piece, inside: string | undefined, end: string | undefined, target: string | undefined) => {
      if (target !== undefined) return `<${change(target)}>`;
      // A quote that nothing closes is none, and then there is no other behind it: to look again from each one would be quadratic.
      return inside === undefined || end === '"' ? piece : `"${mapUnquoted(inside, change)}`;
    },
  );
}

/** A quoted string (RFC 9110 §5.6.4), closed or not, or a target. */
const PIECE = /"((?:[^"\\]|\\.)*)("?)|<([^<>]*)>/g;

function mapUnquoted(text: string, change: (target: string) => string): string {
  return text.replaceAll(/<([^<>]*)>/g, (_, target: string) => `<${change(target)}>`);
}
