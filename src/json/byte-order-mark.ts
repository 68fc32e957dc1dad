/** Whether a text begins with the UTF-8 byte order mark (EF BB BF), which JSON must not contain (RFC 8259 section 8.1). */
export function hasByteOrderMark(text: Uint8Array): boolean {
  return text[0] === 0xef && text[1] === 0xbb && text[2] === 0xbf;
}
