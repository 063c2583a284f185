/** Makes docs/reference/library.md: the public library, from the comments and declarations of what src/index.ts exports. */
import { readFileSync } from 'node:fs';

interface Exported {
  readonly name: string;
  readonly comment: string;
  readonly declaration: string;
}

/** Returns the page, in the order of src/index.ts. */
export function libraryPage(): string {
  const parts = exportedNames().flatMap(([name, file]) => {
    const { comment, declaration } = find(name, file);
    return [`## ${name}`, comment, `\`\`\`ts\n${declaration}\n\`\`\``];
  });
  return `${[
    '# Library',
    '`import { computeKey } from "cosmig"`: the key of your own documents, computed by the code that migrates them, so that an ' +
      'application that already writes with the new key agrees with the migration. What is listed here follows semantic versioning.',
    ...parts,
    'This page is made by `npm run docs` from the comments in the source.',
  ].join('\n\n')}\n`;
}

/** Returns every name that src/index.ts exports, with the file that declares it. */
export function exportedNames(): ReadonlyArray<readonly [name: string, file: string]> {
  return namesIn('index.ts').map(([name, file]) => [name, declaringFile(name, file)]);
}

function namesIn(file: string): Array<readonly [name: string, file: string]> {
  const statements = read(file).matchAll(/^export (?:type )?\{([^}]*)\} from '\.\/([^']+)'/gm);
  return [...statements].flatMap(([, names = '', from = '']) =>
    names
      .split(',')
      .map((name) => name.trim().replace(/^type /, ''))
      .filter((name) => name !== '')
      .map((name) => [name, `${folderOf(file)}${from}`] as const),
  );
}

/** Returns the file that declares a name, since a module may export what another module declares. */
function declaringFile(name: string, file: string): string {
  const passedOn = namesIn(file).find(([other]) => other === name);
  return passedOn === undefined ? file : declaringFile(name, passedOn[1]);
}

function folderOf(file: string): string {
  return file.includes('/') ? file.slice(0, file.lastIndexOf('/') + 1) : '';
}

function read(file: string): string {
  return readFileSync(new URL(`../src/${file}`, import.meta.url), 'utf8');
}

function find(name: string, file: string): Exported {
  const pattern = new RegExp(
    String.raw`/\*\*((?:(?!\*/)[\s\S])*)\*/\nexport (?:abstract )?(?<kind>function|class|interface|type) ${name}\b`,
  );
  const text = read(file);
  const match = pattern.exec(text);
  if (match === null) throw new Error(`${file} has no comment right above ${name}`);
  const [whole, comment = ''] = match;
  const start = match.index + whole.indexOf('*/\nexport ') + 3;
  return {
    name,
    comment: textOf(comment),
    declaration: declarationAt(text.slice(start), match.groups?.['kind'] ?? ''),
  };
}

function textOf(comment: string): string {
  const lines = comment.split('\n').map((line) => line.replace(/^\s*\* ?/, '').trimEnd());
  return lines
    .join('\n')
    .trim()
    .replace(/^@throws (\w+)/m, 'Throws `$1`');
}

/** Returns the declaration without the bodies of functions and methods. */
function declarationAt(text: string, kind: string): string {
  if (kind === 'type') return text.slice(0, text.indexOf(';\n') + 1);
  if (kind === 'function') return `${text.slice(0, text.search(/ \{\n/))};`;
  const block = text.slice(0, text.indexOf('\n}') + 2);
  // Only a constructor has a body here.
  return block.replace(/\n {2}constructor\([^)]*\) \{[\s\S]*?\n {2}\}\n/, '\n').replace(/\n+\}$/, '\n}');
}
