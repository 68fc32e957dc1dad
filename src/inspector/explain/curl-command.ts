import { latin1Bytes, latin1Text } from '../../http/byte-collector.ts';
import { headerValue } from '../../http/header-list.ts';
import { percentDecoded } from '../../http/target.ts';
import type { ExplainRequest } from '../api.ts';
import { bodyOfBytes, encodeBase64 } from '../entries/curl.ts';
import { bytesOf, plainWord, type ReadFile, type ShellWord, textOf } from './shell-words.ts';

/** The requests in a text, and faults of those that cannot be read. */
export interface ReadRequests {
  readonly requests: readonly NamedRequest[];
  /** The requests that could not be read, each with a reason in a sentence. */
  readonly faults: readonly { readonly name: string; readonly fault: string }[];
  /** Sentences about assumptions and omissions. */
  readonly notes: readonly string[];
}

/** A request with a display name. */
export interface NamedRequest {
  readonly name: string;
  readonly request: ExplainRequest;
  /** Number of similar requests; 1 by default. */
  readonly count?: number;
}

/** Options of curl with a value, without their dashes (curl 7.88, and 8.17 by its manual). */
const WITH_VALUE: ReadonlySet<string> = new Set(
  (
    'abstract-unix-socket alt-svc aws-sigv4 cacert capath cert cert-type ciphers config connect-timeout connect-to continue-at cookie ' +
    'cookie-jar create-file-mode crlfile curves data data-ascii data-binary data-raw data-urlencode delegation dns-interface ' +
    'dns-ipv4-addr dns-ipv6-addr dns-servers doh-url dump-ca-embed dump-header ech egd-file engine etag-compare etag-save ' +
    'expect100-timeout form form-string ftp-account ftp-alternative-to-user ftp-method ftp-port ftp-ssl-ccc-mode ' +
    'happy-eyeballs-timeout-ms haproxy-clientip header help hostpubmd5 hostpubsha256 hsts interface ip-tos ipfs-gateway json ' +
    'keepalive-cnt keepalive-time key key-type krb libcurl limit-rate local-port login-options mail-auth mail-from mail-rcpt ' +
    'max-filesize max-redirs max-time netrc-file noproxy oauth2-bearer output output-dir parallel-max parallel-max-host pass ' +
    'pinnedpubkey preproxy proto proto-default proto-redir proxy proxy-cacert proxy-capath proxy-cert proxy-cert-type proxy-ciphers ' +
    'proxy-crlfile proxy-header proxy-key proxy-key-type proxy-pass proxy-pinnedpubkey proxy-service-name proxy-tls13-ciphers ' +
    'proxy-tlsauthtype proxy-tlspassword proxy-tlsuser proxy-user proxy1.0 pubkey quote random-file range rate referer request ' +
    'request-target resolve retry retry-delay retry-max-time sasl-authzid service-name sigalgs socks4 socks4a socks5 ' +
    'socks5-gssapi-service socks5-hostname speed-limit speed-time stderr telnet-option tftp-blksize time-cond tls-max tls13-ciphers ' +
    'tlsauthtype tlspassword tlsuser trace trace-ascii trace-config unix-socket upload-file upload-flags url url-query user ' +
    'user-agent variable vlan-priority write-out'
  ).split(' '),
);

/** Options without a value; each may be negated by `no-`. */
const FLAGS: ReadonlySet<string> = new Set(
  (
    'alpn anyauth append basic buffer ca-native cert-status clobber compressed compressed-ssh create-dirs crlf digest disable ' +
    'disable-eprt disable-epsv disallow-username-in-url doh-cert-status doh-insecure eprt epsv fail fail-early fail-with-body ' +
    'false-start follow form-escape ftp-create-dirs ftp-pasv ftp-pret ftp-skip-pasv-ip ftp-ssl ftp-ssl-ccc ftp-ssl-control get ' +
    'globoff haproxy-protocol head http0.9 http1.0 http1.1 http2 http2-prior-knowledge http3 http3-only ignore-content-length ' +
    'include insecure ipv4 ipv6 junk-session-cookies keepalive list-only location location-trusted mail-rcpt-allowfails manual ' +
    'metalink mptcp negotiate netrc netrc-optional next npn ntlm ntlm-wb out-null parallel parallel-immediate path-as-is post301 ' +
    'post302 post303 progress-bar progress-meter proxy-anyauth proxy-basic proxy-ca-native proxy-digest proxy-http2 proxy-insecure ' +
    'proxy-negotiate proxy-ntlm proxy-ssl-allow-beast proxy-ssl-auto-client-cert proxy-tlsv1 proxytunnel raw remote-header-name ' +
    'remote-name remote-name-all remote-time remove-on-error retry-all-errors retry-connrefused sasl-ir sessionid show-error ' +
    'show-headers silent skip-existing socks5-basic socks5-gssapi socks5-gssapi-nec ssl ssl-allow-beast ssl-auto-client-cert ' +
    'ssl-no-revoke ssl-reqd ssl-revoke-best-effort ssl-sessions sslv2 sslv3 styled-output suppress-connect-headers tcp-fastopen ' +
    'tcp-nodelay tftp-no-options tls-earlydata tlsv1 tlsv1.0 tlsv1.1 tlsv1.2 tlsv1.3 tr-encoding trace-ids trace-time use-ascii ' +
    'verbose version xattr'
  ).split(' '),
);

