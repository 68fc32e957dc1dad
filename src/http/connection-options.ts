const CLOSE_OPTION = /(?:^|,)[\t ]*close[\t ]*(?:,|$)/i;

/** True for a value of `Connection` with the option `close`, in any case: an element of its list (RFC 9110 §7.6.1, RFC 9112 §9.6). */
export function hasCloseOption(connection: string): boolean {
  return CLOSE_OPTION.test(connection);
}
