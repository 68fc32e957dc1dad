/** A media type, or a range of them, between commas that stand in no quotes. */
const ELEMENT = /(?:[^",]|"(?:[^"\\]|\\.)*"?)+/g;

const REFUSED = /;[ \t]*q[ \t]*=[ \t]*0(?:\.0*)?[ \t]*(?:;|$)/i;

/** What a release in a media type is made of: a part of a token. */
const RELEASE = /^[\w.-]+$/;

const TEMPLATE = /^[\w!#$&^.+{}-]+\/[\w!#$&^.+{}-]+(?:; ?[\w-]+=\{\})?$/;

/** Returns why a text is no template of media types that name a release, and how to fix it; undefined for one that is. */
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
  /** What stands before the release in one media type, and the release. */
  private readonly named: RegExp;

  constructor(template: string) {
    this.template = template;
    const [before = '', after = ''] = template
      .split('{}')
      .map((text) => text.replaceAll(/\W/g, String.raw`\$&`));
    const [type = '', parameter] = before.split(String.raw`\;`);
    const name = parameter?.replaceAll(/\\[ =]/g, '');
    const start = name === undefined ? type : String.raw`${type}(?=[ \t;])[^]*?;[ \t]*${name}[ \t]*=[ \t]*"?`;
    // Not proven linear: what repeats stands between semicolons, which only the lazy part passes, and a field has 64 KiB at most.
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
   * Accept for V2: each release becomes V2's. A client that names none gets that of V2 in front of what it accepts, if that has JSON of
   * any type; without Accept, it takes everything.
   */
  accepted(accept: string | undefined, release: string): string {
    if (accept === undefined) return `${this.of(release)}, */*;q=0.8`;
    if (elementsOf(accept).some((element) => this.named.test(element))) return this.replaced(accept, release);
    return takes(accept, ANY_JSON) ? `${this.of(release)}, ${accept}` : accept;
  }

  /** The type of a body without a release, as JSON is called without one; unchanged where it names none. */
  plain(mediaType: string): string {
    return this.template.includes('json') ? mediaType.replace(this.named, 'application/json') : mediaType;
  }
}

const ANY_JSON = /^[ \t]*(?:\*\/\*|application\/(?:\*|json))[ \t]*(?:;|$)/i;
const PLAIN_JSON = /^[ \t]*application\/json[ \t]*(?:;|$)/i;

/** True for an Accept that has JSON of no release, by name. */
export function takesPlainJson(accept: string): boolean {
  return takes(accept, PLAIN_JSON);
}

function takes(accept: string, type: RegExp): boolean {
  return elementsOf(accept).some((element) => type.test(element) && !REFUSED.test(element));
}

function elementsOf(value: string): readonly string[] {
  return value.match(ELEMENT) ?? [];
}