/** Long names by letter. */
const SHORT: ReadonlyMap<string, string> = new Map(
  (
    '0:http1.0 1:tlsv1 2:sslv2 3:sslv3 4:ipv4 6:ipv6 #:progress-bar ::next a:append A:user-agent b:cookie B:use-ascii ' +
    'c:cookie-jar C:continue-at d:data D:dump-header e:referer E:cert f:fail F:form g:globoff G:get h:help H:header i:include ' +
    'I:head j:junk-session-cookies J:remote-header-name k:insecure K:config l:list-only L:location m:max-time M:manual n:netrc ' +
    'N:buffer o:output O:remote-name p:proxytunnel P:ftp-port q:disable Q:quote r:range R:remote-time s:silent S:show-error ' +
    't:telnet-option T:upload-file u:user U:proxy-user v:verbose V:version w:write-out x:proxy X:request y:speed-time ' +
    'Y:speed-limit z:time-cond Z:parallel'
  )
    .split(' ')
    .map((pair) => [pair.slice(0, 1), pair.slice(2)]),
);

/** Additions to the request by options, which cannot be known from the command. */
const UNFOLLOWED: Readonly<Record<string, string>> = {
  'aws-sigv4': 'the signature',
  digest: 'the credentials, which follow the first response',
  ntlm: 'the credentials',
  negotiate: 'the credentials',
  anyauth: 'the credentials, which follow the first response',
  netrc: 'the credentials of its file',
  'netrc-optional': 'the credentials of its file',
  'netrc-file': 'the credentials of its file',
  'etag-compare': 'the If-None-Match of its file',
  crlf: 'the converted line ends of the file',
  'use-ascii': 'the converted line ends of the file',
};

/** Options by which the credentials of `--user` are not sent as Basic. */
const OTHER_SCHEMES: ReadonlySet<string> = new Set(['aws-sigv4', 'digest', 'ntlm', 'negotiate', 'anyauth']);

/** Maximum requests from the pattern of an address. */
const MAX_REQUESTS = 100;

/** Reads the requests of a curl command: one for each address, with the options up to the next `--next`. `readFile` resolves `@file`. */
export function readCurlCommand(words: readonly ShellWord[], readFile: ReadFile): ReadRequests {
  const requests: NamedRequest[] = [];
  const faults: { name: string; fault: string }[] = [];
  const notes = new Set<string>();
  let transfer = new Transfer(readFile, notes);
  const finish = (): void => {
    for (const read of transfer.finish())
      if ('fault' in read) faults.push(read);
      else requests.push(read);
  };
  const args = words.slice(1);
  let configs = 0;
  for (let at = 0, isOnlyAddresses = false; at < args.length; at += 1) {
    const word = args[at] ?? plainWord('');
    if (isOnlyAddresses || !word.bytes.startsWith('-') || word.bytes === '-') transfer.addresses.push(word);
    else if (word.bytes === '--') isOnlyAddresses = true;
    else {
      const read = readOption(word, args[at + 1]);
      if (typeof read === 'string')
        return { requests: [], faults: [{ name: 'curl', fault: read }], notes: [] };
      at += read.isNextUsed ? 1 : 0;
      for (const { name, isOff, value } of read.options)
        if (name === 'config' && configs < MAX_REQUESTS) {
          configs += 1;
          args.splice(at + 1, 0, ...configWords(transfer.file(value, '--config')));
        } else if (name !== 'next') transfer.take(name, isOff, value);
        else if (transfer.isBegun || transfer.addresses.length > 0) {
          finish();
          transfer = new Transfer(readFile, notes);
        }
    }
  }
  finish();
  return { requests, faults, notes: [...notes] };
}

/**
 * The words in a file of `--config`: one option per line, with or without its dashes, and its value after a space, `=` or `:`, which
 * may be in double quotes.
 */
