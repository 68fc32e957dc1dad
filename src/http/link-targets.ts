/** Changes each target of a `Link` value (RFC 8288 §3): the text in angle brackets outside of quotes. Everything else is kept. */
export function mapLinkTargets(value: string, change: (target: string) => string): string {
  return value.replaceAll(/"(?:[^"\\]|\\.)*"|<([^<>]*)>/g, (piece, target: string | undefined) =>
    target === undefined ? piece : `<${change(target)}>`,
  );
}
