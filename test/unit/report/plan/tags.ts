/** Reads the tags of a page strictly, as XML does: what a browser would repair is an error here. */

export interface Tag {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
}

export interface Tags {
  readonly tags: readonly Tag[];
  /** The texts between tags, entities decoded, without those of styles, titles and descriptions of pictures. */
  readonly texts: ReadonlyArray<{ readonly text: string; readonly within: readonly Tag[] }>;
}

/** Elements without an end. */
const VOID = new Set(['meta', 'wbr', 'br']);
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

/** Throws on an unclosed tag, an attribute without quotes, a stray mark, or an unknown entity. */
export function readTags(page: string): Tags {
  const rest = page.replace(/^<!DOCTYPE html>\s*/, '').trimEnd();
  const tags: Tag[] = [];
  const texts: Array<{ text: string; within: readonly Tag[] }> = [];
  const open: Tag[] = [];
  let position = 0;
  for (const match of rest.matchAll(
    /<(\/?)([a-zA-Z][a-zA-Z0-9]*)((?:\s+[a-zA-Z][\w:-]*="[^"<]*")*)\s*(\/?)>/g,
  )) {
    const [whole, isEnd, name = '', attributes = '', isEmpty] = match;
    take(rest.slice(position, match.index));
    position = match.index + whole.length;
    if (isEnd === '/') {
      const last = open.pop();
      if (last?.name !== name)
        throw new Error(`</${name}> ends <${last?.name}> at ${rest.slice(match.index - 60, position)}`);
      continue;
    }
    const tag = { name, attributes: attributesOf(attributes) };
    tags.push(tag);
    if (
      VOID.has(name) !== (isEmpty === '/') &&
      name !== 'rect' &&
      name !== 'line' &&
      name !== 'path' &&
      name !== 'polyline' &&
      name !== 'polygon'
    )
      throw new Error(`<${name}> has no proper end`);
    if (isEmpty !== '/') open.push(tag);
  }
  take(rest.slice(position));
  if (open.length > 0) throw new Error(`not closed: ${open.map(({ name }) => name).join(', ')}`);
  return { tags, texts };

  function take(text: string): void {
    if (open.at(-1)?.name === 'style') return;
    if (/[<>]/.test(text)) throw new Error(`a stray mark in ${text.slice(0, 80)}`);
    if (text.trim() !== '') texts.push({ text: decode(text), within: [...open] });
  }
}

function attributesOf(text: string): Record<string, string> {
  const pairs = [...text.matchAll(/([a-zA-Z][\w:-]*)="([^"]*)"/g)].map(
    ([, name = '', value = '']) => [name, decode(value)] as const,
  );
  const attributes = Object.fromEntries(pairs);
  if (Object.keys(attributes).length < pairs.length) throw new Error(`an attribute twice: ${text}`);
  return attributes;
}

function decode(text: string): string {
  return text.replaceAll(/&([^;\s]*;?)/g, (_whole, name: string) => {
    const mark = ENTITIES[name.replace(';', '')];
    if (mark === undefined || !name.endsWith(';')) throw new Error(`not an entity: &${name}`);
    return mark;
  });
}
