/** A media type or range in a list, between commas outside quotes. */
const ELEMENT = /(?:[^",]|"(?:[^"\\]|\\.)*"?)+/g;

const REFUSED = /;[ \t]*q[ \t]*=[ \t]*0(?:\.0*)?[ \t]*(?:;|$)/i;

/** The characters of a release in a media type: a part of a token. */
const RELEASE = /^[\w.-]+$/;

const TEMPLATE = /^[\w!#$&^.+{}-]+\/[\w!#$&^.+{}-]+(?:; ?[\w-]+=\{\})?$/;

/** Returns why a text is not a template of media types with a release, and how to fix it; undefined if it is one. */
export function mediaTemplateFault(template: string): string | undefined {
  if (
    template.split('{}').length !== 2 ||
    !TEMPLATE.test(template) ||
    /[{}]/.test(template.replace('{}', ''))
  )
    return "must be a media type with {} once, such as application/vnd.acme.v{}+json or 'application/vnd.acme+json; version={}'";
  return undefined;
}

/** Returns why a release cannot be a part of a media type; undefined for one that can. */
export function mediaReleaseFault(release: string): string | undefined {
  return RELEASE.test(release)
    ? undefined
    : 'must have only letters, digits and ._-, as part of a media type';
}

/** The media types that name a release, as `application/vnd.acme.v{}+json` says: in Accept, and as the type of bodies. */
export class ReleaseMedia {
  private readonly template: string;
  /** The text before the release in one media type, and the release. */
  private readonly named: RegExp;

  constructor(template: string) {
    this.template = template;
    const [before = '', after = ''] = template
      .split('{}')
      .map((text) => text.replaceAll(/\W/g, String.raw`\$&`));
    const [type = '', parameter] = before.split(String.raw`\;`);
    const name = parameter?.replaceAll(/\\[ =]/g, '');
    const start = name === undefined ? type : String.raw`${type}(?=[ \t;])[^]*?;[ \t]*${name}[ \t]*=[ \t]*"?`;
    // Not proven linear: repetitions are between semicolons, which only the lazy part passes, and a field has 64 KiB at most.
    this.named = new RegExp(String.raw`^([ \t]*${start})([\w.-]+?)${after}"?(?=[ \t;]|$)`, 'i');
  }

  /** The media type of a release. */
  of(release: string): string {
    return this.template.replace('{}', () => release);
  }

  /** The releases that a field names, in its order, without those that a client refuses. */
  releasesIn(value: string): readonly string[] {
    return elementsOf(value).flatMap((element) => {
      const release = this.named.exec(element)?.[2];
      return release === undefined || REFUSED.test(element) ? [] : [release];
    });
  }

  /** Replaces each release that a field names; every other character stays. */
  replaced(value: string, release: string): string {
    return value.replaceAll(ELEMENT, (element) =>
      element.replace(
        this.named,
        (text, before: string, was: string) => before + release + text.slice(before.length + was.length),
      ),
    );
  }

  /**
   * Converts Accept for V2: each release becomes V2's. If the client names none, V2's is added first, if the client accepts any type of
   * JSON; without Accept, it accepts everything.
   */
  accepted(accept: string | undefined, release: string): string {
    if (accept === undefined) return `${this.of(release)}, */*;q=0.8`;
    if (elementsOf(accept).some((element) => this.named.test(element))) return this.replaced(accept, release);
    return takes(accept, ANY_JSON) ? `${this.of(release)}, ${accept}` : accept;
  }

  /** The media type of a body without its release, like that of plain JSON; unchanged if it names none. */
  plain(mediaType: string): string {
    return this.template.includes('json') ? mediaType.replace(this.named, 'application/json') : mediaType;
  }
}

const ANY_JSON = /^[ \t]*(?:\*\/\*|application\/(?:\*|json))[ \t]*(?:;|$)/i;
const PLAIN_JSON = /^[ \t]*application\/json[ \t]*(?:;|$)/i;

/** True for an Accept that names JSON without a release. */
export function takesPlainJson(accept: string): boolean {
  return takes(accept, PLAIN_JSON);
}

function takes(accept: string, type: RegExp): boolean {
  return elementsOf(accept).some((element) => type.test(element) && !REFUSED.test(element));
}

function elementsOf(value: string): readonly string[] {
  return value.match(ELEMENT) ?? [];
}