function configWords(text: string): readonly ShellWord[] {
  return text.split(/\r?\n/).flatMap((line) => {
    const found = /^\s*(-\S+|[^\s=:#/*-][^\s=:]*)(?:\s*[=:]\s*|\s+)?(?:"((?:[^"\\]|\\.)*)"|(\S*))/s.exec(
      line,
    );
    const [, option = '', quoted, bare = ''] = found ?? [];
    if (option === '') return [];
    const value = quoted?.replaceAll(/\\(.)/gs, (_, plain: string) => CONFIG_ESCAPES[plain] ?? plain) ?? bare;
    const name = option.startsWith('-') ? option : `--${option}`;
    return value === '' && quoted === undefined ? [plainWord(name)] : [plainWord(name), plainWord(value)];
  });
}

const CONFIG_ESCAPES: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', v: '\v' };

interface Option {
  /** The long name, without dashes and `no-`. */
  readonly name: string;
  readonly isOff: boolean;
  readonly value: ShellWord;
}

/** Reads the options in a word; the last one may take the next word as its value. Returns a sentence if curl would refuse them. */
function readOption(
  word: ShellWord,
  next: ShellWord | undefined,
): { readonly options: readonly Option[]; readonly isNextUsed: boolean } | string {
  const text = textOf(word.bytes);
  if (!text.startsWith('--')) return readShortOptions(word, next);
  const equals = word.bytes.indexOf('=');
  const written = text.slice(2).split('=', 1)[0] ?? '';
  if (written.startsWith('expand-'))
    return `The option --${written} of curl fills in variables, which is not supported: write the value itself.`;
  const name = longName(written);
  if (name === undefined)
    return `curl has no option --${written}: ${isTypo(written)}leave it out, or correct it (curl --help all lists them).`;
  if (!WITH_VALUE.has(name))
    return { options: [{ name, isOff: isNegated(written), value: plainWord('') }], isNextUsed: false };
  // curl takes `--name=value` since 8.16.
  if (equals !== -1)
    return { options: [{ name, isOff: false, value: behind(word, equals + 1) }], isNextUsed: false };
  if (next === undefined) return `--${written} of the curl command has no value.`;
  return { options: [{ name, isOff: false, value: next }], isNextUsed: true };
}

function isTypo(written: string): string {
  return written === '' || /[^\w.-]/.test(written) ? 'a quote or a space may be missing before it; ' : '';
}

function isNegated(written: string): boolean {
  return written.startsWith('no-') && !FLAGS.has(written);
}

/** The full name of an option, which may be abbreviated or, for one without a value, negated; undefined for no option. */
function longName(written: string): string | undefined {
  const bare = isNegated(written) && !WITH_VALUE.has(written) ? written.slice(3) : written;
  if (FLAGS.has(bare) || (bare === written && WITH_VALUE.has(bare))) return bare;
  const names = [...FLAGS, ...WITH_VALUE].filter((name) => bare !== '' && name.startsWith(bare));
  return names.length === 1 ? names[0] : undefined;
}

/** Reads short options, which may be joined, as in `-sXPOST`: the first one with a value takes the rest. */
function readShortOptions(
  word: ShellWord,
  next: ShellWord | undefined,
): { readonly options: readonly Option[]; readonly isNextUsed: boolean } | string {
  const options: Option[] = [];
  for (let at = 1; at < word.bytes.length; at += 1) {
    const letter = word.bytes[at] ?? '';
    const name = SHORT.get(letter);
    if (name === undefined)
      return `curl has no option -${textOf(word.bytes.slice(at))[0] ?? ''} (in ${textOf(word.bytes)}): leave it out, or correct it (curl --help all lists them).`;
    if (!WITH_VALUE.has(name)) options.push({ name, isOff: letter === 'N', value: plainWord('') });
    else if (at + 1 < word.bytes.length)
      return {
        options: [...options, { name, isOff: false, value: behind(word, at + 1) }],
        isNextUsed: false,
      };
    else if (next === undefined) return `-${letter} of the curl command has no value.`;
    else return { options: [...options, { name, isOff: false, value: next }], isNextUsed: true };
  }
  return { options, isNextUsed: false };
}

function behind({ bytes, unknown, hasBrace }: ShellWord, from: number): ShellWord {
  return {
    bytes: bytes.slice(from),
    unknown: unknown.flatMap(({ name, at }) => (at < from ? [] : [{ name, at: at - from }])),
    hasBrace,
  };
}

type Field = readonly [name: string, value: string];

/** The options up to the next `--next`, and the requests that curl makes from them. */
class Transfer {
  readonly addresses: ShellWord[] = [];
  /** True once it has an option. */
  isBegun = false;
  private readonly readFile: ReadFile;
  private readonly notes: Set<string>;
  private fault: string | undefined;
  private method: string | undefined;
  private data: string | undefined;
  private isJson = false;
  private form: string[] | undefined;
  private readonly uploads: ShellWord[] = [];
  private readonly queries: string[] = [];
  private readonly custom: string[] = [];
  private readonly own = new Map<string, string>();
  /** Options without a value that are on. */
  private readonly flags = new Set<string>();
  private target: string | undefined;
  private user: string | undefined;
  private isBasic = true;

  constructor(readFile: ReadFile, notes: Set<string>) {
    this.readFile = readFile;
    this.notes = notes;
  }

  take(name: string, isOff: boolean, value: ShellWord): void {
    this.isBegun = true;
    const { bytes } = value;
    const text = textOf(bytes);
    const unfollowed = UNFOLLOWED[name];
    if (unfollowed !== undefined && !isOff) {
      this.notes.add(`--${name} of the curl command is not followed: the request lacks ${unfollowed}.`);
      if (OTHER_SCHEMES.has(name)) this.isBasic = false;
      return;
    }
    switch (name) {
      case 'request':
        this.refuseUnknown(value, 'The method');
        this.method = text;
        break;
      case 'url':
        this.addresses.push(value);
        break;
      case 'header':
        this.takeHeaders(value);
        break;
      case 'data':
      case 'data-ascii':
      case 'data-binary':
      case 'data-raw':
      case 'json':
        this.takeData(name, value);
        break;
      case 'data-urlencode':
        this.addData(this.encoded(value, 'The body'), '&');
        break;
      case 'url-query':
        this.queries.push(bytes.startsWith('+') ? bytes.slice(1) : this.encoded(value, 'The query'));
        break;
      case 'form':
      case 'form-string':
        this.takeForm(name, value);
        break;
      case 'upload-file':
        if (bytes !== '') this.uploads.push(value);
        break;
      case 'user':
        this.user = bytes;
        break;
      case 'oauth2-bearer':
        this.own.set('Authorization', `Bearer ${text}`);
        break;
      case 'cookie':
        this.takeCookie(value);
        break;
      case 'user-agent':
        this.own.set('User-Agent', text);
        break;
      case 'referer':
        this.own.set('Referer', text.split(';auto', 1)[0] ?? '');
        break;
      case 'range':
        this.own.set('Range', `bytes=${/^\d+$/.test(text) ? `${text}-` : text}`);
        break;
      case 'continue-at':
        if (/^\d+$/.test(text) && Number(text) > 0) this.own.set('Range', `bytes=${text}-`);
        break;
      case 'compressed':
        if (isOff) this.own.delete('Accept-Encoding');
        else this.own.set('Accept-Encoding', 'deflate, gzip, br, zstd');
        break;
      case 'time-cond':
        this.takeTime(text);
        break;
      case 'request-target':
        this.refuseUnknown(value, 'The target');
        this.target = text;
        break;
      case 'variable':
        this.fault ??= `--${name} of the curl command is not supported: write its content into the command.`;
        break;
      case 'help':
      case 'manual':
      case 'version':
        this.fault ??= `With --${name}, curl makes no request.`;
        break;
      default:
        // Most do not affect the request.
        if (isOff) this.flags.delete(name);
        else this.flags.add(name);
    }
  }

  private refuseUnknown({ unknown }: ShellWord, what: string): void {
    const [first] = unknown;
    if (first !== undefined) this.fault ??= unknownSentence(what, first.name);
  }

  /** The content of a file that an option names. */
  file(path: ShellWord, option: string): string {
    this.refuseUnknown(path, 'The file');
    return this.contentOf(textOf(path.bytes), option);
  }

  /** The bytes of a file. */
  private contentOf(path: string, option: string): string {
    if (isStandardInput(path)) {
      this.fault ??= `${option} of the curl command reads standard input, which is not available here: put the text into the command.`;
      return '';
    }
    try {
      return latin1Text(this.readFile(path));
    } catch {
      this.fault ??= `The curl command sends the file ${path}, which cannot be read.`;
      return '';
    }
  }

  private takeData(name: string, value: ShellWord): void {
    this.refuseUnknown(value, 'The body');
    if (value.hasBrace && /,|\.\./.test(value.bytes))
      this.fault ??=
        'The body has braces outside quotes, which the shell expands to several words: put it in single quotes.';
    if (name === 'json') this.isJson = true;
    const { bytes } = value;
    const isFile = bytes.startsWith('@') && name !== 'data-raw';
    const read = isFile ? this.contentOf(textOf(bytes.slice(1)), `--${name}`) : bytes;
    const isWhole = !isFile || name === 'data-binary' || name === 'json';
    // eslint-disable-next-line no-control-regex -- curl leaves exactly these three out
    this.addData(isWhole ? read : read.replaceAll(/[\r\n\0]/g, ''), name === 'json' ? '' : '&');
  }

  private addData(bytes: string, joint: string): void {
    this.data = this.data === undefined ? bytes : this.data + joint + bytes;
  }

  /** The forms of `--data-urlencode`: `content`, `=content`, `name=content`, `@file`, `name@file`. */
  private encoded(value: ShellWord, what: string): string {
    this.refuseUnknown(value, what);
    const { bytes } = value;
    // curl looks for `=` first, so `a@b=c` has the name a@b.
    const mark = /=/.exec(bytes) ?? /@/.exec(bytes);
    if (mark === null) return percentEncoded(bytes);
    const [name, rest] = [bytes.slice(0, mark.index), bytes.slice(mark.index + 1)];
    const content = mark[0] === '=' ? rest : this.contentOf(textOf(rest), '--data-urlencode');
    return (name === '' ? '' : `${name}=`) + percentEncoded(content);
  }

  private takeHeaders(value: ShellWord): void {
    const { bytes, unknown } = value;
    const [first] = unknown;
    if (bytes.startsWith('@')) {
      this.custom.push(...fieldLines(this.contentOf(textOf(bytes.slice(1)), '--header')));
      return;
    }
    if (first !== undefined && !/[:;]/.test(bytes)) {
      this.notes.add(`The header field ${textOf(bytes)} is not known: the request is read without it.`);
      return;
    }
    const [name = ''] = bytes.split(':', 1);
    if (
      first !== undefined &&
      (first.at < name.length || !/^(?:authorization|cookie|x-api-key)$/i.test(name))
    )
      this.notes.add(`The value of ${first.name} in ${textOf(name)} is not known: it is used as written.`);
    if (!/[:;]/.test(bytes)) this.notes.add(`curl ignores -H ${textOf(bytes)}, which is not a header.`);
    this.custom.push(bytes);
  }

  private takeCookie({ bytes }: ShellWord): void {
    if (!bytes.includes('=')) {
      if (bytes !== '') this.notes.add(`The cookies in the file ${textOf(bytes)} are not read.`);
      return;
    }
    const others = this.own.get('Cookie');
    this.own.set('Cookie', others === undefined ? textOf(bytes) : `${others};${textOf(bytes)}`);
  }

  private takeTime(text: string): void {
    const isBefore = /^[-=]/.test(text);
    const time = Date.parse(`${text.replace(/^[-+=]/, '')} GMT`);
    // curl does not recognise a date of digits and dashes; it warns, and sends the request without one.
    if (!/[A-Za-z]/.test(text) || Number.isNaN(time))
      this.notes.add(
        `--time-cond of the curl command is not followed: ${text} is read as a file or is not a date.`,
      );
    else this.own.set(isBefore ? 'If-Unmodified-Since' : 'If-Modified-Since', new Date(time).toUTCString());
  }

  private takeForm(option: string, value: ShellWord): void {
    this.refuseUnknown(value, 'The form');
    const equals = value.bytes.indexOf('=');
    if (equals === -1) {
      this.fault ??= `--${option} of the curl command has no name=content: ${textOf(value.bytes)}`;
      return;
    }
    const name = value.bytes.slice(0, equals);
    const content = value.bytes.slice(equals + 1);
    this.form ??= [];
    if (option === 'form-string') this.form.push(this.part(name, { content }));
    else if (/;\s*encoder=/.test(content))
      this.fault ??= `A part with an encoder (${textOf(value.bytes)}) is not supported; give its content as it is.`;
    else if (/^\(|^\)$/.test(content))
      this.fault ??= `Forms within forms (${textOf(value.bytes)}) are not supported; give their parts one by one.`;
    else if (content.startsWith('@') || content.startsWith('<')) this.takeFormFile(name, content);
    else {
      const { text, options } = this.partOptions(content);
      this.form.push(this.part(name, { content: text, ...options }));
    }
  }

  /** The content of a part and its options; its fields may be in a file. */
  private partOptions(content: string): { readonly text: string; readonly options: PartOptions } {
    const { text, options } = partOptions(content) ?? { text: '', options: undefined };
    if (options === undefined)
      this.fault ??= `The part ${textOf(content)} has a type that curl refuses: write one such as type=text/plain.`;
    const fields = options?.fields?.flatMap((field) =>
      /^[@<]/.test(field) ? fieldLines(this.contentOf(textOf(field.slice(1)), '--form')) : [field],
    );
    return { text, options: { ...options, ...(fields === undefined ? {} : { fields }) } };
  }

  private part(
    name: string,
    { content, type, filename, fields = [] }: PartOptions & { content: string },
  ): string {
    const quoted = (text: string): string =>
      this.flags.has('form-escape')
        ? text.replaceAll(/["\\]/g, '\\$&')
        : text.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
    const named = name === '' ? '' : `; name="${quoted(name)}"`;
    const file = filename === undefined ? '' : `; filename="${quoted(filename)}"`;
    const head = [
      `Content-Disposition: form-data${named}${file}`,
      ...(type === undefined ? [] : [`Content-Type: ${type}`]),
      ...fields,
    ];
    return `--${BOUNDARY}\r\n${head.join('\r\n')}\r\n\r\n${content}\r\n`;
  }

  private takeFormFile(name: string, content: string): void {
    const { text: path, options } = this.partOptions(content.slice(1));
    if (content.startsWith('@') && path.includes(',') && !content.startsWith('@"')) {
      this.fault ??= `A form with several files in one part (${textOf(content)}) is not supported; give each a part.`;
      return;
    }
    const read = this.contentOf(textOf(path), '--form');
    if (content.startsWith('<')) this.form?.push(this.part(name, { content: read, ...options }));
    else {
      const filename = options.filename ?? baseName(path);
      this.form?.push(
        this.part(name, {
          content: read,
          ...options,
          filename,
          ...(options.type === undefined && isStandardInput(textOf(path))
            ? {}
            : { type: options.type ?? typeOfFile(path) }),
        }),
      );
    }
  }

  /** Returns the requests, or the reasons why they cannot be read. */
  finish(): readonly (NamedRequest | { readonly name: string; readonly fault: string })[] {
    const unread = (fault: string, name = 'curl'): { name: string; fault: string } => ({ name, fault });
    if (this.fault !== undefined) return [unread(this.fault)];
    if (this.addresses.length === 0) return [unread('The curl command has no address.')];
    // It may be options, which would also affect the requests to the other addresses.
    const open = this.addresses.find(mayBeOptions);
    if (open !== undefined && this.addresses.length > 1)
      return [unread(unknownSentence('The command', textOf(open.bytes)))];
    const kinds = [
      this.flags.has('head') && '-I',
      this.data !== undefined && !this.flags.has('get') && '-d',
      this.form !== undefined && '-F',
      this.uploads.length > 0 && '-T',
    ].filter((option) => option !== false);
    if (kinds.length > 1) return [unread(`curl takes only one of ${kinds.join(' and ')}.`)];
    return this.addresses.flatMap((address, number) => {
      const name = textOf(address.bytes);
      const found = this.targets(address);
      if (typeof found === 'string') return [unread(found, name)];
      return found.map((target) => {
        if (typeof target === 'string') return unread(target, name);
        const request = this.request(target, this.uploads[Math.min(number, this.uploads.length - 1)]);
        if (this.fault !== undefined) return unread(this.fault, name);
        return { name: `${request.method ?? ''} ${request.target ?? ''}`, request };
      });
    });
  }

  /** The addresses from a pattern, with a sentence in place of each invalid one. */
  private targets(address: ShellWord): readonly (Address | string)[] | string {
    const [first] = address.unknown;
    let { bytes } = address;
    if (first !== undefined) {
      const rest = behindHost(bytes, address.unknown);
      if (typeof rest !== 'string') return unknownSentence('The address', rest.name);
      const names = address.unknown.map(({ name }) => name);
      this.notes.add(
        names.length > 1
          ? `The values of ${names.join(' and ')} are not known: they are taken as scheme and host of the address.`
          : `The value of ${first.name} is not known: it is taken as scheme and host of the address.`,
      );
      bytes = `http://host${rest}`;
    }
    const template = /\{\{[^{}]*\}\}/.exec(bytes)?.[0];
    if (template !== undefined)
      return `The address has ${textOf(template)}, which another tool fills in: write its value.`;
    if (bytes.startsWith('//'))
      return `curl does not take ${textOf(bytes)} as an address: write https: before it.`;
    if (address.hasBrace && bytes.includes('..'))
      return 'The address has braces outside quotes, which the shell expands to several words: put it in single quotes.';
    const texts = this.flags.has('globoff') ? [textOf(bytes)] : expandedPattern(textOf(bytes));
    if (texts === undefined)
      return `${textOf(bytes)} is not a pattern that curl expands: put -g before an address with [ ] or { }.`;
    if (texts.length > MAX_REQUESTS)
      return `${textOf(bytes)} stands for more than ${MAX_REQUESTS} requests: give fewer.`;
    return texts.map((text) => readAddress(text, { isPathAsIs: this.flags.has('path-as-is') }));
  }

  private request({ user, path, query }: Address, upload: ShellWord | undefined): ExplainRequest {
    const queries = this.flags.has('get') && this.data !== undefined ? [this.data] : this.queries;
    const added = queries.filter((text) => text !== '').join('&');
    const whole = [...(query === undefined ? [] : [query]), ...(added === '' ? [] : [textOf(added)])].join(
      '&',
    );
    if (/[\s\u007F]/.test(whole)) this.fault ??= 'The query has a space: write %20, or --data-urlencode.';
    const file =
      upload !== undefined && path.endsWith('/') && upload.bytes !== '-'
        ? encodeURIComponent(textOf(baseName(upload.bytes)))
        : '';
    const body = this.body(upload);
    const method =
      this.method ??
      (this.flags.has('head') ? 'HEAD' : upload !== undefined ? 'PUT' : body === undefined ? 'GET' : 'POST');
    return {
      method,
      target: this.target ?? path + file + (whole === '' && query === undefined ? '' : `?${whole}`),
      headers: this.headers(user, body !== undefined),
      ...(body === undefined ? {} : bodyOfBytes(latin1Bytes(body))),
    };
  }

  private body(upload: ShellWord | undefined): string | undefined {
    if (upload !== undefined) {
      this.refuseUnknown(upload, 'The file');
      return this.contentOf(upload.bytes === '.' ? '-' : textOf(upload.bytes), '--upload-file');
    }
    if (this.form !== undefined) return `${this.form.join('')}--${BOUNDARY}--\r\n`;
    return this.flags.has('get') ? undefined : this.data;
  }

  /** The fields that curl sends: those given, and its own unless one of that name was given or removed by `Name:`. */
  private headers(userOfAddress: string | undefined, hasBody: boolean): Field[] {
    const given: Field[] = [];
    const names = new Set<string>();
    for (const line of this.custom) {
      const field = readField(line);
      if (field === undefined) continue;
      names.add(field.name.toLowerCase());
      if (field.value !== undefined) given.push([textOf(field.name), textOf(field.value)]);
    }
    const own = new Map(this.own);
    const user = this.user ?? userOfAddress;
    if (user !== undefined && this.isBasic && !own.has('Authorization'))
      own.set('Authorization', `Basic ${encodeBase64(latin1Bytes(user.includes(':') ? user : `${user}:`))}`);
    if (this.isJson) own.set('Content-Type', 'application/json').set('Accept', 'application/json');
    if (this.form !== undefined) own.set('Content-Type', `multipart/form-data; boundary=${BOUNDARY}`);
    else if (hasBody && this.data !== undefined && !this.isJson)
      own.set('Content-Type', 'application/x-www-form-urlencoded');
    const fields = [
      ...[...own].filter(([name, value]) => value !== '' && !names.has(name.toLowerCase())),
      ...given,
    ];
    const type = headerValue(fields.flat(), 'content-type');
    if (this.form === undefined || type === undefined || /boundary=/i.test(type)) return fields;
    return fields.map(([name, value]) =>
      name.toLowerCase() === 'content-type' && /^multipart\/form-data/i.test(value)
        ? [name, `${value}; boundary=${BOUNDARY}`]
        : [name, value],
    );
  }
}

/**
 * The part after the host of an address with unknown parts. These do not affect the request if all of them are before the path:
 * `$BASE/a`, `https://$HOST:$PORT/a`, `api.$DOMAIN/a`. Otherwise returns the part that may extend into the path.
 */
function behindHost(bytes: string, unknown: ShellWord['unknown']): string | { readonly name: string } {
  let [known, to] = ['', 0];
  for (const { name, at } of unknown) {
    const { length } = bytesOf(name);
    known += bytes.slice(to, at) + '0'.repeat(length);
    to = at + length;
  }
  known += bytes.slice(to);
  const begin = /^[^/?#]*:\/\//.exec(known)?.[0].length ?? 0;
  const end = begin + (/^[^/?#]*/.exec(known.slice(begin))?.[0].length ?? 0);
  const reaching = unknown.find(({ name, at }) => {
    const next = known[at + bytesOf(name).length] ?? '';
    if (at >= end || (begin === 0 && end === bytes.length)) return true;
    if (at === 0 && begin === 0) return !/^0+(?::\d+)?$/.test(known.slice(0, end));
    return at >= begin && !/[/.:@-]/.test(known[at - 1] ?? '') && !/[.:@-]/.test(next);
  });
  return reaching ?? bytes.slice(end);
}

function isStandardInput(path: string): boolean {
  return path === '-' || path === '/dev/stdin' || path === '/dev/fd/0';
}

/** True for a word that consists of an unknown value, and may be none or several words. */
function mayBeOptions({ bytes, unknown, isQuoted }: ShellWord): boolean {
  const [first] = unknown;
  if (first === undefined || bytesOf(first.name) !== bytes) return false;
  return isQuoted !== true || /^\$(?:@|\*|\{\w+\[[@*]\]\})$/.test(first.name);
}

function unknownSentence(what: string, name: string): string {
  return `${what} uses the variable ${name}, whose value is not known here: set it before the command, or write the value.`;
}

/** The fields in a file, one per line; a line that begins with # is a comment. */
function fieldLines(file: string): readonly string[] {
  return file.split(/\r?\n/).filter((line) => line !== '' && !line.startsWith('#'));
}

/** Reads a value of `-H`: `Name: value`, `Name;` for a field without a value, `Name:` to remove one. Undefined for anything else. */
function readField(line: string): { readonly name: string; readonly value: string | undefined } | undefined {
  const colon = line.indexOf(':');
  if (colon === 0) return undefined;
  if (colon === -1) {
    const semicolon = line.indexOf(';');
    if (semicolon < 1 || semicolon !== line.length - 1) return undefined;
    return { name: line.slice(0, semicolon), value: '' };
  }
  const value = line.slice(colon + 1).trim();
  return { name: line.slice(0, colon), value: value === '' ? undefined : value };
}

/** As `curl_easy_escape` does, with `+` for a space. */
function percentEncoded(bytes: string): string {
  return bytes.replaceAll(/[^A-Za-z0-9\-._~]/g, (byte) =>
    byte === ' ' ? '+' : `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}

interface Address {
  readonly user: string | undefined;
  readonly path: string;
  /** Without its question mark; undefined if there is none. */
  readonly query: string | undefined;
}

/**
 * Reads an address as curl does: the default scheme is HTTP, dot segments are removed, and the fragment is not sent. A text that begins
 * with a slash is a target. Returns a sentence for anything else.
 */
export function readAddress(text: string, { isPathAsIs = false } = {}): Address | string {
  if (/^[\u2018-\u201F]|^[\u2010-\u2015]/.test(text))
    return `${text} begins with a typographic quote or dash: replace it with ' or -.`;
  if (/[\u2018-\u201F]$/.test(text)) return `${text} ends with a typographic quote: replace it with '.`;
  // eslint-disable-next-line no-control-regex -- curl refuses these in an address
  if (/[\u0000-\u0020\u007F]/.test(text))
    return `The address ${JSON.stringify(text)} has a space: write %20.`;
  const scheme = /^([A-Za-z][\w+.-]*):\/{1,3}/.exec(text);
  const name = scheme?.[1]?.toLowerCase();
  if (name !== undefined && name !== 'http' && name !== 'https') return `${text} is not an HTTP address.`;
  const rest = text.slice(scheme?.[0].length ?? 0);
  const end = rest.search(/[/?#]/);
  const authority = end === -1 ? rest : rest.slice(0, end);
  const at = authority.indexOf('@');
  const host = authority.slice(at + 1);
  const isTarget = scheme === null && text.startsWith('/');
  const isBare =
    scheme === null && ((end === -1 && !/[.:]/.test(host) && host !== 'localhost') || MEDIA_TYPE.test(text));
  if (!isTarget && (isBare || !/^(?:\[[\dA-Fa-f:.%]+\]|[^\s:@*[\]"'<>{}|\\^`$,;()]+)(?::\d*)?$/.test(host)))
    return text === ''
      ? 'The address is empty.'
      : `${text} is neither an option of curl nor an address: a quote or an option may be missing before it.`;
  const [whole = ''] = (end === -1 ? '' : rest.slice(end)).split('#', 1);
  const question = whole.indexOf('?');
  const path = question === -1 ? whole : whole.slice(0, question);
  const credentials = authority.slice(0, Math.max(0, at));
  const user = at === -1 ? undefined : bytesOf(percentDecoded(credentials) ?? credentials);
  return {
    user,
    path: encodedPath(isPathAsIs ? path || '/' : withoutDots(path)),
    query: question === -1 ? undefined : whole.slice(question + 1),
  };
}

/** The target of an address, without scheme, host and fragment; a text that is not an address is returned unchanged. */
export function requestTarget(address: string): string {
  const full = /^https?:\/\/[^/?#]*([^#]*)/i.exec(address);
  if (full === null) return address;
  const [, target = ''] = full;
  return target.startsWith('/') ? target : `/${target}`;
}

/** A remainder of `-H Content-Type: application/json` without quotes, and not a host. */
const MEDIA_TYPE = /^(?:application|text|multipart|image)\/[\w.+-]+(?:;.*)?$/;

function encodedPath(path: string): string {
  return path.replaceAll(/[^\0-\x7F]+/gu, (text) => encodeURIComponent(text.toWellFormed()));
}

/** Removes dot segments (RFC 3986 §5.2.4). Only plain dots, since curl leaves `%2e` to the server. */
function withoutDots(path: string): string {
  const kept: string[] = [];
  const segments = path.split('/').slice(1);
  for (const [number, segment] of segments.entries()) {
    if (segment === '..') kept.pop();
    if (segment !== '.' && segment !== '..') kept.push(segment);
    else if (number === segments.length - 1) kept.push('');
  }
  return `/${kept.join('/')}`;
}

/**
 * Expands the patterns of an address: `{a,b}`, `[1-3]`, `[01-09:2]`, `[a-z]`. A bracket after a backslash, `[]` and an IPv6 address are
 * kept. Undefined where curl refuses the pattern.
 */
function expandedPattern(text: string): readonly string[] | undefined {
  let texts = [''];
  const add = (choices: readonly string[]): void => {
    if (texts.length <= MAX_REQUESTS)
      texts = texts.flatMap((before) => choices.map((choice) => before + choice));
  };
  for (let at = 0; at < text.length;) {
    const character = text[at] ?? '';
    const end = text.indexOf(character === '{' ? '}' : ']', at);
    const inside = text.slice(at + 1, end);
    if (character === '\\' && /[[\]{}]/.test(text[at + 1] ?? '')) {
      add([text[at + 1] ?? '']);
      at += 2;
    } else if (character === '[' && end !== -1 && /^(?:[\dA-Fa-f]*:[\dA-Fa-f:.%]*)?$/.test(inside)) {
      add([text.slice(at, end + 1)]);
      at = end + 1;
    } else if (character === '{' || character === '[') {
      const choices = end === -1 ? undefined : character === '{' ? listOf(inside) : rangeOf(inside);
      if (choices === undefined) return undefined;
      add(choices);
      at = end + 1;
    } else if (character === '}' || character === ']') return undefined;
    else {
      const next = text.slice(at + 1).search(/[[\]{}\\]/);
      const to = next === -1 ? text.length : at + 1 + next;
      add([text.slice(at, to)]);
      at = to;
    }
  }
  return texts;
}

function listOf(inside: string): readonly string[] | undefined {
  return inside === '' || /[[\]{]/.test(inside) ? undefined : inside.split(',');
}

function rangeOf(inside: string): readonly string[] | undefined {
  const found = /^(?:(\d+)-(\d+)|([a-z])-([a-z])|([A-Z])-([A-Z]))(?::(\d+))?$/.exec(inside);
  if (found === null) return undefined;
  const [, first, last, a, b, A, B, stepText = '1'] = found;
  const letters: readonly [string, string] = [a ?? A ?? '', b ?? B ?? ''];
  const [from, to] =
    first === undefined || last === undefined
      ? [letters[0].charCodeAt(0), letters[1].charCodeAt(0)]
      : [Number(first), Number(last)];
  const step = Number(stepText);
  if (step === 0 || to < from) return undefined;
  const count = Math.min(Math.floor((to - from) / step) + 1, MAX_REQUESTS + 1);
  return Array.from({ length: count }, (_, number) => {
    const value = from + number * step;
    return first === undefined ? String.fromCharCode(value) : String(value).padStart(first.length, '0');
  });
}

/** Like curl's, but constant, so that the same command gives the same request. */
const BOUNDARY = '------------------------capturegateway01';

interface PartOptions {
  readonly type?: string;
  readonly filename?: string;
  readonly fields?: readonly string[];
}

/**
 * Splits a part into its content and its options: `content;type=…;filename=…`, where all but the type may be in double quotes;
 * undefined where curl refuses the type.
 */
function partOptions(given: string): { readonly text: string; readonly options: PartOptions } | undefined {
  let type: string | undefined;
  let filename: string | undefined;
  const fields: string[] = [];
  const first = partWord(given);
  let { rest } = first;
  while (rest.startsWith(';')) {
    const key = /^;\s*(?:(type|filename|headers|encoder)=\s*)?/i.exec(rest);
    const name = key?.[1]?.toLowerCase();
    const behindKey = rest.slice(key?.[0].length ?? 1);
    if (name === 'type' && type === undefined) {
      if (!/^[^/ ]+\/[^;, \n]/.test(behindKey)) return undefined;
      // Includes parameters of the media type, as in type=text/plain;charset=utf-8, with their quotes.
      type = /^[^;]*(?:;(?!\s*(?:type|filename|headers|encoder)=)[^;]*)*/i.exec(behindKey)?.[0] ?? '';
      rest = behindKey.slice(type.length);
      type = trimmed(type);
      continue;
    }
    const word = partWord(behindKey);
    if (name === 'filename') filename = word.text;
    if (name === 'headers') fields.push(word.text);
    rest = word.rest;
  }
  return {
    text: first.text,
    options: {
      ...(type === undefined ? {} : { type }),
      ...(filename === undefined ? {} : { filename }),
      fields,
    },
  };
}

/** Reads a word up to the next semicolon; in double quotes it may contain one, and `\"` and `\\` are escapes. */
function partWord(given: string): { readonly text: string; readonly rest: string } {
  const quoted = /^\s*"((?:[^"\\]|\\.)*)"[^;]*/s.exec(given);
  if (quoted !== null)
    return {
      text: (quoted[1] ?? '').replaceAll(/\\(["\\])/g, '$1'),
      rest: given.slice(quoted[0].length),
    };
  const end = given.indexOf(';');
  const word = end === -1 ? given : given.slice(0, end);
  return { text: trimmed(word), rest: given.slice(word.length) };
}

/** Removes the white space of C around a text; its characters are no bytes of longer UTF-8 sequences. */
function trimmed(bytes: string): string {
  return bytes.replace(/^[ \t-\r]+/, '').replace(/(?<![ \t-\r])[ \t-\r]+$/, '');
}

function baseName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
}

const TYPES: ReadonlyMap<string, string> = new Map([
  ['gif', 'image/gif'],
  ['htm', 'text/html'],
  ['html', 'text/html'],
  ['jpeg', 'image/jpeg'],
  ['jpg', 'image/jpeg'],
  ['pdf', 'application/pdf'],
  ['png', 'image/png'],
  ['svg', 'image/svg+xml'],
  ['txt', 'text/plain'],
  ['xml', 'application/xml'],
]);

function typeOfFile(path: string): string {
  return TYPES.get(/\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? '') ?? 'application/octet-stream';
}
