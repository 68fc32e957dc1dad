const SPACE = 0x20;
const DELETE = 0x7f;

/** True for a text of visible ASCII characters (RFC 5234, `VCHAR`), and for an empty one. */
export function isVisible(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code <= SPACE || code >= DELETE) return false;
  }
  return true;
}
